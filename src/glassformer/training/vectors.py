"""Training word vectors inside the common loop: its schedule, log, checkpoints and resumption, with a step of
its own, for the gradient touches only the rows of the words at hand."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import config
from ..data import corpus, sources, words
from ..data.batches import Windows
from ..data.corpus import Advance, Corpus, Tokens
from ..data.pairs import Neighbours
from ..data.words import Words, WordsConfig
from ..errors import UserError
from ..models.word2vec import Groups, Word2Vec, Word2VecConfig
from ..store.run import Run
from . import optimiser as optim
from . import runtime
from .folder import DATA, new_run, reopened
from .loop import Training
from .settings import TrainConfig

FAMILY = "word2vec"
MEASURING_NOISE = 256  # noise words of a group where loss is measured: more of them, less chance
MEASURED = 4096  # words of held-out text at once
STRETCH = 512  # words that stand together in the text; a step takes several, from different places
TRIAL = 16  # groups

TRAIN = TrainConfig(
    batch_size=10_240,
    optimiser="sgd",
    decay="linear",
    lr=0.025,
    min_lr=0.004,  # of lr: the original ends at 0.0001
    warmup=0,
    weight_decay=0.0,
    clip=0.0,
    sample=0,
)
_USED = {"steps", "batch_size", "lr", "min_lr", "warmup", "decay", "seed", "eval_every", "eval_tokens"}
_USED |= {"patience", "device"}


@dataclass(frozen=True)
class NearWords:
    """Learning words from their neighbours. A step takes `per_step` stretches of text; where stretches begin,
    and in which order they come, is new in every epoch."""

    stretches: Windows
    per_step: int
    neighbours: Neighbours
    held_out: Tokens
    eval_tokens: int

    def training_batches(self, step: int) -> list[Groups]:
        return [self.batch(step)[0]]

    def batch(self, step: int) -> tuple[Groups, int]:
        """The batch of a step, and how many words of text it is."""
        text = self.stretches.batch(step, self.per_step).inputs.numpy()
        n_words = int((text != len(self.neighbours.counts)).sum())
        return self.neighbours.groups(text, np.random.default_rng([self.stretches.seed, step])), n_words

    def validation_batches(self) -> Iterable[Groups]:
        """The held-out text from its start, with the same noise each time."""
        text, size = self.held_out[: self.eval_tokens], MEASURED
        for i in range(0, len(text), size):
            chance = np.random.default_rng([self.stretches.seed, 0, i])
            groups = self.neighbours.groups(text[None, i : i + size], chance, MEASURING_NOISE)
            if groups.n_targets:
                yield groups

    def loss_sum(self, model: Any, batch: Any) -> Tensor:
        loss: Tensor = model(batch)
        return loss


@dataclass
class VectorTraining(Training):
    """A training whose step is the model's own. `tokens` counts words of text; the loss is for each pair."""

    def __post_init__(self) -> None:
        self.model.to(self.runtime.device)
        self.optimisers = []
        self.forward = self.model

    def step(self) -> tuple[float, float, int]:
        task, model, step = self.task, self.model, self.progress.step
        assert isinstance(task, NearWords)
        assert isinstance(model, Word2Vec)
        groups, n_words = task.batch(step)
        at_once, share = task.neighbours.pace(self.config.lr)
        rate = share * self.config.lr * optim.rate_share(self.config, step)
        return *model.step(groups.to(self.runtime.device), rate, at_once), n_words

    def trial(self) -> Callable[[], object]:
        assert isinstance(self.task, NearWords)
        assert isinstance(self.model, Word2Vec)
        groups, model = self.task.batch(0)[0].part(0, TRIAL).to(self.runtime.device), self.model
        return lambda: model.gradients(groups)


def settings() -> dict[str, Any]:
    """The named parts of a run's settings, as they are unless something else is said."""
    return {"model": Word2VecConfig(vocab_size=1), "train": TRAIN, "data": WordsConfig()}


