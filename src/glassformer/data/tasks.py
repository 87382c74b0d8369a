"""Pairs to translate that are made up, with known answers and known alignment.

    from glassformer.data import tasks
    tasks.write("dates", 5000, Path("dates.tsv"), seed=1)

The alignment says for each character of the target from which characters of the source it comes; none where
it comes from no place in particular."""

import random
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

from .. import output
from ..errors import unknown

Places = tuple[int, ...]
Piece = tuple[str, Places]
"""Characters of a target that all come from the same places."""


@dataclass(frozen=True)
class Example:
    """A pair; `alignment[t]` are the places in the source that character t of the target comes from."""

    source: str
    target: str
    alignment: tuple[Places, ...]

    def flipped(self) -> "Example":
        """Target to source: the alignment the other way round."""
        back: list[list[int]] = [[] for _ in self.source]
        for place, places in enumerate(self.alignment):
            for origin in places:
                back[origin].append(place)
        return Example(self.target, self.source, tuple(map(tuple, back)))


def _example(source: str, pieces: Sequence[Piece]) -> Example:
    target = "".join(text for text, _ in pieces)
    return Example(source, target, tuple(places for text, places in pieces for _ in text))


def copied(text: str) -> Example:
    return _example(text, [(letter, (i,)) for i, letter in enumerate(text)])


def reversed_(text: str) -> Example:
    return _example(text, [(text[i], (i,)) for i in reversed(range(len(text)))])


# Numbers

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_DIGITS = "零一二三四五六七八九"
NUMBERS = 10**12
"""Numbers in words lie below this."""


def _require_number(number: int) -> str:
    if not 0 <= number < NUMBERS:
        raise ValueError(f"numbers in words lie from 0 to {NUMBERS - 1}, not {number}")
    return str(number)


def _groups(digits: str, size: int) -> Iterator[tuple[int, list[int]]]:
    """The digits' places in groups of so many, from the left, each with its number, the last being 0."""
    first = len(digits) % size or size
    cuts = [0, *range(first, len(digits) + 1, size)]
    for i, (begin, end) in enumerate(pairwise(cuts)):
        yield len(cuts) - 2 - i, list(range(begin, end))


def english(number: int) -> Example:
    """123 -> one hundred twenty-three. A word comes from its digit, eleven to nineteen from both; hundred
    from the digit before it, thousand from all of its group. Raises ValueError outside 0 to 10^12 - 1."""
    digits = _require_number(number)
    if number == 0:
        return _example(digits, [("zero", (0,))])
    pieces: list[Piece] = []

    def say(word: str, places: Places, before: str = " ") -> None:
        if pieces:
            pieces.append((before, ()))
        pieces.append((word, places))

    for power, places in _groups(digits, 3):
        values = [0] * (3 - len(places)) + [int(digits[place]) for place in places]
        at = [-1] * (3 - len(places)) + places
        hundreds, tens, ones = values
        if hundreds:
            say(_ONES[hundreds], (at[0],))
            say("hundred", (at[0],))
        if tens == 1:
            say(_ONES[10 + ones], (at[1], at[2]))
        else:
            if tens:
                say(_TENS[tens], (at[1],))
            if ones:
                say(_ONES[ones], (at[2],), "-" if tens else " ")
        if power and any(values):
            say(("", "thousand", "million", "billion")[power], tuple(places))
    return _example(digits, pieces)


