"""Training an encoder-decoder on pairs of texts, inside the common loop."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import config
from ..data import parallel, sources
from ..data.batches import IGNORE
from ..data.parallel import Buckets, PairBatch, Pairs, PairsConfig
from ..errors import UserError
from ..models import Seq2Seq, Seq2SeqConfig
from ..store.run import Run
from . import runtime
from .loop import Progress, Training
from .settings import TrainConfig
from .start import DATA, nothing_left_behind, refuse_what_stands_there

FAMILY = "seq2seq"
TRAIN = TrainConfig(batch_size=2048, lr=3e-3, warmup=50, weight_decay=0.01, sample=0)
"""Here `batch_size` counts tokens: rows times the longest source or target among them."""
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


def settings() -> dict[str, Any]:
    """The named parts of a run's settings, as they are unless something else is said."""
    return {"model": Seq2SeqConfig(vocab_size=1), "train": TRAIN, "data": PairsConfig()}


@contextmanager
def begun(texts: Sequence[str], out: Path, *, assignments: Sequence[str] = ()) -> Iterator[PairTraining]:
    """A training on the pairs of `texts` in the new run folder `out`; see `start.begun`."""
    parts = config.override(settings(), assignments)
    if parts["model"].vocab_size != 1:
        raise UserError("vocab_size follows from the tokenizer; set bpe_vocab_size, or tokenizer")
    _refuse_unused(parts["train"])
    run = Run(out)
    refuse_what_stands_there(run)
    missing = [path for path in (out, *out.parents) if not path.exists()]
    with sources.opened(texts) as paths, run.locked(), nothing_left_behind(run, missing):
        pairs = parallel.prepare(paths, out / DATA, parts["data"])
        shape = dataclasses.replace(parts["model"], vocab_size=pairs.tokenizer.vocab_size)
        torch.manual_seed(parts["train"].seed)
        yield _training(run, Seq2Seq(shape), pairs, parts["train"], parts["data"])


def resumed(run: Run, assignments: Sequence[str] = ()) -> PairTraining:
    """The training on pairs that stopped in a run folder, exactly where it stopped."""
    last = run.checkpoint("last")
    train = config.from_dict(TrainConfig, last.settings["train"])
    data = config.from_dict(PairsConfig, last.settings["data"])
    parts = {"model": last.shape, "train": train, "data": data}
    changed = config.override(parts, assignments)
    if changed["model"] != parts["model"] or changed["data"] != data:
        raise UserError(
            "--resume goes on with the same shape and pairs; only settings of the training may change"
        )
    _refuse_unused(changed["train"])
    pairs = parallel.load(run.folder / DATA)
    if pairs.tokenizer.to_json() != last.tokenizer().to_json():
        raise UserError(f"{run.folder / DATA} was made by another tokenizer than that of {last.folder}")
    training = _training(run, last.translator(), pairs, changed["train"], data)
    progress = config.from_dict(Progress, last.settings.get("progress"))
    if progress.step < changed["train"].steps and changed["train"] != train:
        progress.outcome, progress.stale = "stopped", 0
    training.restore(last.training_tensors(), progress)
    return training


def _refuse_unused(train: TrainConfig) -> None:
    for name in ("sample", "muon_lr", "optimiser"):
        if getattr(train, name) != getattr(TRAIN, name):
            raise UserError(f"pairs are trained on without {name}; leave it out")


def _training(run: Run, model: Any, pairs: Pairs, train: TrainConfig, data: PairsConfig) -> PairTraining:
    tokenizer = pairs.tokenizer
    sides = pairs.split(data.valid_fraction)
    seen, held_out = (pairs.encoded(side, model.config.context) for side in sides)
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
        "family": FAMILY,
        "model": config.to_dict(model.config),
        "train": config.to_dict(train),
        "data": config.to_dict(data),
    }
    where = runtime.choose(train)
    if train.compile == "auto":  # its kernels are fused as they are
        where = dataclasses.replace(where, compiled=False)
    return PairTraining(run, model, tokenizer, task, train, said, where, left_out=left_out)


def describe(training: PairTraining) -> str:
    """One line of what is trained, on what, where."""
    task: Any = training.task
    c: Any = training.model.config
    n_parameters = sum(parameter.numel() for parameter in training.model.parameters())
    attention = "without attention" if c.attention == "none" else f"with {c.attention} attention"
    left_out = (
        f" ({training.left_out:,} longer than context={c.context} left out)" if training.left_out else ""
    )
    return (
        f"{n_parameters:,} parameters, {c.kind} {attention}, {len(task.seen.pairs):,} pairs{left_out}, "
        f"{c.vocab_size:,} tokens in the vocabulary, on {training.runtime}"
    )
