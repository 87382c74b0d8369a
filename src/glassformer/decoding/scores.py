"""How near translations come to references: BLEU (Papineni et al. 2002) and chrF (Popović 2015), by
sacrebleu, whose signature says how a figure was made."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UserError

_CHINESE = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF, of 100, each with sacrebleu's signature; and the share of translations that are the
    reference."""

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    exact: float


def against(translations: Sequence[str], references: Sequence[str]) -> Scores:
    """Scores of translations with one reference each. Chinese references are cut into characters for BLEU,
    which its signature says (tok:zh). Raises UserError for another number of them, or none."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    if len(translations) != len(references) or not references:
        raise UserError(
            f"{len(translations)} translations and {len(references)} references: no two go together"
        )
    chinese = 2 * sum(bool(_CHINESE.search(line)) for line in references) > len(references)
    bleu, chrf = BLEU(tokenize="zh" if chinese else "13a"), CHRF()
    figures = [metric.corpus_score(translations, [references]) for metric in (bleu, chrf)]
    signatures = [str(metric.get_signature()) for metric in (bleu, chrf)]
    exact = sum(one == other for one, other in zip(translations, references, strict=True)) / len(references)
    return Scores(figures[0].score, signatures[0], figures[1].score, signatures[1], exact)
