"""Training an encoder-decoder on pairs of texts, inside the common loop."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import config
from ..data import parallel, sources
from ..data.batches import IGNORE
from ..data.corpus import Advance
from ..data.parallel import Buckets, PairBatch, Pairs, PairsConfig
from ..errors import UserError
from ..models import FAMILIES, Seq2Seq
from ..store.run import Checkpoint, Run
from . import runtime
from .folder import DATA, new_run, reopened
from .loop import Training
from .pair_presets import RECIPES, settings
from .settings import TrainConfig
from .start import parts_of, refuse_new_shape, width_of

TRIAL = 16  # pairs


@dataclass(frozen=True)
class FromPairs:
    """Learning targets from sources by teacher forcing: each token from the true ones before it."""

    seen: Buckets
    held_out: Buckets | None
    accumulate: int
    eval_tokens: int
    label_smoothing: float

    def training_batches(self, step: int) -> list[PairBatch]:
        micros = self.accumulate
        return [self.seen.batch(step, micro=i, micros=micros) for i in range(micros)]

    def validation_batches(self) -> Iterable[PairBatch]:
        """The held-out batches, of all lengths, or as many as `eval_tokens` allow, spread over the
        lengths."""
        if self.held_out is None:
            return
        batches = list(self.held_out.in_order())
        every = -(-sum(batch.n_targets for batch in batches) // self.eval_tokens)
        yield from batches[:: max(1, every)]

    def loss_sum(self, model: Any, batch: Any) -> Tensor:
        """Cross-entropy of every target (nats), summed, in float32; smoothed where a gradient is taken."""
        logits_bnV: Tensor = model(batch.source, batch.valid, batch.inputs)
        return F.cross_entropy(
            logits_bnV.flatten(0, 1).float(),
            batch.targets.flatten(),
            ignore_index=IGNORE,
            reduction="sum",
            label_smoothing=self.label_smoothing if torch.is_grad_enabled() else 0.0,
        )


@dataclass
class PairTraining(Training):
    """A training of an encoder-decoder. `left_out` pairs were longer than the model's context."""

    left_out: int = 0

    def trial(self) -> Callable[[], object]:
        task: Any = self.task
        few = task.training_batches(0)[0].first(TRIAL).to(self.runtime.device)
        return torch.no_grad()(lambda: task.loss_sum(self.model, few))


@contextmanager
def begun(
    texts: Sequence[str],
    out: Path,
    *,
    family: str = "seq2seq",
    preset_name: str = "tiny",
    recipe: str | None = None,
    assignments: Sequence[str] = (),
    base: Checkpoint | None = None,
    progress: Callable[[], AbstractContextManager[Advance]] = lambda: nullcontext(lambda *_: None),
) -> Iterator[PairTraining]:
    """A training of a new model on the pairs of `texts`, or of `base` to fine-tune it, in the new run folder
    `out`; see `start.begun`."""
    if base is not None:
        base.require_translator()
        family = base.family
    if base is None:
        before = settings(preset_name, family)
    else:
        before = parts_of(base, {**settings("base", "transformer"), "data": PairsConfig()})
    if recipe is not None:
        if recipe not in RECIPES:
            raise UserError(f"a Transformer that translates can have a recipe: {', '.join(RECIPES)}")
        before = config.override(before, RECIPES[recipe])
    parts = config.override(before, assignments)
    refuse_new_shape(before, parts, fixed=base is not None)
    _refuse_unused(family, before["train"], parts["train"])
    with new_run(out) as run, sources.opened(texts) as paths:
        tokenizer = None if base is None else base.tokenizer()
        pairs = parallel.prepare(paths, out / DATA, parts["data"], tokenizer)
        shape = parts["model"]
        if base is None:  # a published model may have more ids than its tokenizer
            shape = dataclasses.replace(shape, vocab_size=pairs.tokenizer.vocab_size)
        torch.manual_seed(parts["train"].seed)
        model = FAMILIES[family][1](shape) if base is None else base.translator(shape)
        with progress() as advance:
            training = _training(run, family, model, pairs, parts["train"], parts["data"], advance)
        yield training


def resumed(folder: Path, assignments: Sequence[str] = ()) -> PairTraining:
    """The training on pairs that stopped in a run folder, exactly where it stopped."""
    found = reopened(folder, PairsConfig, assignments, shape="shape and pairs", data="shape and pairs")
    run, last = found.run, found.last
    _refuse_unused(last.family, found.before, found.train)
    pairs = parallel.load(run.folder / DATA)
    if pairs.tokenizer.to_json() != last.tokenizer().to_json():
        raise UserError(f"{run.folder / DATA} was made by another tokenizer than that of {last.folder}")
    return found.go_on(_training(run, last.family, last.translator(), pairs, found.train, found.data))


def _refuse_unused(family: str, before: TrainConfig, after: TrainConfig) -> None:
    for name in ("sample", "muon_lr", "optimiser") if family == "seq2seq" else ("sample",):
        if getattr(after, name) != getattr(before, name):
            raise UserError(f"pairs are trained on without {name}; leave it out")


def _training(
    run: Run,
    family: str,
    model: Any,
    pairs: Pairs,
    train: TrainConfig,
    data: PairsConfig,
    advance: Advance = lambda what, done, total: None,
) -> PairTraining:
    tokenizer = pairs.tokenizer
    sides = pairs.split(data.valid_fraction)
    seen, held_out = (pairs.encoded(side, model.config.context, advance) for side in sides)
    left_out = len(pairs.pairs) - len(seen) - len(held_out)
    if not seen:
        raise UserError(
            f"no pair is left to learn from: {left_out} of {len(pairs.pairs)} are longer than "
            f"context={model.config.context}, END included"
        )
    sizes = train.batch_size, tokenizer.start, tokenizer.end, train.seed
    task: Any = FromPairs(
        Buckets(seen, *sizes),
        Buckets(held_out, *sizes) if held_out else None,
        train.accumulate,
        train.eval_tokens,
        data.label_smoothing,
    )
    said = {
        "family": family,
        "model": config.to_dict(model.config),
        "train": config.to_dict(train),
        "data": config.to_dict(data),
    }
    where = runtime.choose(train, width_of(model))
    if train.compile == "auto":  # each batch has lengths of its own, for which it would compile anew
        where = dataclasses.replace(where, compiled=False)
    return PairTraining(run, model, tokenizer, task, train, said, where, left_out=left_out)


def describe(training: PairTraining) -> str:
    """One line of what is trained, on what, where."""
    task: Any = training.task
    c: Any = training.model.config
    n_parameters = sum(parameter.numel() for parameter in training.model.parameters())
    if isinstance(training.model, Seq2Seq):
        attention = "without attention" if c.attention == "none" else f"with {c.attention} attention"
        kind = f"{c.kind} {attention}"
    else:
        kind = f"Transformer of {c.n_layers} + {c.decoder_layers} layers"
    left_out = (
        f" ({training.left_out:,} longer than context={c.context} left out)" if training.left_out else ""
    )
    return (
        f"{n_parameters:,} parameters, {kind}, {len(task.seen.pairs):,} pairs{left_out}, "
        f"{c.vocab_size:,} tokens in the vocabulary, on {training.runtime}"
    )
