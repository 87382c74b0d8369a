"""C3: an LSTM's direct cell path and its whole gradient, beside an RNN, a GRU and a residual stack."""

from typing import Any

import torch
from torch import Tensor, nn

from ..nn.blocks import FeedForward, initialise, make_norm
from ..nn.recurrent import Kind, RecurrentLayer
from ..texts import Text, number, power_of_ten
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series, spread
from .jacobians import log_norms, of_layer, of_steps
from .statistics import mean

WIDTH, WARM_UP, STEPS, DEPTH = 32, 20, 300, 100
SEEDS = range(5)
DISTANCES = (1, *range(75, STEPS + 1, 75))
DEPTHS = (1, *range(25, DEPTH + 1, 25))
CASES: dict[str, tuple[Kind, float]] = {
    "rnn": ("rnn", 0),
    "lstm fresh": ("lstm", 1),
    "lstm between": ("lstm", 3),
    "lstm open": ("lstm", 8),
    "gru fresh": ("gru", 0),
    "gru open": ("gru", 8),
}
"""Kinds of layers, and the bias of the gate that keeps the state: an LSTM's f, a GRU's z."""
STACKS = {
    "plain": Text("既无残差也无归一化", "neither residuals nor norms"),
    "residual": Text("只有残差", "residuals alone"),
    "norm": Text("只有归一化", "norms alone"),
    "both": Text("残差和归一化（pre-norm）", "residuals and norms (pre-norm)"),
}
SURVIVED, GONE, GROWN = -1, -6, 3  # log₁₀ of a norm
EXACT = 1e-12


def measure(work: Work) -> Measured:
    """log₁₀ of norms of Jacobians at each distance or depth, for every case and seed."""
    recurrent = work.parts(
        "recurrent", list(CASES), lambda name: [_recurrent(*CASES[name], s) for s in SEEDS]
    )
    stacks = work.parts("stacks", list(STACKS), lambda kind: [_stack(kind, seed) for seed in SEEDS])
    return {
        "distances": DISTANCES,
        "recurrent": dict(zip(CASES, recurrent, strict=True)),
        "depths": DEPTHS,
        "stacks": dict(zip(STACKS, stacks, strict=True)),
    }


def _recurrent(kind: Kind, bias: float, seed: int) -> dict[str, Any]:
    """A fresh layer on random inputs. `whole`: ∂h_t/∂h_k, of an LSTM ∂c_t/∂c_k; of an LSTM also `direct`, the
    product of the f, their geometric mean, and how far ∂c_t/∂c_{t-1} at fixed h_{t-1} is from diag(f_t)."""
    torch.manual_seed(seed)
    layer = RecurrentLayer(kind, WIDTH, WIDTH).double().requires_grad_(False)
    if kind != "rnn":
        layer.weights().b_x[WIDTH : 2 * WIDTH] = bias
    x_nD = torch.randn(WARM_UP + STEPS, WIDTH, dtype=torch.float64)
    jacobians, values = of_layer(layer, x_nD)
    jacobians = jacobians[WARM_UP:]
    if kind != "lstm":
        return {"whole": log_norms(list(jacobians), DISTANCES).tolist()}
    # c_k reaches the next step as itself and as h_k = o_k tanh(c_k).
    o, c = values["o"][WARM_UP - 1], values["cell"][WARM_UP - 1]
    start = torch.cat((torch.diag(o * (1 - c.tanh() ** 2)), torch.eye(WIDTH, dtype=torch.float64)))
    f = values["f"][WARM_UP:]
    apart = jacobians[:, WIDTH:, WIDTH:] - torch.diag_embed(f)
    direct = f.log10().cumsum(0).amax(-1)
    return {
        "whole": log_norms(list(jacobians), DISTANCES, start, slice(WIDTH, None)).tolist(),
        "direct": direct[[distance - 1 for distance in DISTANCES]].tolist(),
        "f": float(f.log().mean().exp()),
        "apart": float(apart.abs().max()),
    }


