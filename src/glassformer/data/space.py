"""Words as points: which are near each other, and what completes an analogy. Nearness is the cosine.

Shapes: n words, q queries, D width.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError, unknown

Floats = NDArray[np.float32]
_NEAR_NAMES = 50_000  # beyond so many words, looking for one that is spelled alike takes too long


class WordSpace:
    """Words, the most frequent first, and their vectors (n, D). A vector of zeros is near nothing: its cosine
    with any other is 0."""

    def __init__(self, words: Sequence[str], vectors: Floats, name: str) -> None:
        self.words, self.vectors, self.name = list(words), vectors, name
        self.ids = {word: i for i, word in enumerate(self.words)}

    @cached_property
    def directions_nd(self) -> Floats:
        """The vectors at length 1."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        directions: Floats = (self.vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return directions

    def find(self, word: str) -> int | None:
        """The place of a word as it stands, or else in lower case; None if unknown."""
        return self.ids.get(word, self.ids.get(word.lower()))

    def place(self, word: str) -> int:
        """As `find`; UserError for a word that is not there."""
        place = self.find(word)
        if place is None:
            raise unknown(f"word in {self.name}:", word, self.words[:_NEAR_NAMES])
        return place

    def neighbours(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """The nearest other words and their cosines, the nearest first."""
        place = self.place(word)
        return self._nearest(self.directions_nd[place], [place], n)

    def analogy(self, a: str, b: str, c: str, n: int = 10) -> list[tuple[str, float]]:
        """What is to `c` as `b` is to `a` (man king woman: queen): the words nearest to b - a + c, all three
        at length 1, without the three themselves (Mikolov et al. 2013c)."""
        places = [self.place(word) for word in (a, b, c)]
        of_a, of_b, of_c = self.directions_nd[places]
        return self._nearest(of_b - of_a + of_c, places, n)

    def similarity(self, a: int, b: int) -> float:
        return float(self.directions_nd[a] @ self.directions_nd[b])

    def answers(self, questions_q3: NDArray[np.int64], *, offset: bool = True) -> NDArray[np.int64]:
        """The best answer (q,) to each question (a, b, c), the three words themselves left out; without the
        `offset` b - a the word nearest to c, to compare with."""
        found = np.empty(len(questions_q3), np.int64)
        rows = max(1, (1 << 25) // max(1, len(self.words)))
        for i in range(0, len(questions_q3), rows):
            part_q3 = questions_q3[i : i + rows]
            a_qd, b_qd, c_qd = (self.directions_nd[part_q3[:, j]] for j in range(3))
            cosines_qn = (b_qd - a_qd + c_qd if offset else c_qd) @ self.directions_nd.T
            np.put_along_axis(cosines_qn, part_q3, -np.inf, axis=1)
            found[i : i + rows] = cosines_qn.argmax(1)
        return found

    def _nearest(self, target_d: Floats, without: Sequence[int], n: int) -> list[tuple[str, float]]:
        length = float(np.linalg.norm(target_d))
        if length < 1e-6:
            raise UserError("nothing is near a vector of zeros")
        cosines_n = self.directions_nd @ target_d / length
        cosines_n[list(without)] = -np.inf
        n = min(n, len(self.words) - len(set(without)))
        order = np.argsort(-cosines_n, kind="stable")[: max(0, n)]
        return [(self.words[i], float(cosines_n[i])) for i in order]

    def flat(self, places: Sequence[int]) -> Floats:
        """Points (p, 2) of words in the plane in which they differ most: their first two principal
        components (Pearson 1901), each with the sign that makes its largest part positive."""
        rows = self.vectors[list(places)].astype(np.float64)
        _, _, axes = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
        axes = np.concatenate([axes, np.zeros((2, rows.shape[1]))])[:2]
        signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(1)])
        points: Floats = ((rows - rows.mean(0)) @ (axes * np.where(signs == 0, 1, signs)[:, None]).T).astype(
            np.float32
        )
        return points
