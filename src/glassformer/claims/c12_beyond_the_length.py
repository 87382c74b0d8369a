"""C12: positions beyond the training length can be computed, and are not reliable for that."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from ..data import manual
from ..data.batches import windows_at
from ..data.corpus import Tokens
from ..texts import Text, number
from ..training import start
from ..training.quiet import finished
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import NOT_NEGATIVE, Figure, spread
from .statistics import Mean, mean

LENGTH, TIMES, BLOCK = 32, 4, 8
SETTINGS = ("n_layers=2", "n_heads=4", "d_model=64", "tokenizer=chars", "eval_tokens=4096", "sample=0")
TOKENS = 1024  # of a step
WINDOWS = 256  # of held-out text, each TIMES LENGTH long
SLIGHT = 0.05  # nats: a rise that is surely no larger is none to speak of

COMPUTED = {
    "sinusoidal": Text("正弦", "sinusoidal"),
    "rotary": Text("旋转", "rotary"),
    "relative": Text("相对偏置", "relative bias"),
}
NAMES = {
    **COMPUTED,
    "learned": Text("可学习", "learned"),
    "none": Text("无位置编码", "none"),
    "long": Text(f"旋转，在 {TIMES * LENGTH} 上训练", f"rotary, trained at {TIMES * LENGTH}"),
}


def measure(work: Work) -> Measured:
    """For each kind of positions and each seed the held-out loss (nats) by blocks of BLOCK positions, and
    what is said of the first position that there is not, if there is such a one."""
    steps, seeds = work.choose(60, 300), work.choose(range(2), range(3))
    runs = work.table(NAMES, seeds, partial(_by_position, steps))
    return {"steps": steps, "length": LENGTH, "block": BLOCK, **runs}


def _by_position(steps: int, name: str, seed: int) -> dict[str, Any]:
    context = TIMES * LENGTH if name == "long" else LENGTH
    settings = (
        *(f"positions={'rotary' if name == 'long' else name}", f"context={context}"),
        *(f"batch_size={TOKENS // context}", f"steps={steps}", f"eval_every={steps}", f"seed={seed}"),
    )
    training = finished(start.begun, manual.text(), [*SETTINGS, *settings], preset_name="tiny")
    task: Any = training.task
    try:
        by_position, past = losses(training.model, task.held_out, TIMES * LENGTH), None
    except ValueError as error:
        by_position, past = losses(training.model, task.held_out, LENGTH), str(error)
    return {"loss": by_position.reshape(-1, BLOCK).mean(1).tolist(), "past": past}


@torch.inference_mode()
def losses(model: Any, text: Tokens, length: int) -> NDArray[np.float64]:
    """The mean loss (nats) at each of `length` positions, over windows spread over a text: the same places
    for every length. Raises ValueError where the model has no such position."""
    starts = np.linspace(0, len(text) - TIMES * LENGTH - 1, WINDOWS).astype(int).tolist()
    batch = windows_at(text, length, starts)
    logits = model(batch.inputs)[0].flatten(0, 1)
    loss = F.cross_entropy(logits, batch.targets.flatten(), reduction="none").view(batch.inputs.shape)
    found: NDArray[np.float64] = loss.double().mean(0).numpy()
    return found


def rises(measured: Measured, name: str) -> list[float]:
    """How much higher each seed's loss is beyond the training length than in the latter half of it."""
    at = measured["length"] // measured["block"]
    return [float(np.mean(run["loss"][at:]) - np.mean(run["loss"][at // 2 : at])) for run in measured[name]]


def judge(measured: Measured) -> Judgement:
    """It holds if the loss surely rises beyond the training length with each kind that can be computed there,
    by more than SLIGHT, and the learned one has nothing there; within those kinds with which it rises."""
    rise = {name: mean(rises(measured, name)) for name in NAMES if name != "learned"}
    unreliable = [name for name in COMPUTED if rise[name].low > SLIGHT]
    ended = all(run["past"] for run in measured["learned"])
    beyond, end = len(measured["rotary"][0]["loss"]) * measured["block"], measured["length"]

    def told(names: Sequence[str], language: str) -> str:
        brackets = "（{}）" if language == "zh" else " ({})"
        spoken = [
            f"{getattr(NAMES[name], language)} {_signed(rise[name])}" + brackets.format(_interval(rise[name]))
            for name in names
        ]
        return ("、" if language == "zh" else ", ").join(spoken)

    found = Text(
        f"在长 {end} 的文本上训练，读到 {beyond}：超出训练长度后，损失比之前升高（奈特，括号里是 95 % 区"
        f"间）：{told([*COMPUTED], 'zh')}；不用位置编码时也升高 {_signed(rise['none'])}，这一部分与位置编码无"
        f"关；本来就在 {beyond} 上训练的 {_signed(rise['long'])}。"
        + ("可学习的位置表在那里没有值，直接报错。" if ended else "可学习的位置表竟也给出了值。"),
        f"Trained at length {end} and read up to {beyond}, the loss beyond the training length is higher by "
        f"(nats, intervals of 95 %): {told([*COMPUTED], 'en')}; without positions, too, by "
        f"{_signed(rise['none'])}, which is not of their making; trained at {beyond} to begin with "
        f"{_signed(rise['long'])}. The learned table "
        + ("has no value there: an error says so." if ended else "has values there as well."),
    )
    if len(unreliable) == len(COMPUTED) and ended:
        return Judgement(Verdict.HOLDS, found)
    if measured["quick"]:
        return Judgement(Verdict.UNDECIDED, found)
    if unreliable and ended:
        kept = [name for name in COMPUTED if name not in unreliable]
        within = Text(
            "、".join(NAMES[name].zh for name in unreliable) + "位置编码上",
            " and ".join(NAMES[name].en for name in unreliable) + " positions",
        )
        reason = Text(
            "、".join(f"{NAMES[name].zh}（{_interval(rise[name])}）" for name in kept)
            + f"：损失的升高没有确定地超过 {SLIGHT} 奈特。",
            "With "
            + " and ".join(f"{NAMES[name].en} ({_interval(rise[name])})" for name in kept)
            + f" the loss does not surely rise by more than {SLIGHT} nats.",
        )
        return Judgement(Verdict.WITHIN, found, reason, within)
    return Judgement(Verdict.FAILS, found)


def _signed(rise: Mean) -> str:
    return f"{'+' if rise.mean >= 0 else ''}{number(rise.mean, 2)}"


def _interval(rise: Mean) -> str:
    return f"{number(rise.low, 2)} – {number(rise.high, 2)}"


def figures(measured: Measured) -> tuple[Figure, ...]:
    block, length, series = measured["block"], measured["length"], []
    for name, title in NAMES.items():
        by_block = list(zip(*(run["loss"] for run in measured[name]), strict=True))
        x = [block * k + (block - 1) / 2 for k in range(len(by_block))]
        series.append(spread(title, x, by_block, within=NOT_NEGATIVE))
    return (
        Figure(
            Text(
                f"各位置上的损失；训练长度为 {length}",
                f"Loss by position; the training length is {length}",
            ),
            Text("位置", "position"),
            Text("损失（奈特）", "loss (nats)"),
            tuple(series),
            limit=(length, Text(f"训练长度 {length}", f"training length {length}")),
        ),
    )


CLAIM = Claim(
    "C12",
    Text("算得出来，不等于靠得住", "Computable is not reliable"),
    Text(
        "超出训练长度的位置，有的编码仍能算出来，但模型没有学过怎样用它们；可学习的位置表在那里根本没有值。",
        "Positions beyond the training length can be computed with some kinds, but the model has not learned "
        "to use them; a learned table has no value there at all.",
    ),
    Text(
        f"同样的小 GPT，只换位置编码，用长 {LENGTH} 个字符的文本段训练（Python 自带的手册），再读没见过的、"
        f"长 {TIMES * LENGTH} 的文本段，逐个位置看损失；另有一个直接在 {TIMES * LENGTH} 上训练的作对照。若超"
        "出训练长度后损失不升高，就不成立。误差线是各个种子的 95 % 区间。",
        f"The same small GPT with nothing but its positions changed is trained on stretches of {LENGTH} "
        f"characters of the manual that comes with Python, and then reads new ones of {TIMES * LENGTH}; the "
        f"loss is measured at each position. One trained at {TIMES * LENGTH} stands beside them. It does not "
        "hold if the loss does not rise beyond the training length. Bars are intervals of 95 % over seeds.",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
