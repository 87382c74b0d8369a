"""Muon: momentum, made orthogonal, for the matrices of the hidden layers.

Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks". A gradient's few large
directions drown the many small ones; a step whose singular values are all near 1 moves along all of them.

Shapes: s matrices of one shape, r rows, c columns, r <= c.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

MOMENTUM = 0.95
ITERATIONS = 5
_A, _B, _C = 3.4445, -4.7750, 2.0315  # steep at 0, so that 5 iterations lift small singular values near 1


class Muon(Optimizer):
    """Steps of `lr` times the orthogonalised momentum (Nesterov's), with decay as in AdamW.

    A matrix with more rows than columns steps √(rows / columns) times as far, so that outputs change alike.
    All computation is float32: products in bf16, which others use for this, are slow on most CPUs.
    """

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step for every matrix that has a gradient."""
        for group in self.param_groups:
            alike: dict[tuple[int, ...], list[nn.Parameter]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[matrix.shape].append(matrix)
            for matrices in alike.values():
                self._step(matrices, group["lr"], group["weight_decay"])

    def _step(self, matrices: list[nn.Parameter], lr: float, weight_decay: float) -> None:
        gradients = [matrix.grad.float() for matrix in matrices if matrix.grad is not None]
        momenta = [self._momentum(matrix) for matrix in matrices]
        torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
        ahead = torch._foreach_lerp(gradients, momenta, MOMENTUM)
        rows, columns = matrices[0].shape
        if weight_decay:
            torch._foreach_mul_(list[Tensor](matrices), 1 - lr * weight_decay)
        updates = orthogonal(torch.stack(list(ahead))) * (-lr * max(1.0, rows / columns) ** 0.5)
        torch._foreach_add_(list[Tensor](matrices), [update.to(matrices[0].dtype) for update in updates])

    def _momentum(self, matrix: nn.Parameter) -> Tensor:
        state = self.state[matrix]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(matrix, dtype=torch.float32)
        momentum: Tensor = state["momentum"]
        return momentum


def orthogonal(matrices_src: Tensor) -> Tensor:
    """Each matrix with its singular values brought near 1 (between about 0.7 and 1.2), its singular vectors
    kept: a Newton-Schulz iteration of the fifth order, which takes products alone."""
    x_src: Tensor = matrices_src / (torch.linalg.matrix_norm(matrices_src, keepdim=True) + 1e-7)
    tall = x_src.shape[1] > x_src.shape[2]
    if tall:  # the smaller Gram matrix is the cheaper one
        x_src = x_src.transpose(1, 2).contiguous()
    for _ in range(ITERATIONS):
        gram_srr = x_src @ x_src.transpose(1, 2)
        polynomial_srr = torch.baddbmm(gram_srr, gram_srr, gram_srr, beta=_B, alpha=_C)
        x_src = torch.baddbmm(x_src, polynomial_srr, x_src, beta=_A)
    return x_src.transpose(1, 2) if tall else x_src
