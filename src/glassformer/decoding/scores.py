"""How near translations come to references: BLEU (Papineni et al. 2002) and chrF (Popović 2015), by
sacrebleu, whose signature says how a figure was made."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
    return _scores(translations, references, "zh" if _mostly(_CHINESE, references) else "13a")


def by_length(
    sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> tuple[str, list[Lengths]]:
    """The same for sources of about one length, groups without a line left out; and what counts as length:
    "words" between white space, or "characters" where most sources are written without (Chinese, Japanese,
    Thai), or none has any."""
    words = not _mostly(_UNSPACED, sources) and any(len(source.split()) > 1 for source in sources)
    lengths = [len(source.split()) if words else len("".join(source.split())) for source in sources]
    tokenize = "zh" if _mostly(_CHINESE, references) else "13a"
    groups = []
    for low, high in zip((0, *(edge + 1 for edge in EDGES)), (*EDGES, None), strict=True):
        some = [i for i, n in enumerate(lengths) if low <= n and (high is None or n <= high)]
        if some:
            scores = _scores([translations[i] for i in some], [references[i] for i in some], tokenize)
            groups.append(Lengths(low, high, len(some), scores))
    return "words" if words else "characters", groups


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
