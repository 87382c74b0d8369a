"""How near translations come to references: BLEU (Papineni et al. 2002) and chrF (Popović 2015), by
sacrebleu, whose signature says how a figure was made."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UserError

_CHINESE = re.compile("[\u3400-\u9fff]")
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF, of 100, each with sacrebleu's signature; and the share of translations that are the
    reference."""

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    exact: float


@dataclass(frozen=True)
class Lengths:
    """The scores of those lines whose source has `low` to `high` words or characters (`high` None: or more);
    of `n` lines."""

    low: int
    high: int | None
    n: int
    scores: Scores


EDGES = (5, 10, 20, 40, 80)
"""The longest sources of each group."""


def against(translations: Sequence[str], references: Sequence[str]) -> Scores:
    """Scores of translations with one reference each. Chinese references are cut into characters for BLEU,
    which its signature says (tok:zh). Raises UserError for another number of them, or none."""
    if len(translations) != len(references) or not references:
        raise UserError(
            f"{len(translations)} translations and {len(references)} references: no two go together"
        )
    return _scores(translations, references, _cut(references))


def by_length(
    sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> tuple[str, list[Lengths]]:
    """The same for sources of about one length, and what counts as length, as `length_groups` says."""
    what, groups = length_groups(sources)
    told = []
    for low, high, some in groups:
        scores = _scores([translations[i] for i in some], [references[i] for i in some], _cut(references))
        told.append(Lengths(low, high, len(some), scores))
    return what, told


def length_groups(sources: Sequence[str]) -> tuple[str, list[tuple[int, int | None, list[int]]]]:
    """What counts as length: "words" between white space, or "characters" where most sources are written
    without (Chinese, Japanese, Thai), or none has any; and the groups of EDGES: from which length to which
    (None: or more), and which sources they are. Groups without one are left out."""
    words = not _mostly(_UNSPACED, sources) and any(len(source.split()) > 1 for source in sources)
    lengths = [len(source.split()) if words else len("".join(source.split())) for source in sources]
    groups = []
    for low, high in zip((0, *(edge + 1 for edge in EDGES)), (*EDGES, None), strict=True):
        some = [i for i, n in enumerate(lengths) if low <= n and (high is None or n <= high)]
        if some:
            groups.append((low, high, some))
    return "words" if words else "characters", groups


def bleu_counts(translations: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """What BLEU counts in each line (n, 10): n-grams of 1 to 4 tokens that the reference has as well, all of
    them, and the tokens of both. `bleu` makes of the sums over lines what `against` tells of these lines."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=_cut(references), effective_order=True)
    found = (
        metric.sentence_score(translation, [reference])
        for translation, reference in zip(translations, references, strict=True)
    )
    return np.array([[*line.counts, *line.totals, line.sys_len, line.ref_len] for line in found])


def bleu(counts: ArrayLike) -> float:
    """BLEU, of 100, by the sums (10) of what `bleu_counts` counted."""
    from sacrebleu.metrics.bleu import BLEU

    *ngrams, written, reference = np.asarray(counts).tolist()
    return float(BLEU.compute_bleu(ngrams[:4], ngrams[4:], written, reference, smooth_method="exp").score)


def _cut(references: Sequence[str]) -> str:
    """How sacrebleu is to cut these into tokens."""
    return "zh" if _mostly(_CHINESE, references) else "13a"


def _mostly(pattern: re.Pattern[str], lines: Sequence[str]) -> bool:
    return 2 * sum(bool(pattern.search(line)) for line in lines) > len(lines)


def _scores(translations: Sequence[str], references: Sequence[str], tokenize: str) -> Scores:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf = BLEU(tokenize=tokenize), CHRF()
    figures = [metric.corpus_score(translations, [references]) for metric in (bleu, chrf)]
    signatures = [str(metric.get_signature()) for metric in (bleu, chrf)]
    exact = sum(one == other for one, other in zip(translations, references, strict=True)) / len(references)
    return Scores(figures[0].score, signatures[0], figures[1].score, signatures[1], exact)