class Layer(nn.Module):
    """A feed-forward layer, with a norm before it, a residual around it, both or neither."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.ffn = FeedForward(WIDTH, 4 * WIDTH)
        self.norm = make_norm("layernorm", WIDTH, 1e-5) if kind in {"norm", "both"} else nn.Identity()
        self.residual = kind in {"residual", "both"}

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.ffn(self.norm(x))
        return x + out if self.residual else out


def _stack(kind: str, seed: int) -> list[float]:
    """log₁₀ of the norm of the top's Jacobian by what goes into the layer so far below it."""
    torch.manual_seed(seed)
    layers = nn.ModuleList(Layer(kind) for _ in range(DEPTH)).double().requires_grad_(False)
    initialise(layers, DEPTH, None)
    inputs = [torch.randn(WIDTH, dtype=torch.float64)]
    for layer in layers:
        inputs.append(layer(inputs[-1]))
    parameters, _ = torch.func.stack_module_state(list(layers))

    def apply(x: Tensor, of_layer: dict[str, Tensor]) -> Tensor:
        out: Tensor = torch.func.functional_call(layers[0], of_layer, (x,))
        return out

    jacobians = of_steps(apply, torch.stack(inputs[:-1]), parameters)
    # From the top downwards the product grows on its right; transposed, on its left.
    found: list[float] = log_norms([jacobian.T for jacobian in jacobians.flip(0)], DEPTHS).tolist()
    return found


def judge(measured: Measured) -> Judgement:
    """It holds if ∂c_t/∂c_{t-1} at fixed h is diag(f_t) to rounding and, by the intervals over the seeds:

    - with an open gate direct path and whole gradient survive to the last distance, and the RNN's does not;
    - with a fresh one both vanish, the whole later than the RNN's;
    - in between, the whole is far above the direct path;
    - a stack's survives with residuals, alone or with norms, with both without exploding, and vanishes
      without either."""
    runs, stacks = measured["recurrent"], measured["stacks"]
    whole = {name: mean([run["whole"][-1] for run in of]) for name, of in runs.items()}
    lstms = {name: of for name, of in runs.items() if name.startswith("lstm")}
    direct = {name: mean([run["direct"][-1] for run in of]) for name, of in lstms.items()}
    further = mean([run["whole"][-1] - run["direct"][-1] for run in runs["lstm between"]])
    stack = {kind: mean([run[-1] for run in of]) for kind, of in stacks.items()}
    told = [
        (
            number(mean([run["f"] for run in lstms[name]]).mean, 4),
            power_of_ten(direct[name].mean),
            power_of_ten(whole[name].mean),
        )
        for name in ("lstm open", "lstm between", "lstm fresh")
    ]
    steps, depth = measured["distances"][-1], measured["depths"][-1]
    rnn = power_of_ten(whole["rnn"].mean)
    plain, residual, norm, both = (power_of_ten(stack[kind].mean) for kind in STACKS)
    found = Text(
        f"{steps} 步之后，直接路径（取最大的分量）和完整梯度各剩："
        + "；".join(f"f 平均 {f} 时 {a} 和 {b}" for f, a, b in told)
        + f"，多出来的来自经过 h 的路。RNN 剩 {rnn}。{depth} 层前馈层：既无残差也无归一化剩 {plain}，"
        f"只加残差涨到 {residual}，只加归一化是 {norm}，两样都加是 {both}：残差让梯度留下来，归一化管住它的大"
        "小。",
        f"After {steps} steps the direct path (its largest component) and the whole gradient leave "
        + ", ".join(f"{a} and {b} with f {f} on average" for f, a, b in told)
        + f", the difference being paths through h; an RNN leaves {rnn}. Through {depth} feed-forward layers "
        f"it is {plain}, with residuals alone it grows to {residual}, with norms alone it is {norm}, with "
        f"both {both}: residuals keep the gradient, norms its size.",
    )
    holds = (
        all(run["apart"] < EXACT for of in lstms.values() for run in of)
        and min(direct["lstm open"].low, whole["lstm open"].low) > SURVIVED
        and max(whole["rnn"].high, direct["lstm fresh"].high, whole["lstm fresh"].high) < GONE
        and whole["lstm fresh"].low > whole["rnn"].high
        and further.low > 1
        and min(stack["residual"].low, stack["both"].low) > SURVIVED
        and stack["both"].high < GROWN
        and stack["plain"].high < GONE
    )
    return Judgement(Verdict.HOLDS if holds else Verdict.FAILS, found)


