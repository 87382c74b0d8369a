"""C22: which role a head has, and a judge that can be contradicted."""

import pytest

from glassformer.claims import claim, measured
from glassformer.claims.c22_roles_of_heads import LEARNT, RISE, ROLES, growth, leading, taken
from glassformer.claims.claim import Verdict
from glassformer.claims.run import run

C22 = claim("C22")
SEEDS = 8


def model(*heads, accuracy=1.0):
    """A model with these trained heads, each given as {score: value}, and untrained ones at 0.1."""
    return {
        "steps": 1,
        "accuracy": accuracy,
        "untrained": {role: [0.1] * len(heads) for role in ROLES},
        "trained": {role: [head.get(role, 0.1) for head in heads] for role in ROLES},
    }


def verdict(*models, quick=False):
    return C22.judge({"quick": quick, "seeds": models}).verdict


def varied(n, *heads):
    """So many models whose heads differ a little from one to the next."""
    return [model(*({r: s + 0.01 * i for r, s in head.items()} for head in heads)) for i in range(n)]


ALL_ROLES = ({"previous": 0.8}, {"same": 0.7}, {"pronoun": 0.6}, {"answer": 0.9})


def test_a_heads_role_is_what_rose_most():
    found = model({"previous": 0.5, "same": 0.6}, {"answer": 0.1 + RISE + 1e-9}, {"pronoun": 0.15}, {})
    assert leading(found) == ["same", "answer", None, None]
    assert taken(found) == {"same", "referent"}


def test_the_spread_is_over_the_heads_of_a_model():
    models = [model({"same": 0.1}, {"same": 0.5}), model({"same": 0.1}, {"same": 0.7})]
    assert growth(models, "same").mean == pytest.approx((0.2 + 0.3) / 2)
    assert growth(models, "previous").mean == 0


def test_it_holds_where_all_roles_have_heads():
    assert verdict(*varied(SEEDS, *ALL_ROLES)) is Verdict.HOLDS


def test_heads_that_all_do_the_same_contradict_it():
    judged = C22.judge({"quick": False, "seeds": varied(SEEDS, *[{"answer": 0.9}] * 3, {})})
    assert judged.verdict is Verdict.FAILS
    assert "3.0 heads" in judged.reason.en


def test_heads_that_stay_alike_contradict_it():
    assert verdict(*[model({}, {}, {})] * SEEDS) is Verdict.FAILS
    assert verdict(*[model(*[{"answer": 0.9}] * 4)] * SEEDS) is Verdict.FAILS


def test_two_roles_in_every_model_are_its_bounds():
    judged = C22.judge({"quick": False, "seeds": varied(SEEDS, {"same": 0.7}, {"answer": 0.9}, {})})
    assert judged.verdict is Verdict.WITHIN
    assert "the same word" in judged.within.en
    assert "the word before" not in judged.within.en


def test_models_that_did_not_learn_do_not_count():
    ignorant = [{**each, "accuracy": LEARNT - 0.01} for each in varied(SEEDS, *ALL_ROLES)]
    assert verdict(*ignorant) is Verdict.FAILS
    assert verdict(*ignorant, quick=True) is Verdict.UNDECIDED


def test_a_quick_run_does_not_contradict_it():
    assert verdict(*varied(2, {"answer": 0.9}, {}), quick=True) is Verdict.UNDECIDED


def test_the_kept_models_are_eight_and_begin_alike():
    kept = measured("C22")
    assert len(kept["seeds"]) == SEEDS
    for seed in kept["seeds"]:
        for role in ROLES:
            assert max(seed["untrained"][role]) - min(seed["untrained"][role]) < 0.02


@pytest.mark.slow
def test_measured_anew_and_quickly_it_is_judged_alike(tmp_path):
    found = run(C22, tmp_path, quick=True)
    assert C22.judge(found).verdict in (Verdict.UNDECIDED, C22.judge(measured("C22")).verdict)
