"""What C4 reads of translators that were trained on real pairs: BLEU by the length of the source.

A run without attention and one with it translate pairs that neither has learned from. Intervals of 95 % are
of the bootstrap over lines (Koehn 2004); both runs are asked the same lines, and drawn with the same ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import config
from ..data import parallel
from ..data.parallel import Pair
from ..decoding.scores import bleu, bleu_counts, length_groups
from ..decoding.translate import translate
from ..errors import UserError
from ..store.run import Checkpoint, Run
from ..texts import Text, number
from ..training.folder import DATA
from .claim import Work, name_of
from .figure import Figure, Series
from .statistics import bootstrap

BEAM = 5
ENOUGH = 50  # lines of one length: of fewer no share is told
COUNTS = 10  # that make a BLEU
NAMES = ("none", "additive")
"""The runs, as C4 calls those that it trains."""

Translated = dict[str, Any]
Counts = NDArray[np.int64] | NDArray[np.float64]
"""What makes a BLEU, by line; drawn again, as floats."""


@dataclass(frozen=True)
class Asked:
    """Two runs that differ in attention alone, without it and with it, and pairs of a file that are new to
    them."""

    runs: tuple[Checkpoint, Checkpoint]
    file: Path
    pairs: list[Pair]


def asked(without: Path, beside: Path, file: Path) -> Asked:
    """What is to be translated. Raises UserError for runs that differ in more than attention or learned from
    other pairs, and for a file of which they have learned from every source."""
    runs = Run(without).checkpoint(), Run(beside).checkpoint()
    _require_alike(*runs)
    learned = parallel.load(without / DATA).pairs
    if learned != parallel.load(beside / DATA).pairs:
        raise UserError(f"{without} and {beside} learned from different pairs; train both from the same")
    known = {pair.source for pair in learned}
    pairs = [pair for pair in parallel.read([file]) if pair.source not in known]
    if not pairs:
        raise UserError(
            f"{file}: the runs have learned from all of its sources; give pairs that they have not"
        )
    return Asked(runs, file, pairs)


def translated(work: Work, asked: Asked) -> Translated:
    """Both runs' BLEU, by the length of the source, with intervals; and of each what is left of its BLEU from
    the length at which the run with attention is best to the longest."""
    sources, references = zip(*asked.pairs, strict=True)

    def write(part: tuple[int, str]) -> list[str]:
        run = asked.runs[part[0]]
        return translate(run.translator(), run.tokenizer(), sources, beam=BEAM)

    parts = [(k, f"{run.folder} {asked.file}") for k, run in enumerate(asked.runs)]
    written = work.parts("translations", parts, write)
    counts = {name: bleu_counts(lines, references) for name, lines in zip(NAMES, written, strict=True)}
    what, groups = length_groups(sources)
    return {
        "pairs": name_of(asked.file),
        "lines": len(sources),
        "length": what,
        "groups": [(low, high, len(some)) for low, high, some in groups],
        "tokens": {name: _tokens(run) for name, run in zip(NAMES, asked.runs, strict=True)},
        "bleu": {
            name: [bootstrap(of[some], _bleu_of_lines) for _, _, some in groups]
            for name, of in counts.items()
        },
        "left": _left(counts["none"], counts["additive"], [some for _, _, some in groups]),
    }


def _require_alike(without: Checkpoint, beside: Checkpoint) -> None:
    """Raise UserError unless two runs are a fair pair."""
    for run in (without, beside):
        if run.family != "seq2seq":
            raise UserError(f"{run.folder.parent} is no run of train --model seq2seq")
        _tokens(run)
    shapes = [config.to_dict(run.shape) for run in (without, beside)]
    kinds = [shape.pop("attention") for shape in shapes]
    if (kinds[0] == "none", kinds[1] == "none") != (True, False):
        raise UserError(
            f"{without.folder.parent} has attention={kinds[0]}, {beside.folder.parent} attention={kinds[1]}: "
            "the first must be a run with attention=none, the second one with attention"
        )
    differing = [f"{name}={value}" for name, value in shapes[0].items() if shapes[1][name] != value]
    if differing:
        raise UserError(
            f"{without.folder.parent} has {', '.join(differing)}, {beside.folder.parent} not: "
            "two runs must differ in attention alone"
        )


def _tokens(run: Checkpoint) -> int:
    """How many tokens of targets a run learned from until this checkpoint. Raises UserError where it does not
    say."""
    progress = run.settings.get("progress")
    tokens = progress.get("tokens") if isinstance(progress, dict) else None
    if type(tokens) is not int or not 0 <= tokens < 10**15:
        raise UserError(f"{run.folder}/config.json does not say how many tokens it learned from")
    return tokens


def _bleu_of_lines(counts: Counts) -> float:
    return bleu(counts.sum(0).astype(int))


def _left(none: Counts, additive: Counts, groups: Sequence[Sequence[int]]) -> Any:
    """From which group to which, each model's share that is left, and the difference of the two with its
    interval; None where no group of ENOUGH lines is longer than the best, or a model gets nothing right in
    that one."""
    large = [k for k, some in enumerate(groups) if len(some) >= ENOUGH]
    if not large:
        return None
    best = max(large, key=lambda k: _bleu_of_lines(additive[groups[k]]))
    written = [of[groups[best]] for of in (none, additive)]
    if best == large[-1] or not all(map(_bleu_of_lines, written)):
        return None
    # A group, and what was counted for both models: lines are drawn once for both.
    rows = np.concatenate(
        [
            np.column_stack([np.full(len(groups[k]), k), none[groups[k]], additive[groups[k]]])
            for k in (best, large[-1])
        ]
    )

    def shares(drawn: Counts) -> list[float]:
        found = []
        for first in (1, 1 + COUNTS):
            short, long = (
                _bleu_of_lines(drawn[drawn[:, 0] == k, first : first + COUNTS]) for k in (best, large[-1])
            )
            found.append(long / short if short else float("nan"))
        return found

    def difference(drawn: Counts) -> float:
        less, more = shares(drawn)
        return more - less

    return {
        "from": best,
        "to": large[-1],
        **dict(zip(NAMES, shares(rows), strict=True)),
        "gain": bootstrap(rows, difference),
    }


def told(found: Sequence[Translated]) -> Text:
    """What C4 says of them."""
    if not found:
        return Text(
            "没有给出训练好的翻译模型，真实的翻译未测。",
            "No trained translators were given: real translations are not measured.",
        )
    each = [_told(one) for one in found]
    return Text("".join(text.zh for text in each), " ".join(text.en for text in each))


def _told(one: Translated) -> Text:
    left, file, lines = one["left"], one["pairs"], f"{one['lines']:,}"
    if left is None:
        return Text(
            f"{file}：长句不足 {ENOUGH} 行，或有一个模型什么也没译对，不作数。",
            f"{file}: too few long lines to tell of, or a model that gets nothing right.",
        )
    short, long = (_range(one["groups"][left[k]]) for k in ("from", "to"))
    none, additive = (
        [f"{number(one['bleu'][name][left[k]][0], 1)}" for k in ("from", "to")] for name in NAMES
    )
    shares = [f"{number(100 * left[name], 0)} %" for name in NAMES]
    more, low, high = (number(100 * value, 1) for value in left["gain"])
    tokens = [one["tokens"][name] for name in NAMES]
    in_zh, in_en = [f"{number(n / 1e4, 0)} 万" for n in tokens], [number(n / 1e6, 1) for n in tokens]
    return Text(
        f"真实的翻译（{file}，{lines} 行）：原文从 {short} 个{_UNIT[one['length']].zh}（有注意力时翻得最好的"
        f"一组）到 {long} 个，BLEU 没有注意力时从 {none[0]} 降到 {none[1]}，剩 {shares[0]}；有注意力时从 "
        f"{additive[0]} 降到 {additive[1]}，剩 {shares[1]}，多剩 {more} 个百分点（95 % 区间 {low} … "
        f"{high}）。前者训练了 {in_zh[0]}个词元，后者 {in_zh[1]}个。",
        f"Real translations ({file}, {lines} lines): from sources of {short} {_UNIT[one['length']].en}, the "
        f"best group with attention, to those of {long}, BLEU falls without attention from {none[0]} to "
        f"{none[1]}, which is {shares[0]} of it, with attention from {additive[0]} to {additive[1]}, which "
        f"is {shares[1]}: {more} percentage points more (interval of 95 %: {low} … {high}). The one had "
        f"learned from {in_en[0]} million tokens, the other from {in_en[1]}.",
    )


_UNIT = {"words": Text("词", "words"), "characters": Text("字", "characters")}


def _range(group: tuple[int, int | None, int]) -> str:
    low, high, _ = group
    return f"{low}+" if high is None else f"{low}–{high}"


def curves(found: Sequence[Translated], titles: Mapping[str, Text]) -> tuple[Figure, ...]:
    """BLEU by length, a figure for each file; `titles` of the two runs."""
    return tuple(
        Figure(
            Text(f"真实翻译的 BLEU：{one['pairs']}", f"BLEU of real translations: {one['pairs']}"),
            Text(f"原文有多少个{_UNIT[one['length']].zh}", f"{_UNIT[one['length']].en} of the source"),
            Text("BLEU", "BLEU"),
            tuple(_series(title, one["bleu"][name]) for name, title in titles.items()),
            x_names=tuple(Text(_range(group), _range(group)) for group in one["groups"]),
        )
        for one in found
    )


def _series(title: Text, means: Sequence[Sequence[float]]) -> Series:
    y, low, high = zip(*means, strict=True)
    return Series(title, range(len(y)), y, low, high)
