"""C13: counts against sums by hand, and a judge that can be contradicted."""

import copy

import pytest

from glassformer.claims import claim, measured
from glassformer.claims.c13_share_of_the_ffn import counted
from glassformer.claims.claim import Verdict

C13 = claim("C13")


def test_counts_are_those_of_the_formulas():
    gpt2, d, layers = counted("GPT-2 124M"), 768, 12
    attention, ffn, norms = 4 * (d * d + d), 8 * d * d + 5 * d, 2 * 2 * d
    assert gpt2["blocks"] == [{"ffn": ffn, "cross": 0, "all": attention + ffn + norms}]
    assert gpt2["ffn"] == layers * ffn
    assert gpt2["all"] == 124_439_808
    assert 100 * gpt2["ffn"] / gpt2["all"] == pytest.approx(45.5, abs=0.05)


def test_a_gated_network_has_three_matrices_and_shared_keys_a_smaller_attention():
    (block,), d, f = counted("Llama 3 8B")["blocks"], 4096, 14_336
    assert block == {"ffn": 3 * d * f, "cross": 0, "all": 3 * d * f + 2 * d * d + 2 * d * d // 4 + 2 * d}


def changed(change):
    kept = copy.deepcopy(measured("C13"))
    for model in kept["models"]:
        for block in model["blocks"]:
            change(model, block)
    return C13.judge(kept).verdict


def test_it_holds_where_no_block_reads_a_memory():
    kept = measured("C13")
    assert C13.judge(kept).verdict is Verdict.WITHIN
    plain = [model for model in kept["models"] if len(model["blocks"]) == 1]
    assert C13.judge({**kept, "models": plain}).verdict is Verdict.HOLDS


def test_a_block_of_more_attention_contradicts_it():
    def more(model, block):
        if model["name"] == "BERT base":
            block["all"] = 2 * block["ffn"]

    assert changed(more) is Verdict.FAILS


def test_another_share_than_two_thirds_contradicts_it():
    def less(model, block):
        if model["name"] == "GPT-2 XL":
            block["all"] = block["ffn"] / 0.6

    assert changed(less) is Verdict.FAILS
