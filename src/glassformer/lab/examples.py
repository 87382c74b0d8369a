"""Texts that the lab offers to train on: a made-up one with a rule to be learned, and Python's own manual."""

import random
from typing import Literal

from ..data import manual
from ..texts import Language

Example = Literal["stories", "manual"]

SENTENCES = 3_000
MANUAL_CHARACTERS = 400_000

# Who gave must be thanked, and who lent gets it back: the name to come stands somewhere before.
_PATTERNS: dict[Language, tuple[str, ...]] = {
    "zh": ("{a}送给{b}{thing}，{b}谢谢{a}。", "{a}问{b}借了{thing}，后来{a}还给了{b}。"),
    "en": (
        "{a} gave {b} {thing}. {b} thanked {a}.",
        "{a} borrowed {thing} from {b}. {a} gave it back to {b}.",
    ),
}
_NAMES: dict[Language, tuple[str, ...]] = {
    "zh": ("小米", "阿汤", "小雨", "阿宝", "大山", "阿花", "小石", "明明", "小燕", "老周"),
    "en": ("Mia", "Tom", "Ada", "Ben", "Eve", "Sam", "Zoe", "Max", "Ivy", "Leo"),
}
_THINGS: dict[Language, tuple[str, ...]] = {
    "zh": ("一只风筝", "一本旧书", "半个西瓜", "一把雨伞", "一盏灯笼", "一顶草帽", "两颗糖", "一面小鼓"),
    "en": ("a kite", "a book", "a melon", "a lamp", "a hat", "a drum", "a rope", "an old map"),
}
_PROBES: dict[Language, str] = {
    "zh": "阿宝送给小雨一盏灯笼，小雨谢谢阿宝。",
    "en": "Ben gave Mia a lamp. Mia thanked Ben.",
}


def example(which: Example, language: Language) -> tuple[str, str]:
    """A text, the same each time, and a sentence of its kind to watch."""
    if which == "manual":
        return manual.text()[:MANUAL_CHARACTERS], "The value of the expression is used."
    return "\n".join(_stories(language)) + "\n", _PROBES[language]


def _stories(language: Language) -> list[str]:
    chance = random.Random(0)
    lines = []
    for _ in range(SENTENCES):
        a, b = chance.sample(_NAMES[language], 2)
        pattern, thing = chance.choice(_PATTERNS[language]), chance.choice(_THINGS[language])
        lines.append(pattern.format(a=a, b=b, thing=thing))
    return lines