def figures(measured: Measured) -> tuple[Figure, ...]:
    distances, depths = measured["distances"], measured["depths"]

    def curve(label: Text, name: str, path: str = "whole") -> Series:
        runs = [run[path] for run in measured["recurrent"][name]]
        return spread(label, distances, list(zip(*runs, strict=True)))

    gates = {"lstm open": "8", "lstm between": "3", "lstm fresh": "1"}
    distance, size = (
        Text("距离 t−k", "distance t−k"),
        Text("范数，以 10 为底的对数", "norm, logarithm to base 10"),
    )
    return (
        Figure(
            Text("LSTM 的直接路径 ∏f 与完整梯度 ∂c_t/∂c_k", "An LSTM's direct path ∏f and whole ∂c_t/∂c_k"),
            distance,
            size,
            tuple(
                curve(Text(f"{zh}，遗忘门偏置 {bias}", f"{en}, forget gate's bias {bias}"), name, path)
                for name, bias in gates.items()
                for path, zh, en in (
                    ("direct", "直接路径", "direct path"),
                    ("whole", "完整梯度", "whole gradient"),
                )
            ),
        ),
        Figure(
            Text("完整梯度：RNN、LSTM、GRU", "Whole gradients: RNN, LSTM, GRU"),
            distance,
            size,
            (
                curve(Text("RNN", "RNN"), "rnn"),
                curve(Text("LSTM，刚初始化", "LSTM, fresh"), "lstm fresh"),
                curve(Text("LSTM，门全开", "LSTM, gate open"), "lstm open"),
                curve(Text("GRU，刚初始化", "GRU, fresh"), "gru fresh"),
                curve(Text("GRU，门全开", "GRU, gate open"), "gru open"),
            ),
        ),
        Figure(
            Text("前馈层的堆叠：顶层对下面各层的梯度", "Stacks of feed-forward layers: gradient of the top"),
            Text("从顶层往下数的层数", "layers below the top"),
            size,
            tuple(
                spread(label, depths, list(zip(*measured["stacks"][kind], strict=True)))
                for kind, label in STACKS.items()
            ),
        ),
    )


CLAIM = Claim(
    "C3",
    Text("LSTM 的直接路径与完整梯度", "An LSTM's direct path and its whole gradient"),
    Text(
        "LSTM 的细胞有一条直接路径，导数是 diag(f_t)：f ≈ 1 时梯度能传几百步，f < 1 时仍按 f 的乘积衰减，"
        "是缓解而不是根治；完整梯度还有经过 h 的路。残差堆叠用的是同一个办法。",
        "An LSTM's cell has a direct path of derivative diag(f_t): with f ≈ 1 gradients survive hundreds "
        "of steps, with f < 1 they decay as the product of the f, mitigated and not cured. The whole "
        "gradient has further paths, through h. Residual stacks use the same remedy.",
    ),
    Text(
        f"float64 下的精确雅可比矩阵，宽 {WIDTH}，随机输入，{len(SEEDS)} 个种子，相隔最多 {STEPS} 步："
        "直接路径取 f 的乘积，完整梯度由自动微分逐步相乘。遗忘门偏置为 1（刚初始化）、3、8；"
        "旁边是 RNN、GRU 和 100 层前馈层。",
        f"Exact Jacobians in float64, width {WIDTH}, random inputs, {len(SEEDS)} seeds, up to {STEPS} "
        "steps: the product of the f, and the whole gradient by automatic differentiation of each step. "
        f"The forget gate's bias is 1 (fresh), 3 or 8. Beside it an RNN, a GRU, and {DEPTH} feed-forward "
        "layers.",
    ),
    measure,
    judge,
    figures,
)
