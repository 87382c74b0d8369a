"""The three ways into a training: from a text, from a run to fine-tune, from where a run stopped."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from .. import config
from ..data import corpus, sources
from ..data.batches import Streams, Windows
from ..data.corpus import Advance, Corpus
from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import FAMILIES, LanguageModel, RecurrentConfig, RecurrentLM, Seq2Seq, Seq2SeqConfig
from ..store.run import Checkpoint, Run
from . import runtime
from .folder import DATA, Reopened, new_run, reopened
from .loop import Training
from .settings import RECIPES, DataConfig, ModelName, TrainConfig, preset
from .task import NextInStream, NextToken

STREAMS = ("batch_size", "accumulate", "seed")  # what decides where the streams of text run
FINE_TUNING_RATE = 0.1  # of the rate with which the first training began


@contextmanager
def begun(
    texts: Sequence[str],
    out: Path,
    *,
    preset_name: str = "small",
    model_name: ModelName = "gpt",
    recipe: str | None = None,
    assignments: Sequence[str] = (),
    base: Checkpoint | None = None,
    progress: Callable[[], AbstractContextManager[Advance]] = lambda: nullcontext(lambda *_: None),
) -> Iterator[Training]:
    """A training of a new model on `texts`, or of `base` to fine-tune it, in the new run folder `out`.

    If anything fails before the first checkpoint stands, nothing of `out` is left behind.
    """
    if base is not None:
        base.require_language_model()
    parts = preset(preset_name, model_name) if base is None else parts_of(base, preset("base"))
    if recipe is not None:
        if base is not None or model_name != "gpt" or recipe not in RECIPES:
            raise UserError(f"a new GPT can have a recipe: {', '.join(RECIPES)}")
        parts = config.override(parts, RECIPES[recipe])
    changed = config.override(parts, assignments)
    refuse_new_shape(parts, changed, fixed=base is not None)
    with new_run(out) as run, sources.opened(texts) as paths:
        data: DataConfig = changed["data"]
        tokenizer = base.tokenizer() if base is not None else data.tokenizer
        with progress() as advance:
            text = corpus.prepare(paths, out / DATA, tokenizer, data.bpe_vocab_size, advance)
        torch.manual_seed(changed["train"].seed)
        if base is None:
            changed["model"] = dataclasses.replace(changed["model"], vocab_size=text.tokenizer.vocab_size)
            family = "gpt" if model_name == "gpt" else "recurrent"
            model: LanguageModel = FAMILIES[family][1](changed["model"])
        else:
            model, family = base.language_model(changed["model"]), base.family
        yield _training(run, model, family, text, changed["train"], data)


def resumed(folder: Path, assignments: Sequence[str] = ()) -> Training:
    """The training that stopped in a run folder, exactly where it stopped. Only `TrainConfig` may change."""
    said = {"shape": "shape", "data": "text and its tokenizer"}
    found = reopened(folder, DataConfig, assignments, **said)
    last, text = found.last, text_of(found)
    model = last.language_model()
    training = found.go_on(_training(found.run, model, last.family, text, found.train, found.data))
    if any(getattr(found.train, name) != getattr(found.before, name) for name in STREAMS):
        training.carried = {}  # other rows, at other places of the text
    return training


def text_of(found: Reopened) -> Corpus:
    """The text that a run was trained on. Raises UserError where it is no longer that."""
    folder = found.run.folder / DATA
    text = corpus.load(folder)
    if text.tokenizer.to_json() != found.last.tokenizer().to_json():
        raise UserError(f"{folder} was encoded by another tokenizer than that of {found.last.folder}")
    return text


def parts_of(checkpoint: Checkpoint, usual: dict[str, Any], task: str | None = None) -> dict[str, Any]:
    """The settings to train a checkpoint further with: those it was trained with, at a gentler rate. One that
    was not trained here, or for another `task`, is taken for one of the `usual` settings."""
    given = checkpoint.settings
    trained = "train" in given and given.get("task") == task
    train = config.from_dict(TrainConfig, given["train"]) if trained else usual["train"]
    gentler = {name: getattr(train, name) * FINE_TUNING_RATE for name in ("lr", "muon_lr")}
    data = config.from_dict(type(usual["data"]), given.get("data")) if trained else usual["data"]
    return {"model": checkpoint.shape, "train": dataclasses.replace(train, **gentler), "data": data}


def refuse_new_shape(parts: dict[str, Any], changed: dict[str, Any], fixed: bool) -> None:
    """Raise UserError for a new vocabulary and, where the model is `fixed`, one to fine-tune, for any new
    shape or tokenizer."""
    before, after = parts["model"], changed["model"]
    if after.vocab_size != before.vocab_size:
        raise UserError("vocab_size follows from the tokenizer; set bpe_vocab_size, or tokenizer")
    free = ["dropout"]
    shrinks = after.context < before.context and getattr(before, "positions", "rotary") != "learned"
    if shrinks or isinstance(before, RecurrentConfig | Seq2SeqConfig):
        free.append("context")  # to see less of a text changes nothing of what was learned
    for name, value in vars(before).items():
        if fixed and name not in free and getattr(after, name) != value:
            raise UserError(
                f"a fine-tuned model keeps its shape: {name} stays {value}; only dropout may change"
            )
    for name in ("tokenizer", "bpe_vocab_size") if fixed else ():
        if getattr(changed["data"], name) != getattr(parts["data"], name):
            raise UserError("a fine-tuned model keeps its tokenizer; leave out tokenizer and bpe_vocab_size")


def _training(
    run: Run, model: LanguageModel, family: str, text: Corpus, train: TrainConfig, data: DataConfig
) -> Training:
    context = model.config.context
    seen, held_out = text.split(data.valid_fraction)
    if len(seen) < context + 1:
        raise UserError(
            f"the text has {len(text.tokens)} tokens, {len(seen)} of them for training; context={context} "
            f"needs at least {context + 1}: give more text, or a smaller context"
        )
    sizes = train.batch_size, train.accumulate, train.eval_tokens
    where = runtime.choose(train, width_of(model))
    if isinstance(model, RecurrentLM):
        task: NextToken = NextInStream(Streams(seen, context, train.seed), held_out, *sizes, model.new_state)
        if train.compile == "auto":  # its kernels are fused as they are
            where = dataclasses.replace(where, compiled=False)
    else:
        task = NextToken(Windows(seen, context, train.seed), held_out, *sizes)
    settings = {
        "family": family,
        "model": config.to_dict(model.config),
        "train": config.to_dict(train),
        "data": config.to_dict(data),
    }
    return Training(run, model, text.tokenizer, task, train, settings, where)


def width_of(model: LanguageModel) -> int:
    """The width of a Transformer; 0 for recurrent layers, whose kernels compute in fp32."""
    return 0 if isinstance(model, RecurrentLM | Seq2Seq) else model.config.d_model


def describe(training: Training) -> str:
    """One line of what is trained, on what, where."""
    model, text = training.model, training.tokenizer
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    return (
        f"{n_parameters:,} parameters, {_spoken(text)}, context {model.config.context}, on {training.runtime}"
    )


def _spoken(tokenizer: Tokenizer) -> str:
    names = {"chars": "characters", "bytes": "bytes", "bpe": "BPE tokens", "library": "tokens"}
    return f"{tokenizer.vocab_size:,} {names[tokenizer.kind]}"
