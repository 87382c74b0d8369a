"""Training an encoder to tell hidden tokens, inside the common loop (Devlin et al. 2019)."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .. import config
from ..data import corpus, sources
from ..data.batches import IGNORE, Batch, Windows
from ..data.corpus import Advance, Corpus, Tokens
from ..data.masking import SHARE, Masking
from ..data.tokenizers import ENCODING
from ..errors import UserError, unknown
from ..models import Bert, BertConfig
from ..models.presets import ENCODER_PRESETS
from ..store.run import Checkpoint, Run
from . import runtime
from .folder import DATA, new_run, reopened
from .loop import Training
from .settings import DataConfig, TrainConfig
from .start import parts_of, text_of

FAMILY, TASK = "bert", "mlm"
SHORTEST = 2  # tokens of a text, where texts are short
_TRAINING, _LENGTHS, _MEASURING = 1, 2, 3  # chances that have nothing to do with each other
_FIXED = ("vocab_size", "n_types", "pooler", "mlm", "labels", "pooling")


@dataclass(frozen=True)
class MaskedConfig(DataConfig):
    """Of the ordinary tokens, `mask_share` are chosen to be told. In `short_share` of the steps texts are
    shorter than the context, so that a model knows short texts as well."""

    mask_share: float = SHARE
    short_share: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.mask_share < 1:
            raise ValueError(f"mask_share must lie in (0, 1), not {self.mask_share}")
        if not 0 <= self.short_share <= 1:
            raise ValueError(f"short_share must lie in [0, 1], not {self.short_share}")


@dataclass(frozen=True)
class MaskedTokens:
    """Learning tokens from all that stands around them. What is hidden is new in every step."""

    windows: Windows
    masking: Masking
    held_out: Tokens
    batch_size: int
    accumulate: int
    eval_tokens: int
    short_share: float

    def training_batches(self, step: int) -> list[Batch]:
        seed, micros, width = self.windows.seed, self.accumulate, self.width(step)
        batches: list[Batch] = []
        for micro in range(micros):
            text_bn = self.windows.batch(step, self.batch_size, micro=micro, micros=micros).inputs.numpy()
            pieces = text_bn.shape[1] // width
            text_bn = text_bn[:, : pieces * width].reshape(-1, width)
            first = micro * len(text_bn)
            batches.append(self.masking.hide(text_bn, (_TRAINING, seed, step), first=first))
        return batches

    def width(self, step: int) -> int:
        """How long the texts of a step are. Short ones are pieces of the same windows, all of one length."""
        chance, longest = np.random.default_rng([_LENGTHS, self.windows.seed, step]), self.windows.context
        if longest <= SHORTEST or chance.random() >= self.short_share:
            return longest
        return int(chance.integers(SHORTEST, longest + 1))

    def validation_batches(self) -> Iterable[Batch]:
        """Windows spread over the held-out text, as many as `eval_tokens` allow, always with the same tokens
        hidden, all behind MASK."""
        n = self.windows.context
        n_windows = len(self.held_out) // n
        wanted = min(n_windows, max(1, self.eval_tokens // n))
        starts = [int(i) * n for i in np.linspace(0, n_windows - 1, wanted).round()] if n_windows else []
        yield from measured(self.held_out, n, starts, self.masking, self.windows.seed, self.batch_size)

    def loss_sum(self, model: Any, batch: Batch) -> Tensor:
        """Cross-entropy of every hidden token (nats), summed, in float32."""
        logits_kV, targets_k = told(model, batch)
        return F.cross_entropy(logits_kV.float(), targets_k, reduction="sum")


def told(model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
    """Scores (k, V) at the k hidden places of a batch, and what stood there. The head works for these places
    alone: over a large vocabulary it is most of the work."""
    hidden_bnD: Tensor = model(batch.inputs)
    chosen_bn = batch.targets != IGNORE
    return model.token_logits(hidden_bnD[chosen_bn]), batch.targets[chosen_bn]


def measured(
    tokens: Tokens,
    n: int,
    starts: Sequence[int],
    masking: Masking,
    seed: int,
    batch_size: int,
    number: int = 0,
) -> Iterator[Batch]:
    """The windows of n tokens that begin at these places, numbered from `number` on. What is hidden follows
    from the seed and the number of a window alone."""
    for i in range(0, len(starts), batch_size):
        text_bn = np.stack([tokens[start : start + n] for start in starts[i : i + batch_size]])
        yield masking.hide(text_bn, (_MEASURING, seed), first=number + i, plainly=True)


def settings(preset_name: str = "tiny") -> dict[str, Any]:
    """The named parts of a run's settings, as they are unless something else is said."""
    if preset_name not in ENCODER_PRESETS:
        raise unknown("preset", preset_name, ENCODER_PRESETS)
    shape, train = ENCODER_PRESETS[preset_name], TRAIN[preset_name]
    return {"model": shape, "train": train, "data": MaskedConfig()}


