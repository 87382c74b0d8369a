"""Batches for word vectors: which words are kept, which are neighbours, which are noise.

Shapes: g groups, p places, w window, k noise words of a group.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding, pad

from ..models.word2vec import Groups, Word2VecConfig
from .corpus import Tokens

PLACES = 32  # in a group
NOISE = {"skipgram": 32, "cbow": 16}  # words that a group shares; CBOW has one prediction for each place
AT_ONCE = 16  # groups that one update of the tables takes
MOST = 6.0  # of rate times weight that an update may put on one word; with more it overshoots
POWER = 0.75  # of the counts (Mikolov et al. 2013b)

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


def keep_probability(counts: Ids, threshold: float) -> Floats:
    """With which probability each word of a text is kept: √(t/f) + t/f, at most 1, where f is its share of
    all words. (The paper has √(t/f); the original's code, and so everybody's figures, this.) A word without
    a count was never learned, and is not kept."""
    if not threshold:
        return (counts > 0).astype(np.float64)
    ratio = threshold * counts.sum() / np.maximum(counts, 1)
    kept: Floats = np.minimum(1.0, np.sqrt(ratio) + ratio) * (counts > 0)
    return kept


def noise_probability(counts: Ids) -> Floats:
    """The noise: each word's count to the power 0.75, normalised."""
    raised: Floats = counts.astype(np.float64) ** POWER
    raised /= raised.sum()
    return raised


@dataclass(frozen=True)
class Neighbours:
    """Makes batches of stretches of text. `counts`, in the text to learn from, are those of
    all words but END, which is the last id."""

    counts: Ids
    config: Word2VecConfig

    @cached_property
    def _keep(self) -> Floats:
        return np.append(keep_probability(self.counts, self.config.subsample), 0.0)  # END is no word

    @cached_property
    def _noise(self) -> Floats:
        return np.cumsum(noise_probability(self.counts))

    def groups(self, stretches: Tokens, chance: np.random.Generator, noise: int | None = None) -> Groups:
        """The batch of some stretches of text (stretch, n); all chance comes from `chance`. `noise`: so many
        words of it for each group instead of the usual number."""
        noise = noise or NOISE[self.config.objective]
        text, breaks = stretches.ravel(), stretches == len(self.counts)
        breaks[:, 0] = True
        kept = np.flatnonzero(chance.random(len(text), np.float32) < self._keep[text])
        sentence = np.cumsum(breaks)[kept]
        words = text[kept].astype(np.int64)
        left, right = reach(sentence, chance.integers(1, self.config.window + 1, len(words)))
        n_groups = max(1, -(-len(words) // PLACES))
        drawn = np.searchsorted(self._noise, chance.random((n_groups, noise)))
        return self._grouped(words, left, right, np.minimum(drawn, len(self.counts) - 1))

    def pace(self, rate: float) -> tuple[int, float]:
        """How many groups to take in one update at a rate, and by what to multiply the rate where the most
        frequent word makes up so much of even one group that its vectors would overshoot."""
        per_group = rate * self._heaviest
        return max(1, min(AT_ONCE, int(MOST / per_group))), min(1.0, MOST / per_group)

    @cached_property
    def _heaviest(self) -> float:
        """The weight of all pairs and noise of the most frequent word that a group has on average."""
        share = self._keep[:-1] * self.counts
        share = share / share.sum()
        noise = self.config.negative * noise_probability(self.counts)
        weight = np.maximum(share * (1 + self.config.negative), share + noise).max()
        return float(PLACES * (self.config.window + 1) * weight)

    def _grouped(self, words: Ids, left: Ids, right: Ids, noise_gk: Ids) -> Groups:
        window, (n_groups, n_noise) = self.config.window, noise_gk.shape
        rest = n_groups * PLACES - len(words)
        padded = pad(torch.from_numpy(words), (window, window + rest))
        around_gi = padded.unfold(0, PLACES + 2 * window, PLACES)
        places_gp = padded[window : window + n_groups * PLACES].view(n_groups, PLACES)
        reach_gp = pad(torch.from_numpy(left * (window + 1) + right), (0, rest)).view(n_groups, PLACES)
        n_near_gp = pad(torch.from_numpy(left + right), (0, rest)).view(n_groups, PLACES)
        skipgram = self.config.objective == "skipgram"
        near_gpi = torch.zeros(n_groups, PLACES, PLACES + 2 * window + (n_noise if skipgram else 0))
        # Place p of a group sees the columns from p on, 2w + 1 of them: a band beside the diagonal.
        columns = near_gpi.shape[2]
        band = near_gpi.as_strided((n_groups, PLACES, 2 * window + 1), (PLACES * columns, columns + 1, 1))
        band.copy_(embedding(reach_gp, self._seen))
        if skipgram:
            weights_gpc = near_gpi.clone()
            weights_gpc[:, :, -n_noise:] = (n_near_gp * (self.config.negative / n_noise))[:, :, None]
            contexts_gc = torch.cat([around_gi, torch.from_numpy(noise_gk)], 1)
            return Groups(places_gp, contexts_gc, near_gpi, weights_gpc)
        predicted_gp = (n_near_gp > 0).float()  # not what has no neighbours
        wanted_gpc = torch.zeros(n_groups, PLACES, PLACES + n_noise)
        wanted_gpc.diagonal(dim1=1, dim2=2).copy_(predicted_gp)
        weights_gpc = wanted_gpc.clone()
        weights_gpc[:, :, -n_noise:] = (predicted_gp * (self.config.negative / n_noise))[:, :, None]
        contexts_gc = torch.cat([places_gp, torch.from_numpy(noise_gk)], 1)
        return Groups(around_gi, contexts_gc, wanted_gpc, weights_gpc, near_gpi)

    @cached_property
    def _seen(self) -> Tensor:
        """For each reach, left · (w + 1) + right, which of the 2w + 1 columns around a place it covers."""
        window = self.config.window
        offset = torch.arange(2 * window + 1) - window
        left, right = torch.arange(window + 1)[:, None, None], torch.arange(window + 1)[:, None]
        seen = (offset >= -left) & (offset <= right) & (offset != 0)
        return seen.float().flatten(0, 1)


def reach(sentence: Ids, window: Ids) -> tuple[Ids, Ids]:
    """How far each place sees to its left and right: so many words as its window has, none beyond those of
    the same sentence. `sentence` numbers the sentences in order."""
    at = np.arange(len(sentence))
    first = np.searchsorted(sentence, sentence, "left")
    last = np.searchsorted(sentence, sentence, "right") - 1
    return np.minimum(window, at - first), np.minimum(window, last - at)
