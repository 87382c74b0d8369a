"""Training from the outside: a text in, a run folder out, and what happens shown on the console."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ..errors import UserError
from ..hub.folder import open_folder
from ..store.run import Run
from ..terminal import console, progress
from . import labelled, masked, pairs, start, vectors
from .loop import Training
from .report import train_visibly
from .settings import ModelName

Trainable = ModelName | Literal["bert", "seq2seq", "word2vec"]
_ENCODER_TASKS = {masked.TASK: masked.resumed, labelled.TASK: labelled.resumed}
Texts = str | Path | Sequence[str | Path]


def train(
    texts: Texts,
    out: str | Path,
    /,
    *,
    model: Trainable = "gpt",
    preset: str = "tiny",
    recipe: str | None = None,
    base: str | Path | None = None,
    **settings: object,
) -> Path:
    """Train a new model on texts and return its run folder `out`.

    `texts`: one or several of file, folder, glob, "-" (standard input). `model`: "gpt", "bert", "rnn",
    "lstm", "gru", "word2vec", or "seq2seq" for files of `source<TAB>target` lines or two files, line by line.
    `preset`: "tiny", "small" or "base"; `recipe`: "gpt2" or "2017" instead of the preset's own; `base`: a run
    or published model to fine-tune instead. `settings` as on the command line: steps=500, n_layers=6,
    lr=1e-3, … Raises UserError for what is wrong with any of them, and KeyboardInterrupt after a Ctrl-C, when
    all is saved."""
    names = [str(text) for text in ([texts] if isinstance(texts, str | Path) else texts)]
    if model == "word2vec":
        if recipe is not None or base is not None:
            raise UserError("word vectors have no recipe, and begin from nothing")
        with vectors.begun(
            names, Path(out), assignments=_assignments(settings), progress=progress
        ) as training:
            return _done(training)
    if model == "seq2seq":
        if recipe is not None or base is not None:
            raise UserError("an encoder-decoder has no recipe, and begins from nothing")
        with pairs.begun(names, Path(out), assignments=_assignments(settings)) as training:
            return _done(training)
    base_checkpoint = None if base is None else open_folder(base)
    if model == "bert" or (base_checkpoint is not None and base_checkpoint.family == masked.FAMILY):
        if recipe is not None:
            raise UserError("an encoder has no recipe; its settings stand in docs/encoder.md")
        with masked.begun(
            names,
            Path(out),
            preset_name=preset,
            assignments=_assignments(settings),
            base=base_checkpoint,
            progress=progress,
        ) as training:
            return _done(training)
    with start.begun(
        names,
        Path(out),
        preset_name=preset,
        model_name=model,
        recipe=recipe,
        assignments=_assignments(settings),
        base=base_checkpoint,
        progress=progress,
    ) as training:
        return _done(training)


def resume(run: str | Path, /, **settings: object) -> Path:
    """Go on with a run exactly where it stopped, or, with more `steps`, beyond its end."""
    folder, assignments = Path(run), _assignments(settings)
    kept = Run(folder).checkpoint("last").settings
    family = kept.get("family")
    if family == vectors.FAMILY:
        return _done(vectors.resumed(Run(folder), assignments))
    if task := _ENCODER_TASKS.get(str(kept.get("task"))):
        return _done(task(Run(folder), assignments))
    if family == pairs.FAMILY:
        return _done(pairs.resumed(Run(folder), assignments))
    return _done(start.resumed(folder, assignments))


def _assignments(settings: dict[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in settings.items()]


def _done(training: Training) -> Path:
    train_visibly(training, console)
    return training.run.folder