_FAST = TrainConfig(batch_size=32, optimiser="muon", lr=3e-3, muon_lr=0.02, warmup=50, sample=0)
TRAIN = {
    "tiny": _FAST,
    "small": _FAST,
    "base": TrainConfig(batch_size=32, accumulate=8, lr=2e-4, warmup=1000, weight_decay=0.01, sample=0),
}


@contextmanager
def begun(
    texts: Sequence[str],
    out: Path,
    *,
    preset_name: str = "tiny",
    assignments: Sequence[str] = (),
    base: Checkpoint | None = None,
    progress: Callable[[], AbstractContextManager[Advance]] = lambda: nullcontext(lambda *_: None),
) -> Iterator[Training]:
    """A training of a new encoder on `texts`, or of `base` to go on with it, in the new run folder `out`; see
    `start.begun`."""
    encoder = None if base is None else base.encoder()
    parts = settings(preset_name) if base is None else _parts_of(base)
    changed = config.override(parts, assignments)
    _refuse_unused(changed["train"])
    _refuse_new_shape(parts["model"], changed["model"], () if base is None else vars(parts["model"]))
    data: MaskedConfig = changed["data"]
    for name in ("tokenizer", "bpe_vocab_size"):
        if base is not None and getattr(data, name) != getattr(parts["data"], name):
            raise UserError(f"an encoder that is trained on keeps its tokenizer; leave out {name}")
    with new_run(out) as run, sources.opened(texts) as paths:
        tokenizer = data.tokenizer if base is None else base.tokenizer()
        with progress() as advance:
            text = corpus.prepare(paths, out / DATA, tokenizer, data.bpe_vocab_size, advance, ENCODING)
        torch.manual_seed(changed["train"].seed)
        if encoder is None:
            model = Bert(dataclasses.replace(changed["model"], vocab_size=text.tokenizer.vocab_size))
        else:
            model = with_heads(encoder, changed["model"])
        yield _training(run, model, text, changed["train"], data)


def resumed(folder: Path, assignments: Sequence[str] = ()) -> Training:
    """The training of an encoder that stopped in a run folder, exactly where it stopped."""
    found = reopened(folder, MaskedConfig, assignments)
    _refuse_unused(found.train)
    text = text_of(found)
    return found.go_on(_training(found.run, found.last.encoder(), text, found.train, found.data))


def with_heads(model: Bert, shape: BertConfig) -> Bert:
    """The encoder with the heads that `shape` names: those that it has as they are, others at their
    beginning."""
    changed, had = Bert(shape), model.state_dict()
    wanted = changed.state_dict()
    changed.load_state_dict({name: had.get(name, value) for name, value in wanted.items()})
    return changed


def _parts_of(base: Checkpoint) -> dict[str, Any]:
    """The settings to go on from `base` with, gently: an encoder that fills in, whatever it did before."""
    parts = parts_of(base, settings("base"), TASK)
    return {**parts, "model": dataclasses.replace(base.shape, mlm=True, labels=(), pooling="cls")}


def _refuse_new_shape(before: BertConfig, after: BertConfig, kept: Iterable[str]) -> None:
    if after.vocab_size != before.vocab_size:
        raise UserError("vocab_size follows from the tokenizer; set bpe_vocab_size, or tokenizer")
    for name in (*_FIXED, *kept):
        if name != "dropout" and getattr(after, name) != getattr(before, name):
            raise UserError(f"an encoder is trained here with {name} = {getattr(before, name)}; leave it out")


def _refuse_unused(train: TrainConfig) -> None:
    if train.sample:
        raise UserError("an encoder writes no samples; leave out sample")


def _training(run: Run, model: Any, text: Corpus, train: TrainConfig, data: MaskedConfig) -> Training:
    masking = Masking.of(text.tokenizer, data.mask_share)
    n = model.config.context - masking.n_around
    seen, held_out = text.split(data.valid_fraction)
    if n < 1 or len(seen) < n + 1:
        raise UserError(
            f"the text has {len(text.tokens)} tokens, {len(seen)} of them for training; "
            f"context={model.config.context}, {masking.n_around} of them around a text, needs at least "
            f"{max(1, n) + 1}: give more text, or another context"
        )
    sizes = train.batch_size, train.accumulate, train.eval_tokens
    task = MaskedTokens(Windows(seen, n, train.seed), masking, held_out, *sizes, data.short_share)
    said = {
        "family": FAMILY,
        "task": TASK,
        "model": config.to_dict(model.config),
        "train": config.to_dict(train),
        "data": config.to_dict(data),
    }
    return Training(
        run, model, text.tokenizer, task, train, said, runtime.choose(train, model.config.d_model)
    )
