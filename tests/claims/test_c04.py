"""C4: what is counted as right, and what contradicts the claim."""

import pytest

from glassformer.claims import c04_bottleneck, claim, measured
from glassformer.claims.claim import Verdict, Work
from glassformer.models import Seq2Seq, Seq2SeqConfig

C4 = claim("C4")


def test_letters_and_answers_are_counted_by_length(monkeypatch):
    monkeypatch.setattr(c04_bottleneck, "translator", lambda lines, settings: (None, None))
    monkeypatch.setattr(
        c04_bottleneck, "translate", lambda model, tokenizer, texts: [t[::-1][:6] for t in texts]
    )
    found = C4.measure(Work(quick=True))
    for run in (*found["none"], *found["additive"]):
        assert run["letters"] == [1, 1, 6 / 8, 6 / 10, 6 / 12]
        assert run["answers"] == [1, 1, 0, 0, 0]


def test_what_is_asked_was_not_learned(monkeypatch):
    learned = set()

    def translator(lines, settings):
        assert all(b == a[::-1] for a, b in lines)
        learned.update(a for a, _ in lines)
        assert {len(text) for text in learned} == set(range(1, 13))
        return None, None

    def translate(model, tokenizer, texts):
        assert not learned.intersection(texts)
        assert len({len(text) for text in texts}) == 1
        return texts

    monkeypatch.setattr(c04_bottleneck, "translator", translator)
    monkeypatch.setattr(c04_bottleneck, "translate", translate)
    c04_bottleneck._by_length(1, "none", 5)


def test_it_holds_as_measured():
    assert C4.judge(measured("C4")).verdict is Verdict.HOLDS


@pytest.mark.parametrize(("none", "additive"), [("additive", "additive"), ("none", "none")])
def test_no_fall_without_attention_or_the_same_with_it_contradicts_it(none, additive):
    kept = measured("C4")
    altered = {**kept, "none": kept[none], "additive": kept[additive]}
    judgement = C4.judge(altered)
    assert judgement.verdict is Verdict.FAILS
    assert judgement.reason
    assert C4.judge({**altered, "quick": True}).verdict is Verdict.UNDECIDED


def test_more_than_half_of_the_fall_with_attention_contradicts_it():
    kept = measured("C4")

    def falling(share):
        return [
            {
                **run,
                "letters": [1.0, *run["letters"][1:-1], 1 - share * (run["letters"][0] - run["letters"][-1])],
            }
            for run in kept["none"]
        ]

    assert C4.judge({**kept, "additive": falling(0.7)}).verdict is Verdict.FAILS
    assert C4.judge({**kept, "additive": falling(0.1)}).verdict is Verdict.HOLDS


@pytest.mark.slow
def test_a_quick_run_does_not_contradict_it():
    measured_now = {"quick": True, **C4.measure(Work(quick=True))}
    assert C4.judge(measured_now).verdict in (Verdict.HOLDS, Verdict.UNDECIDED)


def test_attention_costs_as_many_parameters_as_is_said():
    none, additive = (
        sum(p.numel() for p in Seq2Seq(Seq2SeqConfig(9, attention=name, d_model=32)).parameters())
        for name in c04_bottleneck.NAMES
    )
    assert additive / none == pytest.approx(1.6, abs=0.05)
