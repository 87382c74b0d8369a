"""Teaching an encoder the labels of texts, inside the common loop."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rich.console import Console
from torch import Tensor

from .. import config
from ..data import labelled
from ..data.labelled import Deal, LabelBatch, Labelled
from ..data.tokenizers import Tokenizer
from ..encoding.classify import Judged, classify, judged
from ..encoding.rows import rows_of
from ..errors import UserError
from ..glass import confusion
from ..models import Bert
from ..store.run import Checkpoint, Run, write_text
from . import runtime
from .folder import DATA, new_run, reopened
from .loop import Training
from .masked import FAMILY, with_heads
from .settings import TrainConfig

TASK, TEXTS, META, PICTURE = "classify", "labels.tsv", "labels.json", "confusion.png"
WIDTH, DROPOUT = 768, 0.1
TRAIN = TrainConfig(batch_size=32, lr=5e-5, min_lr=0.0, decay="linear", weight_decay=0.01, sample=0)
"""The rate is that of a model of width 768 (Devlin et al. 2019); a narrower one takes as much more as it is
narrower."""


@dataclass(frozen=True)
class LabelsConfig:
    """Of each label's texts `valid_fraction` are held out. `epochs` says how often each text is seen, unless
    `steps` does."""

    epochs: int = 3
    valid_fraction: float = 0.1

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1, not {self.epochs}")
        if not 0 <= self.valid_fraction < 1:
            raise ValueError(f"valid_fraction must lie in [0, 1), not {self.valid_fraction}")


@dataclass(frozen=True)
class Labels:
    """Learning the label of each text: cross-entropy (nats), summed over texts."""

    seen: Deal
    held_out: Deal
    accumulate: int

    def training_batches(self, step: int) -> list[LabelBatch]:
        micros = self.accumulate
        return [self.seen.batch(step, micro=i, micros=micros) for i in range(micros)]

    def validation_batches(self) -> Iterable[LabelBatch]:
        """All that is held out, similar lengths together."""
        order = sorted(range(len(self.held_out.rows)), key=lambda i: len(self.held_out.rows[i]))
        for i in range(0, len(order), self.held_out.batch_size):
            yield self.held_out.at(order[i : i + self.held_out.batch_size])

    def loss_sum(self, model: Any, batch: Any) -> Tensor:
        hidden_bnD = model(batch.inputs, valid_bn=batch.valid)
        logits_bL = model.label_logits(hidden_bnD, batch.valid)
        return F.cross_entropy(logits_bL.float(), batch.labels, reduction="sum")


@dataclass
class LabelTraining(Training):
    """A training on labelled texts; `held_out` are those that it does not learn from, `cut` texts were longer
    than the context."""

    held_out: list[Labelled] = dataclasses.field(default_factory=list)
    cut: int = 0

    def trial(self) -> Any:
        task: Any = self.task
        few = task.training_batches(0)[0].to(self.runtime.device)
        return torch.no_grad()(lambda: task.loss_sum(self.model, few))

    def judged(self) -> Judged | None:
        """How often the best checkpoint is right about what is held out; None where nothing is."""
        if not self.held_out:
            return None
        model = self.run.checkpoint("best").encoder().to(self.runtime.device)
        labels = model.config.labels
        told = classify(model, self.tokenizer, [example.text for example in self.held_out]).argmax(-1)
        true = [labels.index(example.label) for example in self.held_out]
        return judged(labels, true, told.tolist())


def settings() -> dict[str, Any]:
    """The named parts of a run's settings, as they are unless something else is said."""
    return {"train": TRAIN, "data": LabelsConfig()}


@contextmanager
def begun(
    base: Checkpoint, path: Path, out: Path, *, assignments: Sequence[str] = ()
) -> Iterator[LabelTraining]:
    """A training of `base` on the labelled texts of a file, in the new run folder `out`.

    If anything fails before the first checkpoint stands, nothing of `out` is left behind."""
    before = base.encoder()
    usual = settings()
    usual["train"] = dataclasses.replace(TRAIN, lr=TRAIN.lr * WIDTH / before.config.d_model)
    usual["model"] = dataclasses.replace(before.config, dropout=DROPOUT, mlm=False, labels=(), pooling="cls")
    changed = config.override(usual, assignments)
    data: LabelsConfig = changed["data"]
    shape = changed["model"]
    if dataclasses.replace(shape, dropout=DROPOUT, pooling="cls") != usual["model"]:
        raise UserError("an encoder that learns labels keeps its shape; dropout and pooling may change")
    examples = labelled.read(path)
    labels = labelled.labels_of(examples)
    shape = dataclasses.replace(shape, labels=labels, pooler=shape.pooling == "cls")
    with new_run(out) as run:
        _keep(examples, out / DATA)
        torch.manual_seed(changed["train"].seed)
        train = _with_steps(changed["train"], data, examples, assignments)
        yield _training(run, with_heads(before, shape), base.tokenizer(), examples, train, data)


