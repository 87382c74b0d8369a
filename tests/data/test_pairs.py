"""Batches for word vectors: subsampling, windows, noise."""

import numpy as np
import pytest
import torch

from glassformer.data.pairs import PLACES, Neighbours, keep_probability, noise_probability, reach
from glassformer.models import Word2VecConfig

COUNTS = np.array([4000, 2000, 1000, 500, 100, 10])


def test_the_kept_share_is_that_of_the_original_code() -> None:
    """f = .01, t = .001: the paper keeps √(t/f) = .3162, the code √(t/f) + t/f = .4162."""
    counts = np.array([100, 1, 0, 9899])
    kept = keep_probability(counts, 1e-3)
    assert kept[0] == pytest.approx(0.4162, abs=1e-4)
    assert kept[1] == 1
    assert kept[2] == 0
    assert keep_probability(counts, 0).tolist() == [1, 1, 0, 1]


def test_noise_is_the_count_to_three_quarters() -> None:
    np.testing.assert_allclose(noise_probability(np.array([1, 16, 81])), np.array([1, 8, 27]) / 36)


def batch(objective: str = "skipgram", n: int = 60_000, **settings: float):
    config = Word2VecConfig(7, d_model=4, objective=objective, **settings)  # type: ignore[arg-type]
    text = np.random.default_rng(1).choice(6, n, p=COUNTS / COUNTS.sum())
    neighbours = Neighbours(COUNTS, config)
    return text, neighbours.groups(text[None], np.random.default_rng(2))


def test_words_are_kept_and_noise_drawn_as_often_as_they_should_be() -> None:
    text, groups = batch(subsample=0.05)
    kept = np.bincount(groups.inputs_gi[groups.wanted_gpc.sum(2) > 0], minlength=6)
    expected = np.bincount(text, minlength=6) * keep_probability(COUNTS, 0.05)
    np.testing.assert_allclose(kept, expected, atol=4 * np.sqrt(expected.max()))
    noise = groups.contexts_gc[:, PLACES + 10 :]
    drawn = np.bincount(noise.flatten(), minlength=6) / noise.numel()
    np.testing.assert_allclose(drawn, noise_probability(COUNTS), atol=4 * np.sqrt(0.25 / noise.numel()))


def test_windows_are_drawn_evenly() -> None:
    """With a window drawn from 1 to 5, distance d is seen by (6 - d) of 5 places, on both sides."""
    _, groups = batch(subsample=0, window=5)
    place = torch.arange(PLACES)[:, None]
    column = torch.arange(PLACES + 10)
    for distance in range(1, 8):
        for side in (-1, 1):
            share = groups.wanted_gpc[:, :, : PLACES + 10][:, column - 5 - place == side * distance].mean()
            assert float(share) == pytest.approx(max(0, 6 - distance) / 5, abs=0.02)
    assert not groups.wanted_gpc[:, :, : PLACES + 10][:, column - 5 == place].any()


def test_no_window_reaches_over_a_break() -> None:
    left, right = reach(np.array([0, 0, 0, 1, 1, 3]), np.array([5, 1, 2, 2, 5, 5]))
    assert left.tolist() == [0, 1, 2, 0, 1, 0]
    assert right.tolist() == [2, 1, 0, 1, 0, 0]
    config = Word2VecConfig(4, d_model=2, window=3, subsample=0)
    end = 3
    stretches = np.array([[0, 1, end, 2, 0], [1, end, end, end, 2]])
    groups = Neighbours(np.array([1, 1, 1]), config).groups(stretches, np.random.default_rng(0))
    pairs = [
        (int(groups.inputs_gi[g, p]), int(groups.contexts_gc[g, c]))
        for g, p, c in groups.wanted_gpc.nonzero().tolist()
    ]
    assert sorted(pairs) == [(0, 1), (0, 2), (1, 0), (2, 0)]


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
def test_every_pair_has_its_share_of_noise(objective: str) -> None:
    """Together the shared noise words of a place weigh `negative` for each of its pairs."""
    _, groups = batch(objective, n=1000, subsample=0, negative=7)
    pairs = groups.wanted_gpc.sum(2)
    torch.testing.assert_close((groups.weights_gpc - groups.wanted_gpc).sum(2), 7 * pairs)
    assert groups.n_targets == int(pairs.sum())
    if objective == "cbow":
        assert groups.n_targets == 1000
        assert groups.near_gpi is not None
        assert (groups.near_gpi.sum(2) > 0).sum() == 1000


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
@pytest.mark.parametrize("n", [0, 1, 2, PLACES, PLACES + 1])
def test_any_number_of_words_makes_a_batch(objective: str, n: int) -> None:
    text = np.zeros((1, max(n, 1)), np.int64) + (6 if n == 0 else 0)
    config = Word2VecConfig(7, d_model=2, objective=objective, window=40, subsample=0)  # type: ignore[arg-type]
    groups = Neighbours(COUNTS, config).groups(text, np.random.default_rng(0))
    assert (groups.n_targets > 0) == (n > 1)
    assert torch.isfinite(groups.weights_gpc).all()


def test_few_words_are_taken_in_small_updates() -> None:
    """A word that is most of the text would overshoot if all of it moved its vectors at once."""
    config = Word2VecConfig(100, d_model=2)
    many = Neighbours(np.arange(20_000, 0, -1), config)
    assert many.pace(0.025) == (16, 1.0)
    assert many.pace(5.0)[0] < 16
    at_once, share = Neighbours(np.array([5, 5]), config).pace(0.05)
    assert at_once == 1
    assert share < 0.5
