"""C11: a step of Δ positions rotates the sinusoidal code, by angles that depend on Δ alone."""

from typing import Any

import torch
from torch import Tensor

from ..nn.positions import BASE, sinusoids
from ..texts import Text, magnitude, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series

WIDTHS = (16, 64, 512)
POSITIONS = (0, 1, 3, 10, 31, 100, 316, 1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
SHIFTS = (-500, -64, -7, -1, 0, 1, 2, 5, 17, 64, 500, 4_096)
UNIT = 2.0**-53  # the rounding error of float64
ALLOWED = 8  # roundings of the largest angle
SHOWN_WIDTH, SHOWN_SHIFTS, SHOWN_POSITIONS = 64, 60, (0, 1_000_000)


def measure(work: Work) -> Measured:
    """Errors of R_Δ PE_pos against PE_{pos+Δ}, for each table and position the largest over all Δ; and of
    PE_pos · PE_{pos+Δ} against Σ cos Δω_i, over d/2. `roundings`: errors in roundings of the largest angle,
    which is pos + |Δ|."""
    tables = [(d, "float64") for d in WIDTHS] + [(WIDTHS[-1], "rounded"), (WIDTHS[-1], "float32")]
    found = work.parts("table", tables, lambda table: _errors(*table))
    pos = torch.tensor(SHOWN_POSITIONS)
    here = sinusoids(pos, SHOWN_WIDTH)
    there = sinusoids(pos[:, None] + torch.arange(SHOWN_SHIFTS + 1), SHOWN_WIDTH)
    return {
        "positions": POSITIONS,
        "shifts": SHIFTS,
        "exact": dict(zip(map(str, WIDTHS), found, strict=False)),
        "single": dict(zip(("rounded", "float32"), found[len(WIDTHS) :], strict=True)),
        "products": ((there @ here[..., None])[..., 0] / (SHOWN_WIDTH / 2)).tolist(),
    }


def rotation(shift: int, d: int) -> Tensor:
    """R_Δ (d, d): a block [[cos Δω, sin Δω], [-sin Δω, cos Δω]] for each pair (sin, cos)."""
    angle = shift * _frequencies(d, torch.float64)
    matrix = torch.zeros(d, d, dtype=torch.float64)
    sine, cosine = torch.arange(0, d, 2), torch.arange(1, d, 2)
    matrix[sine, sine] = matrix[cosine, cosine] = angle.cos()
    matrix[sine, cosine], matrix[cosine, sine] = angle.sin(), -angle.sin()
    return matrix


def _frequencies(d: int, dtype: torch.dtype) -> Tensor:
    return BASE ** (-torch.arange(0, d, 2, dtype=dtype) / d)


def _code(pos: int, d: int, kind: str) -> Tensor:
    """PE_pos: in float64; rounded to float32 at the end; or computed in float32 throughout."""
    if kind == "float32":
        angle = pos * _frequencies(d, torch.float32)
        return torch.stack((angle.sin(), angle.cos()), -1).flatten().double()
    exact = sinusoids(torch.tensor(pos), d)
    return exact.float().double() if kind == "rounded" else exact


def _errors(d: int, kind: str) -> dict[str, Any]:
    turned, multiplied, roundings = [], [], 0.0
    rotations = {shift: rotation(shift, d) for shift in SHIFTS}
    for pos in POSITIONS:
        code, worst_turned, worst_multiplied = _code(pos, d, kind), 0.0, 0.0
        for shift, matrix in rotations.items():
            there = _code(pos + shift, d, kind)
            of_turn = float((matrix @ code - there).abs().max())
            of_product = abs(float(code @ there - matrix.diagonal().sum() / 2)) / (d / 2)
            worst_turned = max(worst_turned, of_turn)
            worst_multiplied = max(worst_multiplied, of_product)
            roundings = max(roundings, max(of_turn, of_product) / (UNIT * max(1, pos + abs(shift))))
        turned.append(worst_turned)
        multiplied.append(worst_multiplied)
    identity = torch.eye(d, dtype=torch.float64)
    orthogonal = max(float((m @ m.T - identity).abs().max()) for m in rotations.values())
    return {"turned": turned, "multiplied": multiplied, "roundings": roundings, "orthogonal": orthogonal}


def judge(measured: Measured) -> Judgement:
    """It holds if all errors in float64, of the rotation and of products, are at most ALLOWED roundings of
    the largest angle, and the matrix, which is made of Δ alone, is a rotation."""
    exact, single = measured["exact"], measured["single"]
    roundings = max(of["roundings"] for of in exact.values())
    orthogonal = max(of["orthogonal"] for of in exact.values())
    worst = max(max(of["turned"]) for of in exact.values())
    products = max(max(of["multiplied"]) for of in exact.values())
    farthest, shift = measured["positions"][-1], max(measured["shifts"], key=abs)
    found = Text(
        f"pos 直到 {number(farthest, 0)}、|Δ| 直到 {number(shift, 0)}，R_Δ·PE(pos) 与 PE(pos+Δ) 最多差 "
        f"{magnitude(worst)}，不超过最大角度的 {number(roundings, 1)} 个舍入误差（float64）；点积除以 d/2，"
        f"与 Σcos(Δω_i) 最多差 {magnitude(products)}。若角度用 float32 算，pos = {number(farthest, 0)} 处差 "
        f"{number(single['float32']['turned'][-1], 2)}；先用 float64 算好再存成 float32，"
        f"差 {magnitude(single['rounded']['turned'][-1])}。",
        f"Up to pos = {number(farthest, 0)} and |Δ| = {number(shift, 0)}, R_Δ·PE(pos) and PE(pos+Δ) differ "
        f"by {magnitude(worst)} at most, within {number(roundings, 1)} roundings of the largest angle "
        f"(float64); dot products over d/2 differ from Σcos(Δω_i) by {magnitude(products)} at most. With "
        f"angles in float32 it is {number(single['float32']['turned'][-1], 2)} at pos = "
        f"{number(farthest, 0)}; computed in float64 and kept in float32, "
        f"{magnitude(single['rounded']['turned'][-1])}.",
    )
    holds = roundings <= ALLOWED and orthogonal < 1e-14
    return Judgement(Verdict.HOLDS if holds else Verdict.FAILS, found)


def figures(measured: Measured) -> tuple[Figure, ...]:
    positions, exact, single = measured["positions"], measured["exact"], measured["single"]
    farthest = max(map(abs, measured["shifts"]))
    shifts = range(len(measured["products"][0]))
    return (
        Figure(
            Text("R_Δ·PE(pos) 与 PE(pos+Δ) 的最大差", "Largest difference of R_Δ·PE(pos) and PE(pos+Δ)"),
            Text("位置 pos", "position pos"),
            Text("对所有 Δ 取最大", "largest over all Δ"),
            (
                Series(
                    Text("float32 算角度，d = 512", "angles in float32, d = 512"),
                    positions,
                    single["float32"]["turned"],
                ),
                Series(
                    Text("float64 算，存成 float32", "in float64, kept in float32"),
                    positions,
                    single["rounded"]["turned"],
                ),
                *(
                    Series(Text(f"float64，d = {d}", f"float64, d = {d}"), positions, of["turned"])
                    for d, of in exact.items()
                ),
                Series(
                    Text("最大角度的一个舍入误差", "a rounding of the largest angle"),
                    positions,
                    [UNIT * (pos + farthest) for pos in positions],
                    dots=False,
                ),
            ),
            log_x=True,
            log_y=True,
        ),
        Figure(
            Text(f"点积只看 Δ（d = {SHOWN_WIDTH}）", f"Dot products depend on Δ alone (d = {SHOWN_WIDTH})"),
            Text("距离 Δ", "distance Δ"),
            Text("PE(pos)·PE(pos+Δ)，除以 d/2", "PE(pos)·PE(pos+Δ), over d/2"),
            tuple(
                Series(Text(f"pos = {number(pos, 0)}", f"pos = {number(pos, 0)}"), shifts, of, joined=not pos)
                for pos, of in zip(SHOWN_POSITIONS, measured["products"], strict=True)
            ),
        ),
    )


CLAIM = Claim(
    "C11",
    Text("正余弦位置：移动就是旋转", "Sinusoidal positions: a step is a rotation"),
    Text(
        "PE(pos+Δ) 是 PE(pos) 的一个旋转，旋转只取决于 Δ；所以点积也只取决于 Δ。",
        "PE(pos+Δ) is a rotation of PE(pos) that depends on Δ only; so dot products depend on Δ alone.",
    ),
    Text(
        "为每个 Δ 写出旋转矩阵 R_Δ，每对 (sin, cos) 一个 2 × 2 的块，角度 Δω_i；"
        f"取 {len(POSITIONS)} 个 pos、{len(SHIFTS)} 个 Δ、宽 {'、'.join(map(str, WIDTHS))}，"
        f"比较 R_Δ·PE(pos) 与 PE(pos+Δ)。误差大于最大角度的 {ALLOWED} 个舍入误差就判为不成立。",
        "R_Δ is written out for each Δ, a 2 × 2 block of angle Δω_i for each pair (sin, cos), and "
        f"R_Δ·PE(pos) compared with PE(pos+Δ) for {len(POSITIONS)} positions, {len(SHIFTS)} Δ and widths "
        f"{', '.join(map(str, WIDTHS))}. An error above {ALLOWED} roundings of the largest angle decides "
        "against it.",
    ),
    measure,
    judge,
    figures,
)
