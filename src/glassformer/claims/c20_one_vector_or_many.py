"""C20: static vectors are one per word; what attention makes of a word depends on its context."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..data.spaced import SpacedWords
from ..glass.trace import trace
from ..models import GPT, Bert, BertConfig, GPTConfig
from ..nn.blocks import initialise
from ..texts import Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import NOT_NEGATIVE, Figure, Series, spread
from .statistics import mean

CHANGED = 1e-6  # of a vector's length: far more than rounding in float64, far less than any effect here


class Pair(NamedTuple):
    """One word at the same place of two texts with equally many words, which are divided by spaces."""

    word: str
    first: str
    second: str


RIGHT = (
    Pair("苹果", "苹果 发布会 开始 了", "苹果 真 甜 啊"),
    Pair("小米", "小米 手机 降价 了", "小米 粥 很 香"),
    Pair("杜鹃", "杜鹃 在 枝头 啼叫", "杜鹃 开满 了 山坡"),
    Pair("黄牛", "黄牛 倒卖 演唱会 门票", "黄牛 在 田里 耕地"),
    Pair("bank", "bank loans became cheaper", "bank erosion widened rivers"),
    Pair("spring", "spring came very early", "spring steel bends back"),
    Pair("bats", "bats sleep all day", "bats splinter when dropped"),
    Pair("light", "light travels in waves", "light luggage saves money"),
)
"""The word comes first, and what follows differs."""

LEFT = (
    Pair("苹果", "会上 发布 的 苹果", "树上 结 的 苹果"),
    Pair("小米", "新款 手机 是 小米", "今年 种 的 小米"),
    Pair("杜鹃", "枝头 啼叫 的 杜鹃", "山坡 盛开 的 杜鹃"),
    Pair("黄牛", "倒卖 门票 的 黄牛", "田里 耕地 的 黄牛"),
    Pair("bank", "she robbed the bank", "otters climbed the bank"),
    Pair("spring", "a rusty metal spring", "a warm early spring"),
    Pair("bats", "owls hunt small bats", "players swing wooden bats"),
    Pair("light", "the red traffic light", "her bag felt light"),
)
"""The word comes last, and what precedes it differs."""

PAIRS = {"right": RIGHT, "left": LEFT}
SEEDS = 10
SHAPE: dict[str, Any] = {"context": 8, "n_layers": 4, "n_heads": 4, "d_model": 128}


def measure(work: Work) -> Measured:
    """Distances between a pair's two vectors of the word, over the mean of their lengths."""
    seeds = work.choose(4, SEEDS)
    return {
        "words": {side: [pair.word for pair in pairs] for side, pairs in PAIRS.items()},
        "seeds": work.parts("seed", range(seeds), _distances),
    }


def _distances(seed: int) -> dict[str, dict[str, list[float]]]:
    """For either side and each machine, the distance of each pair. In float64, so that what is no rounding
    stands far above it."""
    torch.manual_seed(seed)
    tokenizer = SpacedWords.learn(text for pairs in PAIRS.values() for pair in pairs for text in pair[1:])
    encoder = Bert(BertConfig(tokenizer.vocab_size, **SHAPE)).double().eval()
    decoder = GPT(GPTConfig(tokenizer.vocab_size, **SHAPE)).double().eval()
    for model in (encoder, decoder):
        initialise(model, SHAPE["n_layers"], None)
    static = encoder.embedding.weight.detach()
    found: dict[str, dict[str, list[float]]] = {}
    for side, pairs in PAIRS.items():
        found[side] = {"static": [], "encoder": [], "causal": []}
        for pair in pairs:
            texts = [[int(i) for i in tokenizer.encode(text)] for text in pair[1:]]
            at = texts[0].index(int(tokenizer.encode(pair.word)[0]))
            found[side]["static"].append(distance(*(static[ids[at]] for ids in texts)))
            for name, reader in (("encoder", encoder), ("causal", decoder)):
                vectors = [trace(reader, ids, "final")["final"][0, at] for ids in texts]
                found[side][name].append(distance(*vectors))
    return found


def distance(a: Tensor, b: Tensor) -> float:
    """The distance of two vectors over the mean of their lengths."""
    return float(2 * (a - b).norm() / (a.norm() + b.norm()))


def _spread(measured: Measured, side: str, machine: str) -> list[list[float]]:
    """Distances by pair and seed."""
    return [list(pair) for pair in zip(*(seed[side][machine] for seed in measured["seeds"]), strict=True)]


