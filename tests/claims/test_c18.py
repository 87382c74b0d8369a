"""C18: blocks that lack what they should lack and nothing else, and a judge that can be contradicted."""

import copy
import math

import pytest
import torch
from torch import nn

from glassformer.claims import claim, measured
from glassformer.claims.claim import Verdict, Work
from glassformer.claims.stacks import (
    CONTEXT,
    VARIANTS,
    WIDTH,
    Ablated,
    Variant,
    gap_by_block,
    gradient_by_block,
    loss_of_frequencies,
    stack,
    text,
)
from glassformer.nn.blocks import Block

C18 = claim("C18")


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_with_a_residual_stream_it_is_the_block_itself(norm):
    torch.manual_seed(0)
    ablated, x = Ablated(Variant(True, norm)), torch.randn(2, 5, WIDTH)
    norms = (ablated.attention_norm, ablated.ffn_norm)
    block = Block(ablated.attention, ablated.ffn, norms, order=norm)
    assert torch.equal(ablated(x, mask="causal"), block(x, mask="causal"))


def test_without_one_sublayers_follow_each_other():
    torch.manual_seed(0)
    x = torch.randn(2, 5, WIDTH)
    bare = Ablated(Variant(False, "none"))
    assert torch.equal(bare(x), bare.ffn(bare.attention(x)))
    pre = Ablated(Variant(False, "pre"))
    assert torch.equal(pre(x), pre.ffn(pre.ffn_norm(pre.attention(pre.attention_norm(x)))))
    post = Ablated(Variant(False, "post"))
    assert torch.equal(post(x), post.ffn_norm(post.ffn(post.attention_norm(post.attention(x)))))


def test_all_stacks_begin_with_the_same_weights():
    first = []
    for variant in VARIANTS.values():
        torch.manual_seed(0)
        model = stack(variant, 2, 27)
        first.append(torch.cat([m.weight.flatten() for m in model.modules() if isinstance(m, nn.Linear)]))
        assert model(torch.zeros(1, CONTEXT, dtype=torch.long))[0].shape == (1, CONTEXT, 27)
    assert all(torch.equal(weights, first[0]) for weights in first)


def test_the_entropy_is_the_least_loss_that_knows_no_context():
    ids, letters, entropy = text()
    shares = torch.bincount(torch.tensor(ids.astype("int64")), minlength=letters) / len(ids)
    loss = nn.functional.cross_entropy(shares.log().expand(len(ids), -1), torch.tensor(ids.astype("int64")))
    assert float(loss) == pytest.approx(entropy, abs=1e-3)
    assert loss_of_frequencies(0, 1000) == pytest.approx(entropy, abs=0.02)


def test_a_gradient_fades_where_nothing_carries_it():
    norms = gradient_by_block("none, none", 0, 4)
    assert len(norms) == 4
    assert norms[0] < norms[-1] / 10


def test_places_become_alike_where_nothing_keeps_them_apart():
    bare, whole = (gap_by_block(name, 0, 6) for name in ("none, pre", "residual, pre"))
    assert bare[-1] < bare[0] / 10
    assert whole[-1] > 10 * bare[-1]


def gained(gains, quick=False):
    """The judgement if at all depths and rates each kind of block gained this much, a little apart by
    seed."""
    kept = copy.deepcopy(measured("C18"))
    for name, gain in gains.items():
        for by_rate in kept["losses"][name]:
            apart = zip(kept["frequencies"], (-0.01, 0.0, 0.01), strict=True)
            by_rate[:] = [[known - gain - off for known, off in apart]] * len(by_rate)
    return C18.judge({**kept, "quick": quick})


ALL = {"residual, pre": 0.4, "residual, post": 0.1, "residual, none": 0.0} | {
    f"none, {norm}": 0.0 for norm in ("pre", "post", "none")
}


def test_it_holds_where_all_three_make_a_difference():
    assert gained(ALL).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("same", "left"),
    [
        ({"residual, post": 0.4}, "residuals, having norms"),
        ({"residual, none": 0.4}, "residuals, their place"),
        ({"none, pre": 0.4}, "having norms, their place"),
    ],
)
def test_what_makes_no_difference_is_left_out(same, left):
    judgement = gained({**ALL, **same})
    assert judgement.verdict is Verdict.WITHIN
    assert judgement.within.en == left
    assert gained({**ALL, **same}, quick=True).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("gain", [0.0, 0.4])
def test_stacks_that_all_train_or_all_fail_contradict_it(gain):
    assert gained(dict.fromkeys(ALL, gain)).verdict is Verdict.FAILS


def test_a_training_without_a_finite_loss_gained_nothing():
    kept = copy.deepcopy(measured("C18"))
    kept["losses"]["residual, pre"][-1] = [[None] * 3 for _ in kept["rates"]]
    assert C18.judge(kept).verdict is Verdict.FAILS


@pytest.mark.slow
def test_a_quick_run_does_not_contradict_the_full_one():
    found = {**C18.measure(Work(quick=True)), "quick": True}
    assert C18.judge(found).verdict in (Verdict.UNDECIDED, C18.judge(measured("C18")).verdict)
    assert math.isfinite(found["entropy"])