@contextmanager
def begun(
    texts: Sequence[str],
    out: Path,
    *,
    assignments: Sequence[str] = (),
    progress: Callable[[], AbstractContextManager[Advance]] = lambda: nullcontext(lambda *_: None),
) -> Iterator[Training]:
    """A training of word vectors on `texts` in the new run folder `out`; see `start.begun`."""
    parts = config.override(settings(), assignments)
    if parts["model"].vocab_size != 1:
        raise UserError("vocab_size follows from the text; set min_count, or max_words")
    _refuse_unused(parts["train"])
    with new_run(out) as run, sources.opened(texts) as paths:
        data: WordsConfig = parts["data"]
        with progress() as advance:
            vocabulary = words.learn(corpus.texts(paths, "counting words", advance), data)
            text = corpus.prepare(paths, out / DATA, vocabulary, 0, advance)
        shape = dataclasses.replace(parts["model"], vocab_size=vocabulary.vocab_size)
        train = _with_epochs(parts["train"], text, data, assignments)
        torch.manual_seed(train.seed)
        yield _training(run, Word2Vec(shape), text, train, data)


def resumed(folder: Path, assignments: Sequence[str] = ()) -> Training:
    """The training of word vectors that stopped in a run folder, exactly where it stopped."""
    found = reopened(folder, WordsConfig, assignments)
    run, last = found.run, found.last
    _refuse_unused(found.train)
    text = corpus.load(run.folder / DATA)
    if text.tokenizer.to_json() != last.tokenizer().to_json():
        raise UserError(f"{run.folder / DATA} holds other words than {last.folder}")
    return found.go_on(_training(run, last.word_vectors(), text, found.train, found.data))


def _refuse_unused(train: TrainConfig) -> None:
    for field in dataclasses.fields(TrainConfig):
        if field.name not in _USED and getattr(train, field.name) != getattr(TRAIN, field.name):
            raise UserError(f"word vectors are trained without {field.name}; leave it out")


def _with_epochs(
    train: TrainConfig, text: Corpus, data: WordsConfig, assignments: Sequence[str]
) -> TrainConfig:
    """`steps` and `eval_every` from the number of epochs, unless they were given."""
    told = {assignment.partition("=")[0].rpartition(".")[2] for assignment in assignments}
    stretches = _stretches(text, train, data)
    per_epoch = -(-stretches.per_epoch // _per_step(stretches, train))
    steps = train.steps if "steps" in told else data.epochs * per_epoch
    return dataclasses.replace(
        train, steps=steps, eval_every=train.eval_every if "eval_every" in told else per_epoch
    )


def _stretches(text: Corpus, train: TrainConfig, data: WordsConfig) -> Windows:
    seen, _ = text.split(data.valid_fraction)
    if len(seen) < 3:
        raise UserError(f"of the text {len(seen)} words are left to learn from; give more text")
    return Windows(seen, min(STRETCH, train.batch_size, len(seen) - 1), train.seed)


def _per_step(stretches: Windows, train: TrainConfig) -> int:
    return max(1, min(train.batch_size // stretches.context, stretches.per_epoch))


def _training(run: Run, model: Any, text: Corpus, train: TrainConfig, data: WordsConfig) -> Training:
    vocabulary = text.tokenizer
    assert isinstance(vocabulary, Words)
    seen, held_out = text.split(data.valid_fraction)
    counts = np.bincount(seen, minlength=vocabulary.vocab_size)[: vocabulary.end]
    neighbours = Neighbours(counts, model.config)
    stretches = _stretches(text, train, data)
    task: Any = NearWords(stretches, _per_step(stretches, train), neighbours, held_out, train.eval_tokens)
    said = {
        "family": FAMILY,
        "model": config.to_dict(model.config),
        "train": config.to_dict(train),
        "data": config.to_dict(data),
    }
    return VectorTraining(run, model, vocabulary, task, train, said, runtime.choose(train))


def describe(training: VectorTraining) -> str:
    """One line of what is trained, on what, where."""
    c: Any = training.model.config
    assert isinstance(training.task, NearWords)
    kind = "skip-gram" if c.objective == "skipgram" else "CBOW"
    return (
        f"{kind}, {c.vocab_size - 1:,} words x {c.d_model}, {len(training.task.stretches.tokens):,} words of "
        f"text, on {training.runtime}"
    )
