"""Sentences with a pronoun that stands for one of two animals, in Chinese and English of ours; which one,
the structure of the sentence decides.

    猫 追 老鼠 ， 因为 它 饿了 。 谁 饿了 ？            猫
    猫 追 老鼠 ， 所以 它 饿了 。 谁 饿了 ？            老鼠
    the mouse was chased by the cat so it was hungry . who was hungry ? the      mouse

因为, because: the one that does something; 所以, so: the one that it is done to. Who does it, active and
passive tell. Each alone leaves both animals as likely as the other, as do the animals and their places; it
takes the two together. A token is what stands between two spaces.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations, product

from ..texts import LANGUAGES, Language
from .spaced import SpacedWords

MASK = "[MASK]"
WHO = "谁 who"
"""The words that a question begins with."""
ANIMALS = (
    *(("猫", "cat"), ("老鼠", "mouse"), ("狗", "dog"), ("兔子", "rabbit"), ("狐狸", "fox"), ("鸡", "hen")),
    *(("狼", "wolf"), ("羊", "sheep"), ("猴子", "monkey"), ("熊", "bear"), ("牛", "cow"), ("马", "horse")),
)
DEEDS = (
    *(("追", "chased"), ("骗", "tricked"), ("推", "pushed")),
    *(("逗", "teased"), ("踢", "kicked"), ("盯", "watched")),
)
STATES = (("饿了", "hungry"), ("累了", "tired"), ("慌了", "upset"), ("怕了", "afraid"), ("疯了", "mad"))
HELD_OUT = 0.2
"""The share of pairs (who does it, to whom) that no model learns from; the cat and the mouse are one."""


@dataclass(frozen=True)
class Kind:
    """What sentences of one structure have in common, and with it the places of their words."""

    language: Language
    passive: bool
    because: bool

    @property
    def template(self) -> str:
        """`{0}` does `{1}` to `{2}`; `{3}` is what is said of one of them."""
        if self.language == "zh":
            first = "{2} 被 {0} {1} ，" if self.passive else "{0} {1} {2} ，"
            return f"{first} {'因为' if self.because else '所以'} 它 {{3}} 。 谁 {{3}} ？"
        first = "the {2} was {1} by the {0}" if self.passive else "the {0} {1} the {2}"
        return f"{first} {'because' if self.because else 'so'} it was {{3}} . who was {{3}} ? the"

    def place(self, what: str) -> int:
        """Where a word of the template stands, counted from 0."""
        return self.template.split(" ").index(what)

    @property
    def referent(self) -> int:
        """The place of the animal that is meant."""
        return self.place("{0}" if self.because else "{2}")

    @property
    def other(self) -> int:
        """The place of the animal that is not meant."""
        return self.place("{2}" if self.because else "{0}")

    @property
    def pronoun(self) -> int:
        return self.place("它" if self.language == "zh" else "it")


KINDS = tuple(Kind(*parts) for parts in product(LANGUAGES, (False, True), (True, False)))


@dataclass(frozen=True)
class Sentence:
    """A sentence up to its answer, the answer, and the other animal."""

    kind: Kind
    text: str
    answer: str
    other: str


def pairs(held_out: bool) -> list[tuple[int, int]]:
    """Who does it and to whom, as places in ANIMALS: the pairs that are held out, or the others."""
    every = list(permutations(range(len(ANIMALS)), 2))
    rest = every[1:]
    random.Random(0).shuffle(rest)
    n = round(HELD_OUT * len(every))
    return sorted([every[0], *rest[: n - 1]] if held_out else rest[n - 1 :])


def sentences(held_out: bool, kinds: Iterable[Kind] = KINDS) -> Iterator[Sentence]:
    """All sentences of these kinds that are held out, or all others."""
    for kind in kinds:
        which = LANGUAGES.index(kind.language)
        for (who, whom), deed, state in product(pairs(held_out), DEEDS, STATES):
            animals = ANIMALS[who][which], ANIMALS[whom][which]
            text = kind.template.format(animals[0], deed[which], animals[1], state[which])
            yield Sentence(kind, text, *(animals if kind.because else animals[::-1]))


def tokenizer() -> SpacedWords:
    """The words of all sentences, and MASK."""
    return SpacedWords.learn([MASK, *(each.text for each in sentences(False))])
