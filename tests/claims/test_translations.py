"""C4's real translations: runs that make a fair pair, BLEU by length, and what is left of it."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from glassformer.claims import c04_bottleneck, claim, measured, translations
from glassformer.claims.claim import Work
from glassformer.claims.figure import svg
from glassformer.claims.run import _sealed
from glassformer.data.parallel import Pair
from glassformer.decoding import scores
from glassformer.errors import UserError
from glassformer.lab.outcomes import Outcome
from glassformer.lab.pages import outcome_part
from glassformer.training import pairs
from glassformer.training.quiet import trained

C4 = claim("C4")
WORDS = [f"w{n}" for n in range(30)]
LEARNED = [Pair("yes", "ja"), Pair("no", "nein"), Pair("good morning", "guten Morgen")]


def write(path, lines):
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Train a run of one step in a folder of its own; each only once."""
    made = {}

    def run(attention="none", learned=tuple(LEARNED), d_model=8):
        key = attention, learned, d_model
        if key not in made:
            folder = tmp_path_factory.mktemp(attention)
            file = write(folder / "train.tsv", learned)
            settings = [f"attention={attention}", f"d_model={d_model}", "steps=1", "valid_fraction=0"]
            with pairs.begun([str(file)], folder / "run", assignments=settings, family="seq2seq") as training:
                trained(training)
                training.save()
            made[key] = folder / "run"
        return made[key]

    return run


def sentences(n, length, chance):
    lines = [" ".join(chance.choices(WORDS, k=length)) for _ in range(n)]
    return [Pair(line, line.upper()) for line in lines]


def damaged(model, tokenizer, sources, beam):
    """Translations that are right, but without attention only the first eight words of them."""
    short = model.config.attention == "none"
    return [" ".join(line.upper().split()[: 8 if short else None]) for line in sources]


def test_what_is_left_is_that_of_the_longest_lines_with_an_interval(make, tmp_path, monkeypatch):
    monkeypatch.setattr(translations, "translate", damaged)
    chance = random.Random(0)
    lines = [*LEARNED, *sentences(60, 8, chance), *sentences(60, 30, chance), *sentences(3, 60, chance)]
    file = write(tmp_path / "test.tsv", lines)
    found = translations.translated(Work(False), translations.asked(make(), make("additive"), file))
    assert found["lines"] == 123  # without those that were learned
    assert found["groups"] == [(6, 10, 60), (21, 40, 60), (41, 80, 3)]
    assert all(bound == pytest.approx(100) for found_by in found["bleu"]["additive"] for bound in found_by)
    value, low, high = found["bleu"]["none"][1]
    assert low <= value <= high < 10
    left = found["left"]
    assert (left["from"], left["to"]) == (0, 1)  # three lines are too few to tell of
    assert left["none"] == pytest.approx(value / 100)
    assert left["additive"] == pytest.approx(1)
    assert left["gain"].mean == pytest.approx(1 - left["none"])
    assert left["gain"].low <= left["gain"].mean <= left["gain"].high
    told = translations.told([found]).en
    assert "test.tsv, 123 lines" in told
    assert "with attention from 100.0 to 100.0, which is 100 %" in told
    [figure] = translations.curves([found], c04_bottleneck.NAMES)
    assert [name.en for name in figure.x_names] == ["6–10", "21–40", "41–80"]
    assert len(figure.series) == 2


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a$x_{$b «m» **c** `d`.tsv", "a$x_{$b «m» **c** `d`.tsv"),
        ("<img src=x onerror=alert(1)>.tsv", "&lt;img src=x onerror=alert(1)&gt;.tsv"),
        ("句\n对\udcff.tsv", "句?对?.tsv"),
    ],
)
def test_the_name_of_a_file_is_text_wherever_it_is_told(name, told, make, tmp_path, monkeypatch):
    monkeypatch.setattr(translations, "translate", damaged)
    pairs = sentences(60, 8, random.Random(0)) + sentences(60, 30, random.Random(1))
    asked = replace(
        translations.asked(make(), make("additive"), write(tmp_path / "t", pairs)), file=Path(name)
    )
    kept = {}
    found = translations.translated(Work(False, keep=kept.update), asked)
    measurement = {**measured("C4"), "translated": [found]}
    assert f"Real translations ({told}, 120 lines)" in outcome_part(Outcome(C4, measurement), "en")
    assert told in svg(C4.figures(measurement)[-1], "en")
    _sealed(kept).encode()  # what a partial file keeps can be written


