"""The same small GPT trained twice for the lesson `leak`, with the causal mask and with the mask opened
through a tap: too good a loss, bad texts. The text is that of `vectors`, a sign after each sentence."""

import itertools
import json
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...config import to_dict
from ...data.batches import Batch, Windows
from ...data.spaced import SpacedWords
from ...decoding.samplers import Sampler
from ...models import GPT, GPTConfig
from ...store.run import Run
from ...training import runtime
from ...training.log import LOG
from ...training.loop import Training
from ...training.quiet import trained
from ...training.settings import TrainConfig
from ...training.task import Forward, NextToken, next_token_loss
from . import vectors
from .rounding import rounded

SEED, HELD_OUT = 1, 0.1
SIGN = (".", "。")
SHAPE: Mapping[str, Any] = {
    "context": 15,  # sentences have 4 or 6 words: windows of an even length would all begin at like places
    "n_layers": 1,
    "n_heads": 1,
    "d_model": 12,
    "d_inner": 24,
    "activation": "relu",
    "norm": "layernorm",
    "positions": "learned",
    "tie_embeddings": False,
}
TRAIN = TrainConfig(
    steps=1200,
    batch_size=64,
    lr=0.01,
    warmup=50,
    eval_every=80,
    eval_tokens=16_384,
    sample=0,
    seed=SEED,
    device="cpu",
)
SAMPLES, LENGTH = 4, 20
"""Texts of each model that are shown, and their words."""
COUNTED = 300
"""Sentences of each model that are counted."""
SHOWN = ". old king commands his horse . apple tastes sweet"
"""What the model that saw the future reads on the page."""


def text() -> list[str]:
    """The English words of the text, in their order."""
    return [english for sentence in vectors.sentences() for english, _ in (*sentence, SIGN)]


def chinese() -> dict[str, str]:
    """What each word is in the Chinese text."""
    return {english: other for sentence in vectors.sentences() for english, other in (*sentence, SIGN)}


def language() -> dict[tuple[str, ...], float]:
    """How likely each sentence of the text is."""

    def mixed(lists: tuple[tuple[vectors.Word, ...], ...], which: int, share: float = 1) -> dict[str, float]:
        of_each = {which: share * (1 - vectors.SLIPS), 1 - which: share * vectors.SLIPS}
        return {word: p / len(lists[k]) for k, p in of_each.items() for word, _ in lists[k]}

    def even(words: tuple[vectors.Word, ...]) -> dict[str, float]:
        return {word: 1 / len(words) for word, _ in words}

    kinds = [(0.2, [even(words) for words in (vectors.FOODS, vectors.TASTES, vectors.MANNERS)])]
    for (who, _), (rank, gender, age) in vectors.PEOPLE.items():
        first = mixed(vectors.AGE, age, 0.6) | mixed(vectors.LOOKS, gender, 0.4)
        rest = mixed(vectors.RANK, rank), mixed(vectors.GENDER, gender), even(vectors.ANIMALS)
        kinds.append((0.8 / len(vectors.PEOPLE), [first, {who: 1.0}, *rest]))
    return {
        words: share * math.prod(place[word] for place, word in zip(places, words, strict=True))
        for share, places in kinds
        for words in itertools.product(*places)
    }


def entropy(sentences: Mapping[tuple[str, ...], float]) -> float:
    """Nats per word, signs included: no prediction from the past alone has a lower loss in expectation."""
    nats = -sum(p * math.log(p) for p in sentences.values())
    return nats / sum(p * (len(words) + 1) for words, p in sentences.items())


