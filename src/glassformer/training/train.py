"""Training from the outside: a text in, a run folder out, and what happens shown on the console."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ..errors import UserError
from ..hub.folder import open_folder
from ..store.run import Checkpoint, Run
from ..terminal import console, progress
from . import labelled, masked, pair_presets, pairs, start, vectors
from . import settings as presets
from .loop import Training
from .report import train_visibly
from .settings import ModelName

Trainable = ModelName | Literal["bert", "transformer", "seq2seq", "word2vec"]
Texts = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Way:
    """How a family is trained: `begun` in a new run folder, `resumed` where it stopped; what its `settings`
    are; and why an option is `refused`."""

    begun: Callable[..., AbstractContextManager[Training]]
    resumed: Callable[[Path, Sequence[str]], Training]
    settings: Callable[[], dict[str, Any]]
    refused: Mapping[str, str] = field(default_factory=dict)


def _encoder_resumed(folder: Path, assignments: Sequence[str] = ()) -> Training:
    """An encoder learned hidden tokens, or labels."""
    if Run(folder).checkpoint("last").settings.get("task") == labelled.TASK:
        return labelled.resumed(folder, assignments)
    return masked.resumed(folder, assignments)


OF_TEXT = Way(start.begun, start.resumed, lambda: presets.preset("tiny"))
WAYS: dict[str, Way] = {
    masked.FAMILY: Way(
        masked.begun,
        _encoder_resumed,
        masked.settings,
        {"recipe": "an encoder has no recipe; its settings stand in docs/encoder.md"},
    ),
    "transformer": Way(
        partial(pairs.begun, family="transformer"),
        pairs.resumed,
        partial(pair_presets.settings, family="transformer"),
    ),
    "seq2seq": Way(
        pairs.begun, pairs.resumed, pair_presets.settings, {"recipe": "a recurrent translator has no recipe"}
    ),
    vectors.FAMILY: Way(
        vectors.begun,
        vectors.resumed,
        vectors.settings,
        {
            "preset_name": "word vectors have no preset; their settings stand in docs/vectors.md",
            "recipe": "word vectors have no recipe",
            "base": "word vectors begin from nothing: no training goes on from others",
        },
    ),
}
"""By family; any other is trained on the next token of a text."""


def train(
    texts: Texts,
    out: str | Path,
    /,
    *,
    model: Trainable | None = None,
    preset: str | None = None,
    recipe: str | None = None,
    base: str | Path | None = None,
    **settings: object,
) -> Path:
    """Train a new model on texts and return its run folder `out`.

    `texts`: one or several of file, folder, glob, "-" (standard input). `model`: "gpt" (the default), "rnn",
    "lstm" or "gru"; "bert"; "word2vec"; or "transformer" or "seq2seq" for files of `source<TAB>target` lines
    or two files, line by line. `preset`: "tiny" (the default), "small" or "base"; `recipe`: "gpt2" or "2017"
    instead of the preset's own; `base`: a run or published model to fine-tune instead. `settings` as on the
    command line: steps=500, n_layers=6, lr=1e-3, … Raises UserError for what is wrong with any of them, and
    KeyboardInterrupt after a Ctrl-C, when all is saved."""
    names = [str(text) for text in ([texts] if isinstance(texts, str | Path) else texts)]
    checkpoint = None if base is None else open_folder(base)
    if checkpoint is not None and (model or preset or recipe):
        raise UserError("--from keeps the shape of its run; leave out --preset, --recipe and --model")
    name = model or (checkpoint.family if checkpoint is not None else "gpt")
    way = WAYS.get(name, OF_TEXT)
    given = {"preset_name": preset, "recipe": recipe, "base": checkpoint}
    options = {option: value for option, value in given.items() if value is not None}
    for option in options:
        if option in way.refused:
            raise UserError(way.refused[option])
    if way is OF_TEXT:
        options = {"preset_name": "tiny", "model_name": name, **options}
    assignments = _assignments(settings)
    with way.begun(names, Path(out), assignments=assignments, progress=progress, **options) as training:
        return _done(training)


def finetune(base: str | Path, texts: str | Path, out: str | Path, /, **settings: object) -> Path:
    """Teach an encoder the labels of texts, and return the new run folder `out`.

    `base`: a run of model="bert", or a folder of a BERT; `texts`: a file of `text<TAB>label` lines, a tenth
    of which are held out and measured at the end. `settings` as on the command line: epochs=3,
    pooling="mean", … Raises UserError for what is wrong with any of them, and KeyboardInterrupt after a
    Ctrl-C, when all is saved."""
    return finetuned(open_folder(base), Path(texts), Path(out), _assignments(settings))


def finetuned(base: Checkpoint, texts: Path, out: Path, assignments: Sequence[str]) -> Path:
    """The run folder of a checkpoint that was taught labels, as `finetune` does."""
    with labelled.begun(base, texts, out, assignments=assignments) as training:
        console.print(labelled.describe(training))
        folder = _done(training)
        labelled.report(training, console)
    return folder


def resume(run: str | Path, /, **settings: object) -> Path:
    """Go on with a run exactly where it stopped, or, with more `steps`, beyond its end."""
    folder, assignments = Path(run), _assignments(settings)
    saved = Run(folder).checkpoint("last").settings
    way = WAYS.get(str(saved.get("family")), OF_TEXT)
    if way is not OF_TEXT and "train" not in saved:
        raise UserError(f"{folder} was imported, not trained: there is nothing to resume")
    return _done(way.resumed(folder, assignments))


def _assignments(settings: dict[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in settings.items()]


def _done(training: Training) -> Path:
    train_visibly(training, console)
    return training.run.folder
