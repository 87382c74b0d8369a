"""C2: the Jacobians of a tanh RNN, beside the bound by the largest singular value."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..nn.recurrent import Weights, rnn_step
from ..texts import Text, number, power_of_ten
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series, spread
from .jacobians import log_norms
from .statistics import mean

WIDTH, WARM_UP, STEPS = 32, 20, 300
SEEDS = 6
DISTANCES = (1, 2, 3, 5, 7, *range(10, STEPS + 1, 10))
KEPT = slice(4, None, 5)  # of the distances, for the figure
SIGMAS = (0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 4.0)
SETTINGS = {
    "gaussian driven": Text("高斯矩阵，随机输入", "Gaussian matrix, random inputs"),
    "orthogonal driven": Text("正交矩阵，随机输入", "orthogonal matrix, random inputs"),
    "gaussian rest": Text("高斯矩阵，静止", "Gaussian matrix, at rest"),
    "orthogonal rest": Text("正交矩阵，静止", "orthogonal matrix, at rest"),
}
BELOW, ABOVE = 0.9, 1.5  # the σ_max that are told
ROUNDING = 1e-9  # of a log₁₀ after hundreds of products
VANISHED, EXPLODED = -3, 3  # log₁₀ of a norm


def measure(work: Work) -> Measured:
    """log₁₀ ‖∂h_t/∂h_k‖₂ at each distance for every setting, σ_max and seed; and the spectral radii."""
    keys = [(setting, sigma) for setting in SETTINGS for sigma in SIGMAS]
    found = work.parts("norms", keys, lambda key: _norms(*key))
    each = {name: found[i * len(SIGMAS) : (i + 1) * len(SIGMAS)] for i, name in enumerate(SETTINGS)}
    return {"steps": STEPS, "sigmas": SIGMAS, "distances": DISTANCES[KEPT], "norms": each}


def _norms(setting: str, sigma: float) -> dict[str, Any]:
    drawn = [recurrent(setting, sigma, seed) for seed in range(SEEDS)]
    jacobians = torch.stack([step_jacobians(weights, x_nD) for weights, x_nD in drawn], 1)
    logs = log_norms(list(jacobians[WARM_UP:]), DISTANCES)
    over = logs - torch.tensor(DISTANCES, dtype=torch.float64)[:, None] * math.log10(sigma)
    radii = [float(torch.linalg.eigvals(weights.w_h).abs().max()) for weights, _ in drawn]
    return {"logs": logs[KEPT].tolist(), "over": float(over.max()), "radii": radii}


def recurrent(setting: str, sigma: float, seed: int) -> tuple[Weights, Tensor]:
    """An RNN whose W_h has the largest singular value σ (an orthogonal one has no other), and its inputs."""
    torch.manual_seed(seed)
    w_x, w_h = (torch.randn(WIDTH, WIDTH, dtype=torch.float64) / WIDTH**0.5 for _ in range(2))
    matrix, inputs = setting.split()
    if matrix == "orthogonal":
        nn.init.orthogonal_(w_h)
    zeros = torch.zeros(WIDTH, dtype=torch.float64)
    x_nD = torch.randn(WARM_UP + STEPS, WIDTH, dtype=torch.float64) * (inputs == "driven")
    return Weights(w_x, sigma * w_h / torch.linalg.matrix_norm(w_h, ord=2), zeros, zeros), x_nD


def step_jacobians(weights: Weights, x_nD: Tensor) -> Tensor:
    """∂h_t/∂h_{t-1} = diag(1 - h_t²) W_h at each step of a sequence, from h_0 = 0 on: (n, H, H)."""
    h, states = torch.zeros(len(weights.w_h), dtype=torch.float64), []
    for x in x_nD:
        h = rnn_step(x, h, weights)
        states.append(h)
    return (1 - torch.stack(states) ** 2)[..., None] * weights.w_h


def judge(measured: Measured) -> Judgement:
    """It holds if no norm exceeds the bound and all vanish below 1; and if at the same σ_max above 1, by the
    intervals over the seeds, a Gaussian matrix's vanish all the same while an orthogonal one's explode."""
    sigmas, norms, steps = measured["sigmas"], measured["norms"], measured["steps"]
    bounded = max(of["over"] for each in norms.values() for of in each) <= ROUNDING
    runs = sum(len(of["logs"][-1]) for each in norms.values() for of in each)
    left = max(max(each[sigmas.index(BELOW)]["logs"][-1]) for each in norms.values())
    above = {setting: each[sigmas.index(ABOVE)] for setting, each in norms.items()}
    driven, rest, grown = (
        mean(above[setting]["logs"][-1])
        for setting in ("gaussian driven", "gaussian rest", "orthogonal rest")
    )
    exploded = mean(norms["orthogonal driven"][-1]["logs"][-1])
    radius = mean(above["gaussian rest"]["radii"]).mean
    found = Text(
        f"{runs} 次运行里，‖∂h_t/∂h_k‖ {'从未超过' if bounded else '超过了'} σ_max 的 t−k 次方。"
        f"{steps} 步之后，σ_max = {BELOW} 时最多剩 {power_of_ten(left)}。σ_max 同为 {ABOVE}："
        f"静止的正交矩阵长到 {power_of_ten(grown.mean)}；静止的高斯矩阵谱半径只有 {number(radius, 2)}，"
        f"剩 {power_of_ten(rest.mean)}；有输入时 tanh 的斜率又小于 1，剩 {power_of_ten(driven.mean)}。"
        f"有输入也会爆炸：σ_max = {sigmas[-1]:g} 的正交矩阵到 {power_of_ten(exploded.mean)}。",
        f"In {runs} runs ‖∂h_t/∂h_k‖ {'never exceeded' if bounded else 'exceeded'} σ_max to the power t−k. "
        f"After {steps} steps, σ_max = {BELOW} leaves {power_of_ten(left)} at most. With σ_max = {ABOVE} an "
        f"orthogonal matrix at rest comes to {power_of_ten(grown.mean)}; a Gaussian one, of spectral radius "
        f"{number(radius, 2)}, to {power_of_ten(rest.mean)} at rest, and under inputs, where tanh's slopes "
        f"are below 1 as well, to {power_of_ten(driven.mean)}. Under inputs gradients explode too where σ"
        f"_max is large: with {sigmas[-1]:g} an orthogonal matrix comes to {power_of_ten(exploded.mean)}.",
    )
    holds = bounded and left < VANISHED and driven.high < VANISHED and grown.low > EXPLODED
    return Judgement(Verdict.HOLDS if holds else Verdict.FAILS, found)


def figures(measured: Measured) -> tuple[Figure, ...]:
    sigmas, steps, distances, norms = (measured[key] for key in ("sigmas", "steps", "distances", "norms"))
    ends = (
        spread(label, sigmas, [of["logs"][-1] for of in norms[setting]])
        for setting, label in SETTINGS.items()
    )
    bound = Series(
        Text("上界（静止的正交矩阵恰好达到）", "the bound, which an orthogonal matrix at rest attains"),
        sigmas,
        [steps * math.log10(sigma) for sigma in sigmas],
        dots=False,
    )
    over_time = [
        spread(Text(f"σ_max = {sigma:g}", f"σ_max = {sigma:g}"), distances, of["logs"])
        for sigma, of in zip(sigmas, norms["orthogonal driven"], strict=True)
        if sigma != 1.0
    ]
    size = Text("‖∂h_t/∂h_k‖，以 10 为底的对数", "‖∂h_t/∂h_k‖, logarithm to base 10")
    return (
        Figure(
            Text(f"{steps} 步之后的梯度", f"Gradients after {steps} steps"),
            Text("W_h 的最大奇异值 σ_max", "largest singular value of W_h, σ_max"),
            size,
            (*ends, bound),
        ),
        Figure(
            Text("随距离的变化：正交矩阵，随机输入", "Over distance: orthogonal matrices, random inputs"),
            Text("距离 t−k", "distance t−k"),
            size,
            tuple(over_time),
        ),
    )


CLAIM = Claim(
    "C2",
    Text("RNN 的梯度与最大奇异值", "An RNN's gradient and the largest singular value"),
    Text(
        "tanh RNN 满足 ‖∂h_t/∂h_k‖ ≤ σ_max 的 t−k 次方，σ_max 是 W_h 的最大奇异值。σ_max < 1 时梯度必然消失；"
        "σ_max > 1 只是爆炸的必要条件，并不充分。",
        "In a tanh RNN ‖∂h_t/∂h_k‖ is at most σ_max to the power t−k, with σ_max the largest singular "
        "value of W_h. Below 1 gradients must vanish; above 1 is necessary for them to explode, but not "
        "sufficient.",
    ),
    Text(
        f"用 float64 逐步相乘精确的雅可比矩阵 diag(1 − h_t²) W_h，宽 {WIDTH}，相隔最多 {STEPS} 步。"
        "W_h 取高斯矩阵或正交矩阵，缩放到给定的 σ_max；或有随机输入，或静止在 h = 0。"
        "只要有一次超过上界，就判为不成立。",
        f"Exact Jacobians diag(1 − h_t²) W_h are multiplied in float64 over up to {STEPS} steps, at width "
        f"{WIDTH}. W_h is Gaussian or orthogonal, scaled to a given σ_max; inputs are random, or the state "
        "rests at h = 0. A single norm above the bound decides against it.",
    ),
    measure,
    judge,
    figures,
)
