"""Two small encoder-decoders with additive attention for the lesson `alignment`: one translates sentences
with "bank" word by word, one writes letters backwards, where it is known where each one comes from."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ...data import tasks
from ...data.parallel import Pair, Pairs, sources_of
from ...data.tokenizers import Tokenizer
from ...decoding.translate import alignment, translate
from ...training.quiet import translator
from .rounding import rounded

SEED, HELD_OUT = 1, 0.2
COMMON = (
    "d_model=12",
    "batch_size=512",
    "lr=0.01",
    "context=24",
    f"valid_fraction={HELD_OUT}",
    f"seed={SEED}",
)
BANK = ("tokenizer=words", "steps=700")
BACKWARDS = ("tokenizer=chars", "steps=700")
SENTENCES = ("they borrowed money from the bank", "they fished near the bank")
SENSES = ("银行", "河岸")
LETTERS, SHORTEST, LONGEST, STRINGS = "abcdefgh", 3, 6, 4000
STRING = "fadceb"
PADDING = 2  # places behind the source that hold nothing

Example = tuple[str, str]


def backwards() -> list[Example]:
    """Strings and what they are from behind, each string once."""
    chance = random.Random(SEED)
    drawn = ("".join(chance.choices(LETTERS, k=chance.randint(SHORTEST, LONGEST))) for _ in range(STRINGS))
    return [(text, text[::-1]) for text in dict.fromkeys(drawn)]


def sentences() -> list[Example]:
    return [(example.source, example.target) for example in tasks.places()]


def held_out(examples: Sequence[Example], tokenizer: Tokenizer) -> list[Example]:
    """What the training did not learn from."""
    return [
        (pair.source, pair.target)
        for pair in Pairs([Pair(*e) for e in examples], tokenizer).split(HELD_OUT)[1]
    ]


def weights(model: Any, tokenizer: Tokenizer, source: str, target: str) -> torch.Tensor:
    """A row for each token of the target and END, a column for each of the source."""
    read, write = (tokenizer.encode(text).tolist() for text in (source, target))
    return alignment(model, read, write, tokenizer.start)


@torch.inference_mode()
def steps(model: Any, tokenizer: Tokenizer, source: str, target: str, padding: int = 0) -> dict[str, Any]:
    """What the attention sees while the target is written, teacher forcing: the memory (m + padding, D), the
    state before each step and the token that it reads, as its embedding (n + 1, D each)."""
    read, write = tokenizer.encode(source).tolist(), tokenizer.encode(target).tolist()
    state = model.encode(*sources_of([read], tokenizer.end, len(read) + padding))
    before, inputs = [], [tokenizer.start, *write]
    for token in inputs:
        before.append(state.hidden.hidden[-1, 0])
        _, state = model.decode(torch.tensor([[token]]), state)
    return {
        "source": tokenizer.labels(read),
        "target": tokenizer.labels([*write, tokenizer.end]),
        "memory": rounded(state.memory[0]),
        "before": rounded(torch.stack(before)),
        "inputs": rounded(model.embedding.weight[torch.tensor(inputs)]),
    }


def parameters(model: Any, *, whole: bool) -> dict[str, Any]:
    """The attention's, for rows: e = tanh(s W + h U) v; `whole`: the rest of the decoder's step as well."""
    attention = model.attention
    found = {"W": attention.of_state.weight.T, "U": attention.of_memory.weight.T, "v": attention.v.weight.T}
    if whole:
        of = model.decoder.layers[0].weights()
        found |= {"W_x": of.w_x.T, "W_h": of.w_h.T, "b_x": of.b_x[None], "b_h": of.b_h[None]}
        found |= {"W_r": model.readout.weight.T, "b_r": model.readout.bias[None], "W_o": model.head.weight.T}
    return {name: rounded(value.detach()) for name, value in found.items()}


@torch.inference_mode()
def chances(model: Any, tokenizer: Tokenizer, source: str, target: str, word: str) -> list[float]:
    """How likely the step that writes a word of the target writes it: as it is, when it cannot read the last
    word of the source, and when it can read nothing else."""
    read, write = tokenizer.encode(source).tolist(), tokenizer.encode(target).tolist()
    at, found = target.split(" ").index(word), []
    _, state = model.decode(
        torch.tensor([[tokenizer.start, *write][:at]]), model.encode(torch.tensor([read]))
    )
    last = torch.arange(len(read)) == len(read) - 1
    for valid in (torch.ones(len(read), dtype=torch.bool), ~last, last):
        inputs = torch.tensor([[write[at - 1]]])
        logits, _ = model.decode(inputs, replace(state, valid=valid[None]))
        found.append(float(logits[0, -1].softmax(-1)[write[at]]))
    return found


def _of_bank(model: Any, tokenizer: Tokenizer) -> dict[str, Any]:
    measured: dict[str, Any] = {}
    kept = held_out(sentences(), tokenizer)
    written = translate(model, tokenizer, [source for source, _ in kept])
    measured["held_out"] = [sum(a == b for a, (_, b) in zip(written, kept, strict=True)), len(kept)]
    for sense in SENSES:
        theirs = [(a, b) for a, b in sentences() if sense in b.split(" ")]
        at, cut = list[dict[str, float]](), list[list[float]]()
        for source, target in theirs:
            row = weights(model, tokenizer, source, target)[target.split(" ").index(sense)].tolist()
            at.append(dict(zip(source.split(" "), row, strict=True)))
            cut.append(chances(model, tokenizer, source, target, sense))
        words = {word for row in at for word in row}
        mean = {word: sum(row.get(word, 0.0) for row in at) / len(at) for word in words}
        largest = sorted(mean, key=lambda word: -mean[word])[:5]
        measured[sense] = {
            "sentences": len(theirs),
            "weights": {word: rounded(mean[word]) for word in largest},
            "largest_on_bank": sum(max(row, key=lambda word: row[word]) == "bank" for row in at),
            "chances": rounded([sum(column) / len(cut) for column in zip(*cut, strict=True)]),
        }
    return measured


def _of_backwards(model: Any, tokenizer: Tokenizer) -> dict[str, Any]:
    kept = held_out(backwards(), tokenizer)
    written = translate(model, tokenizer, [source for source, _ in kept])
    true, largest, count = 0.0, 0, 0
    for source, target in kept:
        square = weights(model, tokenizer, source, target)[:-1].flip(1)  # what is right lies on the diagonal
        true += float(square.diagonal().sum())
        largest += int((square.argmax(1) == torch.arange(len(source))).sum())
        count += len(source)
    return {
        "held_out": [sum(a == b for a, (_, b) in zip(written, kept, strict=True)), len(kept)],
        "weight": rounded(true / count),
        "largest": [largest, count],
    }


def train() -> dict[str, Any]:
    """Both models' attention, what it sees in examples, and what was measured on many."""
    bank, words = translator(sentences(), [*COMMON, *BANK])
    back, letters = translator(backwards(), [*COMMON, *BACKWARDS])
    targets = dict(sentences())
    return {
        "settings": {"seed": SEED, "train": list(COMMON), "bank": list(BANK), "backwards": list(BACKWARDS)},
        "vocabulary": words.labels(range(words.vocab_size)),
        "bank": parameters(bank, whole=True),
        "sentences": [steps(bank, words, text, targets[text], PADDING) for text in SENTENCES],
        "measured": _of_bank(bank, words),
        "backwards": parameters(back, whole=False),
        "string": steps(back, letters, STRING, STRING[::-1]),
        "measured_backwards": _of_backwards(back, letters),
    }
