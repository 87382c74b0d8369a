"""C4: a source in one vector of fixed size is a bottleneck."""

import random
from functools import partial

import numpy as np

from ..decoding.translate import translate
from ..texts import Text, number
from ..training.quiet import translator
from . import translations
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, spread
from .statistics import Mean, mean

LETTERS, LONGEST, PAIRS = "abcdefgh", 12, 20_000
LENGTHS, EACH = (4, 6, 8, 10, 12), 100
SETTINGS = ("d_model=32", "lr=0.005", "batch_size=1024", "context=20", "valid_fraction=0")
SLIGHT = 0.05  # share of the letters: a fall that is surely no larger is none to speak of

NAMES = {"none": Text("没有注意力", "without attention"), "additive": Text("有注意力", "with attention")}


def measure(work: Work) -> Measured:
    """For both models, each seed and each length: the shares of right letters and of right answers; and what
    `translations` measures, where runs of it are given."""
    asked = [translations.asked(*three) for three in work.given.translators]
    steps, seeds = work.choose(400, 1200), work.choose(range(2), range(4))
    runs = work.table(NAMES, seeds, partial(_by_length, steps))
    real = [translations.translated(work, each) for each in asked]
    return {"steps": steps, "lengths": LENGTHS, **runs, "translated": real}


def _by_length(steps: int, attention: str, seed: int) -> dict[str, list[float]]:
    """Train a model to write letters backwards, each length up to LONGEST as often as any other, and ask it
    EACH texts of some lengths that it did not learn from."""
    chance = random.Random(seed)

    def drawn(length: int) -> str:
        return "".join(chance.choices(LETTERS, k=length))

    texts = [drawn(chance.randint(1, LONGEST)) for _ in range(PAIRS)]
    assignments = [*SETTINGS, f"steps={steps}", f"seed={seed}", f"attention={attention}"]
    model, tokenizer = translator([(text, text[::-1]) for text in texts], assignments)
    seen, letters, answers = set(texts), [], []
    for length in LENGTHS:
        asked: list[str] = []
        while len(asked) < EACH:
            if (text := drawn(length)) not in seen:
                asked.append(text)
        pairs = [(text[::-1], a) for text, a in zip(asked, translate(model, tokenizer, asked), strict=True)]
        letters.append(sum(sum(map(str.__eq__, true, a)) for true, a in pairs) / (EACH * length))
        answers.append(sum(true == a for true, a in pairs) / EACH)
    return {"letters": letters, "answers": answers}


def _falls(measured: Measured, name: str) -> list[float]:
    """What each seed's share of right letters loses from the shortest to the longest texts."""
    return [run["letters"][0] - run["letters"][-1] for run in measured[name]]


def judge(measured: Measured) -> Judgement:
    """It holds if the share of right letters falls without attention, surely and by more than SLIGHT, and
    with attention surely less than half as much."""
    none, additive = (_falls(measured, name) for name in NAMES)
    fall, kept = mean(none), mean(additive)
    spared = mean([a - 2 * b for a, b in zip(none, additive, strict=True)])
    holds = fall.low > SLIGHT and spared.low > 0
    first, last = measured["lengths"][0], measured["lengths"][-1]
    shares = {name: [_of(measured, name, "letters", k) for k in (0, -1)] for name in NAMES}
    whole = {name: _of(measured, name, "answers", -1) for name in NAMES}
    real = translations.told(measured["translated"])
    found = Text(
        f"训练 {measured['steps']:,} 步后，{first} 个字母时，没有注意力写对 {_percent(shares['none'][0])} 的"
        f"字母，有注意力写对 {_percent(shares['additive'][0])}；{last} 个字母时分别为 "
        f"{_percent(shares['none'][1])} 和 {_percent(shares['additive'][1])}，全部写对的回答分别占 "
        f"{_percent(whole['none'])} 和 {_percent(whole['additive'])}。{real.zh}",
        f"After {measured['steps']:,} steps, of {first} letters {_percent(shares['none'][0])} are right "
        f"without attention and {_percent(shares['additive'][0])} with it; of {last} letters "
        f"{_percent(shares['none'][1])} and {_percent(shares['additive'][1])}, and all of them in "
        f"{_percent(whole['none'])} and {_percent(whole['additive'])} of the answers. {real.en}",
    )
    if holds:
        return Judgement(Verdict.HOLDS, found)
    if measured["quick"]:
        return Judgement(Verdict.UNDECIDED, found)
    reason = Text(
        f"没有注意力时下降 {_percent(fall.mean)}（95 % 区间 {_interval(fall)}），"
        f"有注意力时下降 {_percent(kept.mean)}（{_interval(kept)}）。",
        f"Without attention it falls by {_percent(fall.mean)} (interval of 95 %: {_interval(fall)}), with "
        f"attention by {_percent(kept.mean)} ({_interval(kept)}).",
    )
    return Judgement(Verdict.FAILS, found, reason)


