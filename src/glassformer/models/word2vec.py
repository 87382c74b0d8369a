"""Word vectors by skip-gram and CBOW with negative sampling (Mikolov et al. 2013a, 2013b).

Two tables: a word has one vector as input and one as context. Skip-gram predicts each neighbour from the
word; CBOW the word from the mean of its neighbours. A word that stands there is told apart from `negative`
words of the noise: with scores s = h · c, each pair costs -log σ(s), each noise word -log σ(-s).

Pairs are not worked off one by one. The text is cut into groups of places; all words of a group share their
noise words, each weighted so that the expected gradient is that of `negative` fresh words for every pair.
Scores, and the gradients of both sides, are then products of matrices.

Shapes: g groups, p places whose word is predicted from (CBOW: predicted), i inputs of a group, c contexts
scored in a group (words of the text, then noise), D width, V vocabulary.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..config import require_literals
from .limits import require_size


@dataclass(frozen=True)
class Word2VecConfig:
    """`window`: at most so many neighbours on each side, a number drawn anew for every word between 1 and
    this (the original's dynamic window). `subsample`: a word of frequency f is kept with probability
    √(t/f) + t/f, as the original's code has it (the paper says √(t/f)); 0 keeps all."""

    vocab_size: int
    d_model: int = 100
    objective: Literal["skipgram", "cbow"] = "skipgram"
    window: int = 5
    negative: int = 5
    subsample: float = 1e-3

    def __post_init__(self) -> None:
        require_literals(self)
        for name in ("vocab_size", "d_model", "window", "negative"):
            require_size(name, getattr(self, name))
        if self.window > 100 or self.negative > 100:
            raise ValueError("window and negative must be at most 100")
        if not 0 <= self.subsample <= 1:
            raise ValueError(f"subsample must lie between 0 (off) and 1, not {self.subsample}")


@dataclass(frozen=True)
class Groups:
    """A batch. `wanted` is 1 where place and context belong together, else 0; `weights` is 1 there and, for
    noise, the share that it stands for; both 0 elsewhere. With `near` (CBOW) a place's vector is the mean of
    the inputs where it is 1, else place and input are the same."""

    inputs_gi: Tensor
    contexts_gc: Tensor
    wanted_gpc: Tensor
    weights_gpc: Tensor
    near_gpi: Tensor | None = None

    @property
    def n_targets(self) -> int:
        """The number of pairs."""
        return int(self.wanted_gpc.sum())

    def part(self, first: int, n: int) -> "Groups":
        """`n` of the groups."""
        some = slice(first, first + n)
        return Groups(
            self.inputs_gi[some],
            self.contexts_gc[some],
            self.wanted_gpc[some],
            self.weights_gpc[some],
            None if self.near_gpi is None else self.near_gpi[some],
        )

    def to(self, device: torch.device) -> "Groups":
        near = None if self.near_gpi is None else self.near_gpi.to(device)
        return Groups(
            self.inputs_gi.to(device),
            self.contexts_gc.to(device),
            self.wanted_gpc.to(device),
            self.weights_gpc.to(device),
            near,
        )


class Word2Vec(nn.Module):
    """The two tables, begun as the original begins them: inputs within ±1/2D, contexts at 0."""

    def __init__(self, config: Word2VecConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.contexts = nn.Embedding(config.vocab_size, config.d_model)
        if not self.embedding.weight.is_meta:
            nn.init.uniform_(self.embedding.weight, -0.5 / config.d_model, 0.5 / config.d_model)
            nn.init.zeros_(self.contexts.weight)

    def forward(self, groups: Groups) -> Tensor:
        """The loss (nats), summed over pairs and their noise."""
        scores_gpc = self._scores(groups)[2]
        return _loss(scores_gpc, groups)

    def _scores(self, groups: Groups) -> tuple[Tensor, Tensor, Tensor]:
        h_gpd = F.embedding(groups.inputs_gi, self.embedding.weight)
        if groups.near_gpi is not None:
            h_gpd = groups.near_gpi @ h_gpd / groups.near_gpi.sum(2, keepdim=True).clamp(min=1)
        c_gcd = F.embedding(groups.contexts_gc, self.contexts.weight)
        return h_gpd, c_gcd, h_gpd @ c_gcd.transpose(1, 2)

    @torch.no_grad()
    def gradients(self, groups: Groups) -> tuple[Tensor, Tensor, Tensor]:
        """The scores (g, p, c), and the gradients of the summed loss by the input vector (g, i, D) and the
        context vector (g, c, D) at each place: what autograd gives, without tables full of zeros.

        In CBOW each neighbour takes the gradient by the mean as it is, not divided by how many they are: so
        the original's code has it, and by the exact gradient the inputs hardly learn at its rate."""
        h_gpd, c_gcd, scores_gpc = self._scores(groups)
        slope_gpc = torch.sigmoid(scores_gpc).mul_(groups.weights_gpc).sub_(groups.wanted_gpc)
        inputs_gid = slope_gpc @ c_gcd
        if groups.near_gpi is not None:
            inputs_gid = groups.near_gpi.transpose(1, 2) @ inputs_gid
        return scores_gpc, inputs_gid, slope_gpc.transpose(1, 2) @ h_gpd

    @torch.no_grad()
    def step(self, groups: Groups, rate: float, at_once: int) -> tuple[float, float]:
        """Steps of gradient descent on the sum of the losses, as the original takes one for each pair: one
        for `at_once` groups at a time.

        Returns what the first of them saw: the loss of a pair with its noise, and the length of the gradient,
        place by place."""
        seen = 0.0, 0.0
        for first in range(0, len(groups.inputs_gi), at_once):
            part = groups.part(first, at_once)
            scores_gpc, inputs_gid, contexts_gcd = self.gradients(part)
            if not first:
                length = torch.hypot(inputs_gid.norm(), contexts_gcd.norm())
                seen = float(_loss(scores_gpc, part)) / max(1, part.n_targets), float(length)
            for table, ids, slopes in (
                (self.embedding.weight, part.inputs_gi, inputs_gid),
                (self.contexts.weight, part.contexts_gc, contexts_gcd),
            ):
                table.index_add_(0, ids.flatten(), slopes.flatten(0, 1), alpha=-rate)
        return seen


def _loss(scores_gpc: Tensor, groups: Groups) -> Tensor:
    """Σ weights · softplus(s) - Σ wanted · s: for a pair log(1 + e⁻ˢ), for noise log(1 + eˢ)."""
    return (groups.weights_gpc * F.softplus(scores_gpc)).sum() - (groups.wanted_gpc * scores_gpc).sum()