def judge(measured: Measured) -> Judgement:
    """It holds if static vectors, and a first word's under a causal mask, are at distance exactly 0, and all
    others' intervals over the seeds lie above CHANGED."""

    def same(side: str, machine: str) -> bool:
        return not any(d for pair in _spread(measured, side, machine) for d in pair)

    def changed(side: str, machine: str) -> bool:
        return all(mean(pair).low > CHANGED for pair in _spread(measured, side, machine))

    def about(side: str, machine: str) -> str:
        return number(mean([d for pair in _spread(measured, side, machine) for d in pair]).mean, 3)

    def greatest(side: str, machine: str) -> str:
        return number(max(d for pair in _spread(measured, side, machine) for d in pair), 3, given=True)

    still = same("right", "static") and same("left", "static") and same("right", "causal")
    moved = all(changed(*which) for which in (("right", "encoder"), ("left", "encoder"), ("left", "causal")))
    found = Text(
        f"同一个词、同一个位置，两个上下文。静态向量的距离最大 {greatest('right', 'static')}；"
        f"双向编码器之后，句首的词平均相距 {about('right', 'encoder')}（以向量长度为单位），句末的词 "
        f"{about('left', 'encoder')}；因果掩码下，"
        f"句首的词最大 {greatest('right', 'causal')}，句末的词平均 {about('left', 'causal')}。"
        "权重是随机的：这说明上下文进得来，不说明词义已经分得开。",
        "One word at one place, two contexts. Static vectors are at most "
        f"{greatest('right', 'static')} apart; after a bidirectional encoder a first word is "
        f"{about('right', 'encoder')} apart on average, in lengths of a vector, a last one "
        f"{about('left', 'encoder')}; under a causal mask a first word at most "
        f"{greatest('right', 'causal')}, a last one {about('left', 'causal')} on average. The weights are "
        "random: context comes in, which is not to say that senses are told apart.",
    )
    return Judgement(Verdict.HOLDS if still and moved else Verdict.FAILS, found)


def figures(measured: Measured) -> tuple[Figure, ...]:
    titles = {
        "right": Text("句首的词，后文不同", "The first word, with different words after it"),
        "left": Text("句末的词，前文不同", "The last word, with different words before it"),
    }
    labels = {
        "static": Text("静态词向量", "static word vectors"),
        "encoder": Text("双向编码器之后（95 % 区间）", "after a bidirectional encoder (interval of 95 %)"),
        "causal": Text("因果掩码下（95 % 区间）", "under a causal mask (interval of 95 %)"),
    }

    def series(side: str, machine: str) -> Series:
        pairs = _spread(measured, side, machine)
        return spread(labels[machine], range(len(pairs)), pairs, within=NOT_NEGATIVE, joined=False)

    return tuple(
        Figure(
            title,
            Text("词", "word"),
            Text("两个向量的距离（以向量长度为单位）", "distance of the two vectors, in lengths of one"),
            tuple(series(side, machine) for machine in labels),
            x_names=tuple(Text(word, word) for word in measured["words"][side]),
        )
        for side, title in titles.items()
    )


CLAIM = Claim(
    "C20",
    Text("一词一向量，还是随上下文变", "One vector a word, or one a context"),
    Text(
        "静态词向量一词一个；注意力的输出随上下文而变：“苹果发布会”和“苹果真甜”里的“苹果”，"
        "经过双向编码器就不同了。因果掩码下，句首的词看不到后文，距离恰为 0；前文不同，就不再是 0。",
        "A static vector is one per word; attention's outputs depend on context: bank in “bank loans” and "
        "“bank erosion” differs after a bidirectional encoder. Under a causal mask a first word, which "
        "cannot see what follows, stays at distance exactly 0; a word with different words before it does "
        "not.",
    ),
    Text(
        f"中英文各四个多义词，每个放进两对等长的句子，位置相同；{SEEDS} 组随机权重的 Bert 与 GPT，float64。"
        f"该为 0 的只要有一个不是 0，或该变的区间不高于 {CHANGED:g}，就不成立。",
        "Four ambiguous words of Chinese and four of English, each at the same place in two pairs of texts "
        f"of equal length; BERTs and GPTs with random weights of {SEEDS} seeds, in float64. It does not hold "
        f"if a distance that should be 0 is not, or the interval of another is not above {CHANGED:g}.",
    ),
    measure,
    judge,
    figures,
)