def _of(measured: Measured, name: str, what: str, k: int) -> float:
    return float(np.mean([run[what][k] for run in measured[name]]))


def _percent(share: float) -> str:
    return f"{number(100 * share, 1, given=True)} %"


def _interval(found: Mean) -> str:
    return f"{number(100 * found.low, 1)} – {number(100 * found.high, 1)} %"


def figures(measured: Measured) -> tuple[Figure, ...]:
    of_letters = tuple(
        Figure(
            title,
            Text("源文本的字母数", "letters of the source"),
            Text("比例", "share"),
            tuple(
                spread(title, measured["lengths"], _by_seed(measured, name, what), within=(0, 1))
                for name, title in NAMES.items()
            ),
        )
        for what, title in (
            ("letters", Text("写对的字母", "Letters written right")),
            ("answers", Text("完全写对的回答", "Answers that are right throughout")),
        )
    )
    return of_letters + translations.curves(measured["translated"], NAMES)


def _by_seed(measured: Measured, name: str, what: str) -> list[tuple[float, ...]]:
    """At each length the shares of all seeds."""
    return list(zip(*(run[what] for run in measured[name]), strict=True))


CLAIM = Claim(
    "C4",
    Text("固定长度的向量是瓶颈", "One vector is a bottleneck"),
    Text(
        "编码器只把一个固定大小的向量交给解码器时，文本越长，效果越差；有注意力时，下降要小得多。",
        "Where the encoder hands the decoder one vector of fixed size, the longer the text, the worse the "
        "result; with attention it is much less so.",
    ),
    Text(
        "两个宽度相同的编码器—解码器，一个没有注意力，一个有（参数因此多六成），用同样的文本、步数和学习"
        f"率，学习把 1 到 {LONGEST} 个字母倒着写；再各用 {EACH} 段没见过的文本，按长度看写对了多少，长度都在"
        "训练过的范围之内。写对的字母若不随长度减少，或有注意力时减少的超过没有注意力时的一半，就不成立。误"
        "差线是各个种子的 95 % 区间。真实翻译另测，不影响结论：用 --translators 给出两个学过同样句对、只在注"
        "意力上不同的模型，看它们没学过的句对的 BLEU 怎样随原文长度变化；误差线是对行做自助法的 95 % 区间。",
        "Two encoder-decoders of one width, one without attention and one with it, and so with 60 % more "
        "parameters, learn from the same texts, in as many steps and at the same rate, to write 1 to "
        f"{LONGEST} letters backwards. Then {EACH} new texts of each length, all within what they learned, "
        "show how much is right. It does not hold if the share of right letters does not fall, or falls "
        "with attention by more than half as much. Bars are intervals of 95 % over seeds. Real translations "
        "are told beside it and do not decide: --translators names two runs that differ in attention alone "
        "and learned from the same pairs, and pairs that are new to them; BLEU by the length of the source, "
        "with intervals of 95 % by drawing lines again.",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
