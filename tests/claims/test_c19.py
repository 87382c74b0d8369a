"""C19: heads that mislead are told from heads whose weights say what they do, and the judge goes by that."""

import pytest

from glassformer.claims import claim, measured
from glassformer.claims.c19_weight_and_effect import (
    FAMILIES,
    LOSSES,
    Finding,
    agreement,
    finding,
    idle,
    models,
    of_edge,
    reversal,
)
from glassformer.claims.claim import Verdict
from glassformer.claims.run import run
from glassformer.claims.statistics import rank_correlation

C19 = claim("C19")


def told(effects_of, families=FAMILIES):
    """The kept measurement with other losses in these families: those that `effects_of` makes of weights."""
    kept = dict(measured("C19"))
    for family in families:
        kept[family] = [
            {
                **seed,
                "effects": {
                    edge: {"weight": found["weight"]}
                    | {loss: [*map(effects_of, found["weight"]), 1.0] for loss in LOSSES}
                    for edge, found in seed["effects"].items()
                },
            }
            for seed in kept[family]
        ]
    return kept


def honest(weight):
    return 2 * weight


def test_heads_are_read_in_their_order():
    kept = measured("C19")
    [first, *_] = models(kept, "bert")
    head = first[17]  # 12 edges from the pronoun, then those from the answer
    assert (head.edge, head.layer, head.head) == ("answer", 1, 1)
    columns = kept["bert"][0]["effects"]["answer"]
    assert head.weight == columns["weight"][5]
    assert head.losses == tuple(columns[loss][5] for loss in LOSSES)


def test_agreement_is_over_the_edges_of_a_model():
    found = models(measured("C19"), "gpt")
    by_hand = [
        rank_correlation([h.weight for h in model], [abs(h.losses[0]) for h in model]) for model in found
    ]
    assert agreement(found, "cut").mean == pytest.approx(sum(by_hand) / len(by_hand))


def test_the_reversal_weighs_more_and_loses_less():
    for family in FAMILIES:
        heavy, light = reversal(models(measured("C19"), family))
        assert heavy.seed == light.seed
        assert heavy.weight > light.weight
        assert abs(heavy.losses[0]) < light.losses[0]


def test_weights_that_say_what_heads_do_contradict_it():
    kept = told(honest)
    assert agreement(models(kept, "gpt"), "cut").low == pytest.approx(1)
    assert C19.judge(kept).verdict is Verdict.FAILS


def test_it_holds_within_the_family_that_misleads():
    for family in FAMILIES:
        other = [each for each in FAMILIES if each != family]
        misleading = told(lambda weight: 1 - weight, [family])
        judgement = C19.judge({**misleading, other[0]: told(honest)[other[0]]})
        assert judgement.verdict is Verdict.WITHIN
        assert family.upper() in judgement.within.en


def test_idle_edges_mislead_where_ranks_agree():
    """Effects in the order of the weights, but none worth speaking of below a weight of 0.9."""

    def steep(weight):
        return weight * (1e-4 if weight < 0.9 else 1)

    kept = told(steep)
    assert idle(models(kept, "gpt")).mean > 0
    assert agreement(models(kept, "gpt"), "cut").low > 0.9
    assert C19.judge(kept).verdict is Verdict.HOLDS


def test_edges_that_weigh_little_and_do_nothing_are_not_judged():
    kept = told(lambda weight: 0.0)
    for seed in kept["gpt"]:
        seed["effects"]["pronoun"]["weight"] = [0.1] * 12
    assert finding(of_edge(models(kept, "gpt"), "pronoun")) is Finding.NOTHING
    judgement = C19.judge(kept)
    assert "GPT from the pronoun" not in f"{judgement.within}"
    assert "in 15 of 15 models no edge from the pronoun weighs" in judgement.found.en


def test_more_is_asked_of_each_kind_of_edge_than_of_all_together():
    """Heads of one kind whose ranks agree do not hide those of another that mislead."""
    kept = told(honest)
    for seed in kept["bert"]:
        weights = seed["effects"]["pronoun"]["weight"]
        seed["effects"]["pronoun"] |= {loss: [*(1 - w for w in weights), 1.0] for loss in LOSSES}
    judgement = C19.judge(kept)
    assert judgement.verdict is Verdict.WITHIN
    assert judgement.within.en == "edges of BERT from the pronoun"


def test_one_seed_cannot_say_how_well_they_agree():
    kept = told(honest)
    quick = {"quick": True} | {family: kept[family][:1] for family in FAMILIES}
    assert C19.judge(quick).verdict is Verdict.UNDECIDED
    assert C19.figures(quick)


def test_models_that_did_not_learn_say_nothing():
    kept = measured("C19")
    ignorant = {family: [{**seed, "accuracy": 0.5} for seed in kept[family]] for family in FAMILIES}
    assert C19.judge({**kept, **ignorant}).verdict is Verdict.FAILS
    assert C19.judge({**ignorant, "quick": True}).verdict is Verdict.UNDECIDED


@pytest.mark.slow
def test_measured_anew_and_quickly_it_is_judged_alike(tmp_path):
    found = run(C19, tmp_path, quick=True)
    for family in FAMILIES:
        assert found[family][0]["accuracy"] > 0.95
    assert C19.judge(found).verdict in (Verdict.UNDECIDED, C19.judge(measured("C19")).verdict)