def resumed(folder: Path, assignments: Sequence[str] = ()) -> LabelTraining:
    """The training on labelled texts that stopped in a run folder, exactly where it stopped."""
    found = reopened(folder, LabelsConfig, assignments)
    run, last = found.run, found.last
    examples = _kept(run.folder / DATA)
    training = _training(run, last.encoder(), last.tokenizer(), examples, found.train, found.data)
    return found.go_on(training)


def _with_steps(
    train: TrainConfig, data: LabelsConfig, examples: Sequence[Labelled], assignments: Sequence[str]
) -> TrainConfig:
    """`steps`, `eval_every` and `warmup` from the number of epochs, unless they were given."""
    told = {assignment.partition("=")[0].rpartition(".")[2] for assignment in assignments}
    n_seen = len(labelled.parted(examples, data.valid_fraction)[0])
    per_epoch = -(-n_seen // (train.batch_size * train.accumulate))
    steps = train.steps if "steps" in told else data.epochs * per_epoch
    usual: dict[str, Any] = {"steps": steps, "eval_every": per_epoch, "warmup": steps // 10}
    return dataclasses.replace(train, **{name: n for name, n in usual.items() if name not in told})


def _training(
    run: Run,
    model: Bert,
    tokenizer: Tokenizer,
    examples: Sequence[Labelled],
    train: TrainConfig,
    data: LabelsConfig,
) -> LabelTraining:
    for name in ("sample", "muon_lr", "optimiser", "eval_tokens"):
        if getattr(train, name) != getattr(TRAIN, name):
            raise UserError(f"labels are learned without {name}; leave it out")
    sides = labelled.parted(examples, data.valid_fraction)
    deals, n_cut = list[Deal](), 0
    for side in sides:
        rows, cut = rows_of(model, tokenizer, [example.text for example in side])
        numbers = [model.config.labels.index(example.label) for example in side]
        deals.append(Deal(rows, numbers, train.batch_size, tokenizer.end, train.seed))
        n_cut += cut
    said = {
        "family": FAMILY,
        "task": TASK,
        "model": config.to_dict(model.config),
        "train": config.to_dict(train),
        "data": config.to_dict(data),
    }
    learner: Any = model
    task: Any = Labels(deals[0], deals[1], train.accumulate)
    where = runtime.choose(train, model.config.d_model)
    return LabelTraining(run, learner, tokenizer, task, train, said, where, held_out=sides[1], cut=n_cut)


def _keep(examples: Sequence[Labelled], folder: Path) -> None:
    text = "".join(f"{example.text}\t{example.label}\n" for example in examples)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TEXTS).write_bytes(text.encode())
    write_text(folder / META, json.dumps({"content": hashlib.sha256(text.encode()).hexdigest()}))


def _kept(folder: Path) -> list[Labelled]:
    try:
        content = hashlib.sha256((folder / TEXTS).read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"{folder / TEXTS}: {error.strerror}") from None
    if config.read_object(folder / META).get("content") != content:
        raise UserError(f"{folder / TEXTS} is damaged: its texts are not those that were saved")
    return labelled.read(folder / TEXTS)


def describe(training: LabelTraining) -> str:
    """One line of what is learned, from how much."""
    task: Any = training.task
    longer = f", {training.cut:,} cut at the context" if training.cut else ""
    labels = training.model.config.labels  # type: ignore[attr-defined]
    return (
        f"{len(task.seen.rows):,} texts to learn from, {len(task.held_out.rows):,} held out{longer}; "
        f"{len(labels)} labels"
    )


def report(training: LabelTraining, console: Console) -> None:
    """Say how often the best checkpoint is right about what is held out, and draw what it takes for what."""
    result = training.judged()
    if result is None:
        console.print("nothing is held out, and so nothing measured")
        return
    console.print(f"accuracy  {result.accuracy:.4f}")
    console.print(f"macro-F1  {result.macro_f1:.4f}")
    console.print(f"measured on {result.n:,} held-out texts")
    missing = confusion.draw(result.matrix, list(result.labels), training.run.folder / PICTURE)
    if missing:
        console.print(f"no font here shows {' '.join(missing[:10])}; {PICTURE} has ? in their place")