class Open:
    """A tap that lets every position look everywhere."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        return torch.ones_like(tensor) if name == "mask" else tensor

    def at(self, path: str) -> "Open":
        return self

    def wants(self, name: str) -> bool:
        return name == "mask"


@dataclass
class Weights:
    """A tap that keeps the weights; `open`: with the mask opened."""

    open: bool
    seen: Tensor | None = None

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if name == "weights":
            self.seen = tensor
        return torch.ones_like(tensor) if name == "mask" and self.open else tensor

    def at(self, path: str) -> "Weights":
        return self

    def wants(self, name: str) -> bool:
        return name == "weights" or (name == "mask" and self.open)


class NextTokenInSight(NextToken):
    """Predict each token of a window, all of which is seen."""

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        return next_token_loss(partial(model, tap=Open()), batch)


def _losses(log: Path, key: str) -> list[tuple[int, float]]:
    entries = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    return [(entry["step"], entry[key]) for entry in entries if key in entry]


def _trained(task: NextToken, tokenizer: SpacedWords) -> tuple[GPT, dict[str, list[float]]]:
    torch.manual_seed(SEED)
    model = GPT(GPTConfig(vocab_size=tokenizer.vocab_size, **SHAPE))
    with TemporaryDirectory() as folder:
        run = Run(Path(folder) / "run")
        said = {"family": "gpt", "model": to_dict(model.config), "train": to_dict(TRAIN)}
        training = Training(run, model, tokenizer, task, TRAIN, said, runtime.choose(TRAIN))
        made: GPT = trained(training)
        held_out = dict(_losses(run.folder / LOG, "valid_loss"))
        steps = dict(_losses(run.folder / LOG, "loss"))
    at = [step for step in held_out if step in steps]
    # A step's loss is that of one batch: the mean of the ten kept steps up to each measurement.
    mean = [np.mean([steps[s] for s in steps if step - TRAIN.eval_every < s <= step]) for step in at]
    return made, {
        "step": [float(step) for step in at],
        "training": rounded([float(x) for x in mean]),
        "held_out": rounded([held_out[step] for step in at]),
    }


@torch.inference_mode()
def _written(model: GPT, tokenizer: SpacedWords, texts: int, length: int) -> list[list[str]]:
    """So many texts of `length` words after a sign, each word drawn from what the model makes of those before
    it. Nothing comes after the last word, so that with one layer it is the same with the mask and without."""
    rows = [tokenizer.encode(SIGN[0]).tolist() for _ in range(texts)]
    chances = [random.Random(f"{SEED} {k}") for k in range(texts)]
    for _ in range(length):
        logits = model(torch.tensor([row[-model.config.context :] for row in rows]))[0]
        drawn = Sampler().choose(logits[:, -1, : tokenizer.end], rows, chances)
        for row, token in zip(rows, drawn, strict=True):
            row.append(token)
    return [tokenizer.labels(row[1:]) for row in rows]


def possible(texts: list[list[str]], sentences: Mapping[tuple[str, ...], float]) -> list[int]:
    """How many of the first COUNTED sentences, and of how many, the language of the text has at all."""
    found: list[tuple[str, ...]] = []
    for words in texts:
        ends = [-1, *(k for k, word in enumerate(words) if word == SIGN[0])]
        found += [tuple(words[a + 1 : b]) for a, b in itertools.pairwise(ends)]
    return [sum(sentence in sentences for sentence in found[:COUNTED]), len(found[:COUNTED])]


@torch.inference_mode()
def _loss(model: GPT, batches: Iterable[Batch], opened: bool) -> float:
    total = sum(float(next_token_loss(partial(model, tap=Open() if opened else None), b)) for b in batches)
    return total / sum(batch.n_targets for batch in batches)


@torch.inference_mode()
def _where(model: GPT, batches: Iterable[Batch], opened: bool) -> list[float]:
    """Mean weight on the past, on the position itself, on the next one, and on what is later still."""
    total, rows = torch.zeros(4), 0
    for batch in batches:
        tap = Weights(opened)
        model(batch.inputs, tap=tap)
        assert tap.seen is not None
        weights = tap.seen[:, 0, :-1]  # the last position has no next one in its window
        ahead = torch.arange(weights.shape[2]) - torch.arange(weights.shape[1])[:, None]
        for k, chosen in enumerate((ahead < 0, ahead == 0, ahead == 1, ahead > 1)):
            total[k] += (weights * chosen).sum()
        rows += weights.shape[0] * weights.shape[1]
    found: list[float] = rounded(total / rows)
    return found


@torch.inference_mode()
def chances(model: GPT, tokenizer: SpacedWords, opened: bool) -> list[float]:
    """How likely the model holds each word of SHOWN after the first, at the position before it."""
    tokens = tokenizer.encode(SHOWN)
    logits = model(torch.from_numpy(tokens[None, :-1]), tap=Open() if opened else None)[0][0]
    found: list[float] = rounded(logits.softmax(-1)[torch.arange(len(tokens) - 1), tokens[1:]])
    return found


def parameters(model: Any, tokenizer: SpacedWords) -> dict[str, Any]:
    """All that one pass over SHOWN needs, for rows; X is embedding and position of each word, X_dog with a
    dog for the horse."""
    block = model.blocks[0]

    def read(text: str) -> Tensor:
        tokens = torch.from_numpy(tokenizer.encode(text)[:-1])
        x: Tensor = model.positions.embed(model.embedding(tokens), torch.arange(len(tokens)))
        return x

    found = {
        "X": read(SHOWN),
        "X_dog": read(SHOWN.replace("horse", "dog")),
        **{f"g_{k}": norm.weight[None] for k, norm in enumerate((block.attention_norm, block.ffn_norm), 1)},
        "g_3": model.final_norm.weight[None],
        "W_Q": block.attention.query.weight.T,
        "W_K": block.attention.key.weight.T,
        "W_V": block.attention.value.weight.T,
        "W_O": block.attention.output.weight.T,
        "W_1": block.ffn.up.weight.T,
        "W_2": block.ffn.down.weight.T,
        "W_out": model.head.weight.T,
    }
    return {name: rounded(value.detach()) for name, value in found.items()}


def train() -> dict[str, Any]:
    """Both models: their losses while training and as generators, where they look, what they write; and the
    weights of the one that saw the future."""
    words, sentences = text(), language()
    tokenizer = SpacedWords(words)
    tokens = tokenizer.encode(" ".join(words)).astype(np.uint16)
    cut = int(len(tokens) * (1 - HELD_OUT))
    seen = Windows(tokens[:cut], SHAPE["context"], SEED)
    parts = seen, tokens[cut:], TRAIN.batch_size, TRAIN.accumulate, TRAIN.eval_tokens
    tasks = {"causal": NextToken(*parts), "open": NextTokenInSight(*parts)}
    models, curves = {}, {}
    for name, task in tasks.items():
        models[name], curves[name] = _trained(task, tokenizer)
    batches = list(tasks["causal"].validation_batches())
    names, other = tokenizer.labels(range(tokenizer.vocab_size)), chinese()
    texts = {name: _written(model, tokenizer, 2 * COUNTED // 4, LENGTH) for name, model in models.items()}
    return {
        "settings": {
            "seed": SEED,
            "sentences": vectors.SENTENCES,
            "shape": dict(SHAPE),
            "train": to_dict(TRAIN),
        },
        "vocabulary": names,
        "chinese": [other.get(name, name) for name in names],
        "parameters": sum(parameter.numel() for parameter in models["open"].parameters()),
        "held_out": sum(batch.n_targets for batch in batches),
        "entropy": rounded(entropy(sentences)),
        "curves": curves,
        "as_trained": {
            name: rounded(_loss(model, batches, name == "open")) for name, model in models.items()
        },
        "as_generator": {name: rounded(_loss(model, batches, False)) for name, model in models.items()},
        "looks": {name: _where(model, batches, name == "open") for name, model in models.items()},
        "possible": {name: possible(found, sentences) for name, found in texts.items()},
        "samples": {name: found[:SAMPLES] for name, found in texts.items()},
        "shown": SHOWN.split(" "),
        "chances": {
            "causal": chances(models["causal"], tokenizer, False),
            "open": chances(models["open"], tokenizer, True),
            "open, closed": chances(models["open"], tokenizer, False),
        },
        "open": parameters(models["open"], tokenizer),
    }
