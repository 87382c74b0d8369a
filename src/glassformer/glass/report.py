"""Measured effects as text and as CSV."""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import Model
from ..output import whole, write_text
from .effect import BASELINES, Effects, Ints
from .trace import ids_of, require_attention, trace


def target_id(tokenizer: Tokenizer, text: str) -> int:
    """The one token that `text` is. Raises UserError, naming the pieces, if it is none or several."""
    ids = [int(i) for i in tokenizer.encode_part(text)]
    if len(ids) == 1:
        return ids[0]
    if not ids:
        raise UserError("the target is empty; it must be one token")
    pieces = " ".join(tokenizer.labels(ids))
    raise UserError(f"the target {text!r} is {len(ids)} tokens ({pieces}); it must be one")


@dataclass(frozen=True)
class Names:
    """What the tokens are called: the queries and keys of an attention, which are those of one text unless it
    reads another, and the tokens after whose last one a token is followed."""

    queries: list[str]
    keys: list[str]
    read: list[str]


def summary(effects: Effects, tokenizer: Tokenizer, names: Names, rows: int = 10) -> str:
    """What was measured, the edges that matter most, how well weight foretells effect, and where it does
    not."""
    target = tokenizer.labels([effects.target])[0]
    probability = math.exp(effects.log_probability)
    lines = [
        f"target {target} after token {effects.position} ({names.read[effects.position]}): "
        f"log-probability {effects.log_probability:.4f} ({100 * probability:.2f} %)",
        f"zeroed: {BASELINES[effects.baseline]}; effects are changes of that log-probability, in nats",
        "",
        "largest effects when cut",
        *_table(effects, names, effects.strongest(rows)),
        "",
        f"rank agreement of weight and size of the effect over {len(effects):,} edges: "
        f"cut {_figure(effects.agreement('cut'))}, zeroed {_figure(effects.agreement('zeroed'))}, "
        f"moved {_figure(effects.agreement('moved'))}",
        "",
        "where weight and effect disagree most",
        *_table(effects, names, effects.disagreements(rows)),
    ]
    return "\n".join(lines)


def signed(value: float, digits: int) -> str:
    """A change with its sign, which one that rounds to nothing has not: +0.120, -0.003, 0.000."""
    text = f"{value:+.{digits}f}"
    return text if float(text) else text[1:]


def _figure(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:+.3f}"


def _table(effects: Effects, names: Names, rows: Ints) -> list[str]:
    lines = ["  layer  head  weight   moved  when cut  zeroed  edge"]
    for i in rows:
        query, key = int(effects.query[i]), int(effects.key[i])
        lines.append(
            f"  {effects.layer[i]:5d}  {effects.head[i]:4d}  {effects.weight[i]:6.3f}"
            f"  {effects.moved[i]:6.3f}  {signed(effects.cut[i], 4):>8}  {signed(effects.zeroed[i], 3):>6}"
            f"  {query} {names.queries[query]} → {key} {names.keys[key]}"
        )
    return lines


def write_csv(effects: Effects, names: Names, path: Path) -> None:
    """One line per edge, with full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["layer", "head", "query", "query_token", "key", "key_token", "weight", "moved", "cut", "zeroed"]
    )
    for i in range(len(effects)):
        query, key = int(effects.query[i]), int(effects.key[i])
        writer.writerow(
            [effects.layer[i], effects.head[i], query, names.queries[query], key, names.keys[key]]
            + [
                repr(float(column[i]))
                for column in (effects.weight, effects.moved, effects.cut, effects.zeroed)
            ]
        )
    write_text(path, text.getvalue())


def write_npz(model: Model, tokenizer: Tokenizer, text: str, path: Path) -> None:
    """All attention weights (L, h, n, n), float32, with the text's ids and labels. Raises UserError for a
    recurrent model, which has none."""
    require_attention(model, "weights to save")
    ids = ids_of(model, tokenizer, text)[-model.config.context :]
    traced = trace(model, ids, "blocks.*.attention.weights")
    weights = np.stack([traced[name][0].float().cpu().numpy() for name in traced])
    with whole(path) as file:
        np.savez_compressed(file, weights=weights, ids=np.array(ids), labels=np.array(tokenizer.labels(ids)))
