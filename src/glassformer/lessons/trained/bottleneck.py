"""Two encoder-decoders for the lesson `bottleneck`, without attention and with it: letters written backwards,
right answers by length."""

import random
from typing import Any

import torch

from ...decoding.translate import translate
from ...training.quiet import translator
from .rounding import rounded

LETTERS, LONGEST, PAIRS, SEED = "abcdefgh", 12, 20_000, 1
LENGTHS, EACH = range(4, LONGEST + 1), 200
SETTINGS = ("d_model=32", "steps=1200", "lr=0.005", "batch_size=1024", "context=20", "valid_fraction=0")
STRINGS = ("bad", "cabbage", "hagacebadfeh")
"""Whose last states the lesson shows."""


def drawn(length: int, chance: random.Random) -> str:
    return "".join(chance.choices(LETTERS, k=length))


def texts() -> list[str]:
    """What both learn from: each length from 1 to LONGEST as often as any other, in the mean."""
    chance = random.Random(SEED)
    return [drawn(chance.randint(1, LONGEST), chance) for _ in range(PAIRS)]


def questions(length: int) -> list[str]:
    """EACH texts of a length to try them on, none of which they learned from."""
    chance, seen, found = random.Random(f"{SEED} {length}"), set(texts()), list[str]()
    while len(found) < EACH:
        text = drawn(length, chance)
        if text not in seen:
            found.append(text)
    return found


def train() -> dict[str, Any]:
    """For both models and each length how many of EACH answers are right, and how many of their letters; and
    what the one without attention knows of STRINGS."""
    pairs = [(text, text[::-1]) for text in texts()]
    right: dict[str, list[int]] = {"none": [], "additive": []}
    letters: dict[str, list[int]] = {"none": [], "additive": []}
    states, parameters = {}, {}
    for attention in right:
        model, tokenizer = translator(pairs, [*SETTINGS, f"seed={SEED}", f"attention={attention}"])
        parameters[attention] = sum(parameter.numel() for parameter in model.parameters())
        for length in LENGTHS:
            asked = questions(length)
            answers = [(b[::-1], a) for a, b in zip(translate(model, tokenizer, asked), asked, strict=True)]
            right[attention].append(sum(true == a for true, a in answers))
            letters[attention].append(sum(sum(map(str.__eq__, true, a)) for true, a in answers))
        if attention == "none":
            for text in STRINGS:
                with torch.inference_mode():
                    state = model.encode(torch.tensor([tokenizer.encode(text).tolist()]))
                states[text] = {"memory": rounded(state.memory[0]), "last": rounded(state.hidden.hidden[-1])}
    return {
        "settings": {"pairs": PAIRS, "longest": LONGEST, "seed": SEED, "each": EACH, "train": list(SETTINGS)},
        "parameters": parameters,
        "lengths": list(LENGTHS),
        "right": right,
        "letters": letters,
        "states": states,
    }