def test_of_few_long_lines_no_share_is_told(make, tmp_path, monkeypatch):
    monkeypatch.setattr(translations, "translate", damaged)
    file = write(tmp_path / "test.tsv", sentences(60, 8, random.Random(0)))
    found = translations.translated(Work(False), translations.asked(make(), make("additive"), file))
    assert found["left"] is None
    assert "too few long lines" in translations.told([found]).en


def test_of_a_model_that_gets_nothing_right_no_share_is_told(make, tmp_path, monkeypatch):
    def nothing(model, tokenizer, sources, beam):
        return ["z" if model.config.attention == "none" else line.upper() for line in sources]

    monkeypatch.setattr(translations, "translate", nothing)
    lines = sentences(60, 8, random.Random(0)) + sentences(60, 30, random.Random(1))
    both = translations.asked(make(), make("additive"), write(tmp_path / "test.tsv", lines))
    found = translations.translated(Work(False), both)
    assert found["left"] is None
    assert "gets nothing right" in translations.told([found]).en


@pytest.mark.parametrize("progress", [{}, None, {"tokens": "many"}, {"tokens": -1}, {"tokens": True}])
def test_a_run_that_does_not_say_what_it_learned_from_is_refused_before_the_work(progress, make, tmp_path):
    run = shutil.copytree(make(), tmp_path / "run")
    [path] = run.glob("step-*/config.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "progress": progress}))
    file = write(tmp_path / "test.tsv", [Pair("new", "neu")])
    with pytest.raises(UserError, match=r"config\.json"):
        translations.asked(run, make("additive"), file)


def test_a_stopped_measurement_keeps_the_translations_of_a_run(make, tmp_path, monkeypatch):
    asked, kept = [], {}

    def counted(model, *rest, beam):
        if model.config.attention != "none" and not asked[1:]:
            asked.append("stopped")
            raise KeyboardInterrupt
        asked.append(model.config.attention)
        return damaged(model, *rest, beam)

    monkeypatch.setattr(translations, "translate", counted)
    file = write(tmp_path / "test.tsv", sentences(5, 8, random.Random(0)))
    with pytest.raises(KeyboardInterrupt):
        translations.translated(
            Work(False, keep=kept.update), translations.asked(make(), make("additive"), file)
        )
    translations.translated(Work(False, kept), translations.asked(make(), make("additive"), file))
    assert asked == ["none", "stopped", "additive"]


def test_runs_must_differ_in_attention_alone(make, tmp_path, run_folder):
    file = write(tmp_path / "test.tsv", [Pair("new", "neu")])
    other = (*LEARNED, Pair("evening", "Abend"))
    for runs, said in (
        ((make("additive"), make()), "the first must be a run with attention=none"),
        ((make(), make()), "the second one with attention"),
        (
            (make(), make("additive", d_model=16)),
            "has d_model=8, .* not: two runs must differ in attention alone",
        ),
        ((make(), make("additive", tuple(reversed(LEARNED)))), "learned from different pairs"),
        ((make(learned=other), make("additive")), "has vocab_size="),
        ((run_folder, make("additive")), "is no run of train --model seq2seq"),
    ):
        with pytest.raises(UserError, match=said):
            translations.asked(*runs, file)
    with pytest.raises(UserError, match="learned from all of its sources"):
        translations.asked(make(), make("additive"), write(file, LEARNED))


def test_sums_of_what_lines_count_are_the_bleu_of_all():
    chance = random.Random(1)
    for language in (WORDS, list("我从银行取了钱他去河边走")):
        gap = " " if language is WORDS else ""
        references = [gap.join(chance.choices(language, k=chance.randint(1, 15))) for _ in range(40)]
        written = [line[: chance.randint(0, len(line))] for line in references]
        counts = scores.bleu_counts(written, references)
        assert scores.bleu(counts.sum(0)) == pytest.approx(scores.against(written, references).bleu)


def test_real_translations_do_not_decide():
    kept = measured("C4")
    assert C4.judge({**kept, "translated": []}).verdict is C4.judge(kept).verdict
    assert "No trained translators were given" in C4.judge({**kept, "translated": []}).found.en


def test_the_command_line_hands_over_translators(glassformer, monkeypatch):
    taken = []
    experiment = replace(C4, measure=lambda work: taken.append(work.given.translators) or measured("C4"))
    monkeypatch.setattr(c04_bottleneck, "CLAIM", experiment)
    code, _, _ = glassformer("claims", "C4", "--translators", "a", "b", "c", "--translators", "d", "e", "f")
    assert code == 0
    assert [[str(path) for path in three] for three in taken[0]] == [["a", "b", "c"], ["d", "e", "f"]]
    code, _, error = glassformer("claims", "C7", "--translators", "a", "b", "c")
    assert code == 2
    assert "--translators is for C4" in error
    assert not taken[1:]
