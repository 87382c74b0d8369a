"""C1: predicting contexts yields meaning."""

from functools import partial
from pathlib import Path
from typing import Any

from ..data import manual
from ..data.questions import known_analogies
from ..store.vectors import word_vectors
from ..texts import Text, number
from ..training import vectors
from ..training.quiet import finished
from . import words
from .claim import Claim, Judgement, Measured, Verdict, Work, name_of
from .figure import Figure, Series, spread
from .statistics import Mean, mean

SENTENCES = 5_000  # of the language
ENOUGH = 500  # known analogies: of fewer nothing is told
COMMON = ("subsample=0", "batch_size=2048", "lr=0.1")
LANGUAGE = ("d_model=16", "window=4", "min_count=1", "breaks=lines", "epochs=4")
MANUAL = ("d_model=50", "window=4", "min_count=5", "subsample=1e-3", "lr=0.05")

WAYS = {
    "trained": Text("学出来的词向量", "trained vectors"),
    "ppmi": Text("计数：PPMI + SVD", "counting: PPMI + SVD"),
    "counts": Text("计数：原始共现次数", "counting: raw co-occurrences"),
}


def measure(work: Work) -> Measured:
    """For each seed and each of WAYS what `words` measures, on a language of our own and on Python's manual;
    and the analogies of published vectors, if a file of them is given."""
    given = published(*work.given.published) if work.given.published else None
    seeds = work.choose(range(4), range(8))
    epochs = work.choose(10, 20)
    return {
        "sentences": SENTENCES,
        "epochs": epochs,
        "asked": len(words.analogies()),
        "chance": words.chance_of_nouns(),
        **work.table(("language", "manual"), seeds, partial(_vectors_of, epochs)),
        "published": given,
    }


def _vectors_of(epochs: int, text: str, seed: int) -> dict[str, dict[str, float]]:
    """Vectors of one of the two texts, made in each of WAYS, and what is measured of them."""
    settings = [*COMMON, f"seed={seed}"]
    if text == "language":
        training = finished(vectors.begun, words.language(seed, SENTENCES), [*settings, *LANGUAGE])
    else:
        training = finished(vectors.begun, manual.text(), [*settings, *MANUAL, f"epochs={epochs}"])
    model: Any = training.model
    vocabulary: Any = training.tokenizer
    task: Any = training.task
    counts = words.counted(task.stretches.tokens, vocabulary.end, model.config.window)
    table = model.embedding.weight.detach().double().numpy()[: vocabulary.end]
    asked = words.on_nouns if text == "language" else words.on_classes
    return {name: asked(space) for name, space in words.ways(vocabulary.words, table, counts).items()}


def published(file: Path, questions: Path) -> dict[str, Any]:
    """The analogies of a file that published vectors answer right, and how many the word nearest to c alone;
    `gain` is the difference with its interval."""
    space = word_vectors(file)
    known_q4, asked = known_analogies(space, questions)
    right, near = (
        (space.answers(known_q4[:, :3], offset=offset) == known_q4[:, 3]).astype(float)
        for offset in (True, False)
    )
    told = {
        "vectors": name_of(file),
        "questions": name_of(questions),
        "asked": asked,
        "covered": len(known_q4),
    }
    if len(known_q4) < ENOUGH:
        return told
    return {
        **told,
        "right": right.mean(),
        "without_offset": near.mean(),
        "gain": mean((right - near).tolist()),
    }


def _over(measured: Measured, part: str, way: str, what: str) -> Mean:
    """A measure's mean and interval over seeds."""
    return mean([run[way][what] for run in measured[part]])


