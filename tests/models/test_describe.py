"""`info`: every family is told of by its own parameters, each counted once."""

import pytest

from glassformer.models import FAMILIES
from glassformer.models.describe import figures, table

BLOCKS = {"n_layers": 1, "n_heads": 2, "d_model": 8, "context": 4}
INNER = {**BLOCKS, "d_inner": 16, "norm_eps": 1e-5}
SMALL = {
    "gpt": BLOCKS,
    "llama": {**INNER, "n_kv_heads": 1, "d_head": 4, "rotary_base": 1e4},
    "bert": {**INNER, "activation": "gelu", "n_types": 2, "pooler": True},
    "transformer": BLOCKS,
    "t5": {
        **INNER,
        "n_decoder_layers": 1,
        "d_head": 4,
        "activation": "relu",
        "n_buckets": 4,
        "max_distance": 8,
        "tie_embeddings": True,
        "scale_head": True,
    },
    "recurrent": {"n_layers": 1, "d_model": 8},
    "seq2seq": {"n_layers": 1, "d_model": 8},
    "word2vec": {"d_model": 8},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_told_of(family):
    make_config, make = FAMILIES[family]
    model = make(make_config(vocab_size=11, **SMALL[family]))
    told, lines = figures(model), table(model)
    assert told["config"]["vocab_size"] == 11
    total = sum(parameter.numel() for parameter in model.parameters())
    assert sum(told["parameters"].values()) == total
    [shown] = [line.split()[1] for line in lines.split("\n") if line.split()[:1] == ["all"]]
    assert shown == f"{total:,}"
    shown = [line.strip() for line in lines.split("\n")]
    for part in (part for part, count in told["parameters"].items() if count):
        assert any(line.startswith(part) for line in shown), part