def chinese(number: int) -> Example:
    """123 -> 一百二十三. A digit and its 十, 百 or 千 come from the digit, 零 from the zeros that it stands
    for, 万 and 亿 from all of their group. Ten to nineteen begin with 十; two is 二 throughout. Raises
    ValueError outside 0 to 10^12 - 1."""
    digits = _require_number(number)
    if number == 0:
        return _example(digits, [("零", (0,))])
    pieces: list[Piece] = []
    zeros: list[int] = []
    for power, places in _groups(digits, 4):
        said = False
        for rank, place in zip(reversed(range(len(places))), places, strict=True):
            value = int(digits[place])
            if not value:
                zeros.append(place)
                continue
            if zeros and pieces:
                pieces.append(("零", tuple(zeros)))
            zeros, said = [], True
            if not (value == 1 and rank == 1 and not pieces):
                pieces.append((_DIGITS[value], (place,)))
            if rank:
                pieces.append((("", "十", "百", "千")[rank], (place,)))
        if power and said:
            pieces.append((("", "万", "亿")[power], tuple(places)))
            zeros = []  # those that end a group are not said: 一百二十万三千
    return _example(digits, pieces)


# Dates

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _ordinal(day: int) -> str:
    ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


_Parts = list[tuple[str, str]]  # a text, and which of year, month and day it says


def _forms(day: date) -> dict[str, _Parts]:
    y, d, name = (f"{day.year:04}", "y"), (str(day.day), "d"), (MONTHS[day.month - 1], "m")
    short, number, th = (name[0][:3], "m"), (str(day.month), "m"), (_ordinal(day.day), "d")
    week = (DAYS[day.weekday()] + ", ", "")
    return {
        "March 5, 2021": [name, (" ", ""), d, (", ", ""), y],
        "5 March 2021": [d, (" ", ""), name, (" ", ""), y],
        "5 Mar 2021": [d, (" ", ""), short, (" ", ""), y],
        "Mar 5th, 2021": [short, (" ", ""), th, (", ", ""), y],
        "the 5th of March 2021": [("the ", ""), th, (" of ", ""), name, (" ", ""), y],
        "Friday, 5 March 2021": [week, d, (" ", ""), name, (" ", ""), y],
        "5.3.2021": [d, (".", ""), number, (".", ""), y],
        "2021/3/5": [y, ("/", ""), number, ("/", ""), d],
        "2021年3月5日": [y, ("年", ""), number, ("月", ""), d, ("日", "")],
    }


FORMS = tuple(_forms(date(2021, 3, 5)))
"""The ways to write a date, each as it writes 2021-03-05."""


def dated(day: date, form: str) -> Example:
    """A date in one of FORMS -> ISO 8601. Each digit of the year comes from its own, month and day from all
    that says them."""
    source, at = "", {"": (0, 0)}
    for text, part in _forms(day)[form]:
        if part:
            at[part] = (len(source), len(source) + len(text))
        source += text
    year = [(digit, (at["y"][0] + i,)) for i, digit in enumerate(f"{day.year:04}")]
    month, of_day = (tuple(range(*at[part])) for part in "md")
    return _example(
        source, [*year, ("-", ()), (f"{day.month:02}", month), ("-", ()), (f"{day.day:02}", of_day)]
    )


# The two senses of "bank"

_WHO = {"I": "我", "we": "我们", "they": "他们", "you": "你", "my mother": "我母亲", "the old man": "老人"}
_WHEN = {"": "", "today ": "今天", "yesterday ": "昨天", "in the morning ": "早上"}
_MONEY = {
    "took money from the bank": ("从", "银行", "取了钱"),
    "put money in the bank": ("把钱存进", "银行", ""),
    "worked at the bank": ("在", "银行", "工作"),
    "opened an account at the bank": ("在", "银行", "开了户"),
    "borrowed money from the bank": ("向", "银行", "借了钱"),
}
_RIVER = {
    "sat on the bank of the river": ("坐在", "河岸", "上"),
    "fished from the bank of the river": ("在", "河岸", "上钓鱼"),
    "walked along the bank of the river": ("沿着", "河岸", "走"),
    "saw a boat by the bank": ("在", "河岸", "边看见一条船"),
    "pulled the boat onto the bank": ("把船拉上", "河岸", ""),
}