def judge(measured: Measured) -> Judgement:
    """It holds if trained vectors are, surely, more alike the more features words share; have the nearest
    words share more than chance, in the language and in the manual; and answer more analogies with b - a + c
    than with c alone, published vectors too, if there are any. Within similarity, if only analogies fail."""
    similarity, nearest, right, near = (
        _over(measured, "language", "trained", what)
        for what in ("similarity", "nearest", "analogies", "without_offset")
    )
    in_manual = _over(measured, "manual", "trained", "nearest")
    by_chance = _over(measured, "manual", "trained", "chance").mean
    gain = mean(
        [run["trained"]["analogies"] - run["trained"]["without_offset"] for run in measured["language"]]
    )
    given = measured["published"]
    alike = similarity.low > 0 and nearest.low > measured["chance"] and in_manual.low > by_chance
    analogous = gain.low > 0 and not (given and "gain" in given and given["gain"][1] <= 0)
    alike_by, near_by = (
        [_over(measured, part, way, what).mean for way in ("ppmi", "counts")]
        for part, what in (("language", "similarity"), ("manual", "nearest"))
    )
    known = f"{measured['asked']:,}"
    found = Text(
        f"自己训练的词向量：余弦与共有特征数的秩相关为 {number(similarity.mean, 2)}（计数法：PPMI + SVD "
        f"{number(alike_by[0], 2)}，原始共现次数 {number(alike_by[1], 2)}）；Python 手册里 "
        f"{_percent(in_manual.mean)} 的词与最近邻同类（计数法 {_percent(near_by[0])} 和 "
        f"{_percent(near_by[1])}，随机 {_percent(by_chance)}）；{known} 道类比题答对 "
        f"{_percent(right.mean)}（a、b、c 已知，取离 b − a + c 最近的词），只取离 c 最近的词则为 "
        f"{_percent(near.mean)}。{_of_published(given).zh}",
        "Vectors trained here: the rank correlation of cosines with shared features is "
        f"{number(similarity.mean, 2)} (counting, PPMI + SVD: {number(alike_by[0], 2)}; raw co-occurrences: "
        f"{number(alike_by[1], 2)}); in Python's manual {_percent(in_manual.mean)} of the words have a "
        f"nearest one of their class (counting {_percent(near_by[0])} and {_percent(near_by[1])}, chance "
        f"{_percent(by_chance)}); of {known} analogies, a to b as c to what, "
        f"{_percent(right.mean)} come out by b − a + c, {_percent(near.mean)} if the word nearest to c is "
        f"taken. {_of_published(given).en}",
    )
    if alike and analogous:
        return Judgement(Verdict.HOLDS, found)
    if measured["quick"]:
        return Judgement(Verdict.UNDECIDED, found)
    if alike:
        reason = Text(
            "b − a + c 答对的类比题，并不确定地多于离 c 最近的词。",
            "Analogies do not surely come out more often by b − a + c than by the word nearest to c.",
        )
        return Judgement(Verdict.WITHIN, found, reason, Text("相似度上", "similarity"))
    return Judgement(Verdict.FAILS, found)


def _percent(share: float) -> str:
    return f"{number(100 * share, 0)} %"


def _of_published(given: dict[str, Any] | None) -> Text:
    """What is told of published vectors."""
    if given is None:
        return Text(
            "没有给出公开发布的词向量文件，这一部分未测。",
            "No file of published vectors was given: that part is not measured.",
        )
    covered, asked, name = f"{given['covered']:,}", f"{given['asked']:,}", given["vectors"]
    if "gain" not in given:
        return Text(
            f"{name}：{asked} 道类比题里只认得 {covered} 道，不足 {ENOUGH} 道，不作数。",
            f"{name}: not covered, with {covered} of {asked} analogies known and {ENOUGH} needed.",
        )
    right, near = (f"{number(100 * given[what], 1)} %" for what in ("right", "without_offset"))
    return Text(
        f"{name}：认得的 {covered} 道类比题答对 {right}，只取离 c 最近的词则为 {near}。",
        f"{name}: of {covered} known analogies {right} come out, {near} if the word nearest to c is taken.",
    )


def figures(measured: Measured) -> tuple[Figure, ...]:
    asked = (
        ("language", "similarity", Text("相似度", "similarity")),
        ("language", "nearest", Text("近邻", "neighbours")),
        ("manual", "nearest", Text("近邻（手册）", "neighbours (manual)")),
        ("language", "analogies", Text("类比", "analogies")),
    )
    series = []
    for way, title in WAYS.items():
        found = [[run[way][what] for run in measured[part]] for part, what, _ in asked]
        series.append(spread(title, range(len(asked)), found, within=(-1, 1), joined=False))
    control = (
        *(0.0, measured["chance"], _over(measured, "manual", "trained", "chance").mean),
        _over(measured, "language", "trained", "without_offset").mean,
    )
    label = Text("对照：随机；类比为离 c 最近的词", "control: chance; for analogies the word nearest to c")
    series.append(Series(label, range(len(asked)), control, joined=False))
    return (
        Figure(
            Text("词向量说对了多少", "What word vectors get right"),
            Text("测什么", "what is measured"),
            Text("相关系数，或答对的比例", "correlation, or share that is right"),
            tuple(series),
            x_names=tuple(title for *_, title in asked),
        ),
    )


CLAIM = Claim(
    "C1",
    Text("预测上下文，得到词义", "Meaning from predicting contexts"),
    Text(
        "只靠预测上下文训练的词向量，意思相近的词彼此靠近，词义的差别成为方向，可以做类比。",
        "Vectors that only learned to predict contexts lie near each other where words mean alike, and "
        "differences of meaning are directions, which answer analogies.",
    ),
    Text(
        "两部分，分开报告。一、自己训练：在一种词义已知的人造语言上，看余弦是否随共有特征增多而变大、近邻对"
        "不对、类比题答对多少；在 Python 自带的手册上，看近邻是否同类。与数共现次数的做法相比。二、公开发布"
        f"的词向量：用 --published 给出文件，测类比。认得的类比题不到 {ENOUGH} 道，就不说答对多少。误差线是各"
        "个种子的 95 % 区间。",
        "Two parts, told apart. Trained here: on a language whose meanings are known, whether cosines rise "
        "with shared features, which words are neighbours, which analogies come out; on the manual that "
        "comes with Python, whether neighbours are of one class; against vectors made by counting. "
        f"Published vectors: their analogies, if --published names such files. Of fewer than {ENOUGH} known "
        "analogies it is not told how many are right. Bars are intervals of 95 % over seeds.",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