def banks() -> list[Example]:
    """All short sentences with "bank", 银行 or 河岸 by what else they say. Who, when and bank are aligned."""
    examples = []
    for when, when_zh in _WHEN.items():
        for who, who_zh in _WHO.items():
            for said, (before, bank, after) in (*_MONEY.items(), *_RIVER.items()):
                source = f"{when}{who} {said}"
                at = source.index("bank")
                person = tuple(range(len(when), len(when) + len(who)))
                time = tuple(range(len(when.rstrip())))
                pieces = [
                    (who_zh, person),
                    (when_zh, time),
                    (before, ()),
                    (bank, (at, at + 1, at + 2, at + 3)),
                ]
                examples.append(_example(source, [*pieces, (after, ())]))
    return examples


_MONEY_PLACES = {"bank": "银行", "shop": "商店", "school": "学校", "hotel": "旅馆", "office": "办公室"}
_RIVER_PLACES = {"bank": "河岸", "bridge": "桥", "island": "小岛", "rock": "岩石", "tree": "树"}
_AT_PLACES: tuple[tuple[dict[str, str], dict[str, tuple[str, str]]], ...] = (
    (
        _MONEY_PLACES,
        {
            "borrowed money from": ("从", " 借了 钱"),
            "paid at": ("在", " 付了 钱"),
            "put money into": ("把 钱 存进", ""),
        },
    ),
    (
        _RIVER_PLACES,
        {
            "fished near": ("在", " 附近 钓鱼"),
            "saw a boat by": ("在", " 旁边 看见 一条 船"),
            "rowed to": ("划船 到", ""),
        },
    ),
)


def places() -> list[Example]:
    """As `banks`, for words as tokens: they are divided by spaces, and other places stand where "bank" does,
    so that what is written there depends on it. Who, when and the place are aligned."""
    examples = []
    for when, when_zh in _WHEN.items():
        for who, who_zh in _WHO.items():
            for where, said in _AT_PLACES:
                for what, (before, after) in said.items():
                    for place, place_zh in where.items():
                        source = f"{when}{who} {what} the {place}"
                        person = tuple(range(len(when), len(when) + len(who)))
                        time = tuple(range(len(when.rstrip())))
                        at = tuple(range(len(source) - len(place), len(source)))
                        pieces: list[Piece] = [(who_zh, person), (" ", ())]
                        pieces += [(when_zh, time), (" ", ())] if when else []
                        pieces += [(f"{before} ", ()), (place_zh, at), (after, ())]
                        examples.append(_example(source, pieces))
    return examples


# All by name


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase[:10], k=chance.randint(1, 8)))


def _number(chance: random.Random) -> int:
    return chance.randrange(10 ** chance.randint(1, 5))


def _date(chance: random.Random) -> Example:
    day = date(1900, 1, 1) + timedelta(days=chance.randrange(200 * 365))
    return dated(day, chance.choice(FORMS))


TASKS: dict[str, Callable[[random.Random], Example]] = {
    "copy": lambda chance: copied(_text(chance)),
    "reverse": lambda chance: reversed_(_text(chance)),
    "english": lambda chance: english(_number(chance)),
    "from-english": lambda chance: english(_number(chance)).flipped(),
    "chinese": lambda chance: chinese(_number(chance)),
    "from-chinese": lambda chance: chinese(_number(chance)).flipped(),
    "dates": _date,
    "bank": lambda chance: chance.choice(banks()),
    "places": lambda chance: chance.choice(places()),
}
"""Each draws one example."""


def examples(task: str, count: int, seed: int = 0) -> list[Example]:
    """So many examples of a task, the same for the same seed. Raises UserError for an unknown task."""
    if task not in TASKS:
        raise unknown("task", task, TASKS)
    chance = random.Random(seed)
    return [TASKS[task](chance) for _ in range(count)]


def write(task: str, count: int, path: Path, seed: int = 0) -> None:
    """A file of `source<TAB>target` lines."""
    lines = (f"{example.source}\t{example.target}\n" for example in examples(task, count, seed))
    output.write_text(path, "".join(lines))
