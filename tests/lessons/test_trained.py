"""The recipes behind learned numbers: what the lessons say of them holds, of the files and trained anew."""

import json
import math
import subprocess
import sys
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest

from glassformer.data.pronouns import ANIMALS, sentences
from glassformer.lessons.trained import RECIPES, learned, path


def directions(found):
    table = np.array(found["vectors"])
    return table / np.linalg.norm(table, axis=1, keepdims=True)


def vectors_hold(found):
    """What the lesson `word-vectors` says in words."""
    names, d = found["words"], directions(found)
    cosines = d @ d.T
    to = dict(zip(names, cosines[0], strict=True))
    assert to["prince"] > to["man"] > to["queen"] > to["apple"] + 0.2
    others = cosines - 2 * np.eye(10)
    assert [names[i] for i in others.argmax(1)] == [
        *("prince", "princess", "boy", "girl", "king", "queen", "man", "woman", "bread", "apple")
    ]

    def analogy(plus, minus, and_, left_out):
        asked = [names.index(word) for word in (plus, minus, and_)]
        towards = d @ (d[asked[0]] - d[asked[1]] + d[asked[2]])
        towards[asked if left_out else []] = -math.inf
        return names[int(towards.argmax())]

    assert analogy("king", "man", "woman", True) == analogy("king", "man", "woman", False) == "queen"
    assert analogy("prince", "king", "queen", True) == "princess"
    assert analogy("prince", "king", "queen", False) == "queen"
    counted = found["analogies"]
    assert counted["included"] < counted["excluded"] < counted["asked"] == 96
    # The map's first direction parts ranks, its second genders.
    across, up = (d[:8] @ np.array(found["axes"])).T
    royal, male = [0, 1, 4, 5], [0, 2, 4, 6]
    assert min(across[royal]) > max(np.delete(across, royal))
    assert len({np.sign(x) for x in up[male]}) == 1
    assert {np.sign(x) for x in up[male]}.isdisjoint({np.sign(x) for x in np.delete(up, male)})
    assert cosines[8, 9] > 0.99
    u, contexts = np.array(found["vectors"][0]), found["contexts"]
    assert u @ contexts["commands"] > u @ contexts["feeds"]


def bottleneck_holds(found):
    """What the lesson `bottleneck` says in words."""
    none, additive, lengths = found["right"]["none"], found["right"]["additive"], found["lengths"]
    assert lengths == list(range(4, 13))
    assert none[0] >= 190
    assert none[-1] <= 20
    assert all(later <= earlier + 15 for earlier, later in pairwise(none))
    assert min(additive) >= 190
    letter = [n / (200 * length) for n, length in zip(found["letters"]["none"], lengths, strict=True)]
    assert letter[0] > 0.95 > 0.75 > letter[-1]
    assert none[4] / 200 > letter[4] ** 8 + 0.1  # mistakes come together
    assert all(len(state["last"][0]) == 32 for state in found["states"].values())


def alignment_holds(found):
    """What the lesson `alignment` says in words."""
    right, asked = found["measured"]["held_out"]
    assert right >= 0.95 * asked
    money, river = (found["measured"][sense] for sense in ("银行", "河岸"))
    assert money["sentences"] == river["sentences"] == 72
    for sense in (money, river):
        whole, without, alone = sense["chances"]
        assert whole > 0.85
        assert next(iter(sense["weights"])) == "bank"
        assert without < whole > alone
    right, asked = found["measured_backwards"]["held_out"]
    assert right >= 0.95 * asked
    assert found["measured_backwards"]["weight"] > 0.4
    largest, steps = found["measured_backwards"]["largest"]
    assert largest / steps > 0.6


def leak_holds(found):
    """What the lesson `leak` says in words."""
    limit, context = found["entropy"], found["settings"]["shape"]["context"]
    trained, writing = found["as_trained"], found["as_generator"]
    assert abs(trained["causal"] - limit) < 0.05  # down to the limit, but for what a sample does
    assert limit / context - 0.01 < trained["open"] < 0.15
    assert writing["causal"] == trained["causal"]
    assert writing["open"] > limit + 1
    for curve in found["curves"].values():
        assert abs(curve["training"][-1] - curve["held_out"][-1]) < 0.1  # which gives no warning
    assert sum(found["looks"]["causal"][2:]) == 0
    assert found["looks"]["open"][2] > 0.5
    (right, asked), (few, same) = (found["possible"][name] for name in ("causal", "open"))
    assert asked == same == 300
    assert right > 0.97 * asked > 0.9 * asked > few
    before = found["shown"].index("his")
    sign = before + 2
    chances = found["chances"]
    assert min(chances["open"][:-1]) > 0.9  # after the last word nothing is in sight
    assert chances["open, closed"][sign] < 0.05 < chances["causal"][sign] < 0.15  # one sentence in ten
    assert chances["causal"][before] < 0.5  # one of three animals


def cross_attention_holds(found):
    """What the lesson `cross-attention` says in words."""
    right, asked = found["measured"]["held_out"]
    assert right >= 0.95 * asked
    for sense in ("银行", "河岸"):
        measured = found["measured"][sense]
        assert measured["sentences"] == 72
        assert measured["chances"][0] > 0.9
        assert measured["largest_on_bank"] > 36
    assert max(len(found["sentence"][part]) for part in ("source", "target")) == 6


def pronoun_holds(found):
    """What the lesson `two-heads` says in words of any model that has learned the language."""
    assert found["accuracy"] > 0.95
    read, twin = found["sentence"], found["twin"]
    assert read["answer"] == "猫"
    assert read["chances"][0] > 0.5 > read["chances"][1]
    assert twin["answer"] == "老鼠"
    assert twin["chances"][1] > 0.5 > twin["chances"][0]
    weights = np.array(read["weights"])
    assert weights.shape == (4, 12, 12)
    assert weights.sum(-1) == pytest.approx(np.ones((4, 12)), abs=1e-4)
    assert np.array(read["cut"]).shape == np.array(read["zeroed"]).shape == (4, 12)
    cat, mouse = ANIMALS[0][0], ANIMALS[1][0]
    assert (read["words"][1], read["words"][3]) == (cat, mouse)
    assert {"追", "它"} < {*read["words"]}
    texts = {sentence.text for sentence in sentences(True)}
    for sentence in (read, twin):  # neither of which the model has learned from
        assert " ".join(sentence["words"][1:]) in texts


HOLDS = {
    "vectors": vectors_hold,
    "bottleneck": bottleneck_holds,
    "alignment": alignment_holds,
    "leak": leak_holds,
    "cross_attention": cross_attention_holds,
    "pronoun": pronoun_holds,
}


@pytest.mark.parametrize("name", RECIPES)
def test_what_the_texts_say_holds(name):
    HOLDS[name](learned(name))


def test_the_texts_own_figures_are_those_of_the_files():
    vectors, bottleneck, alignment, leak, cross, pronoun = (learned(name) for name in RECIPES)
    assert (vectors["settings"]["sentences"], vectors["vocabulary"]) == (20_000, 34)
    assert vectors["settings"]["slips"] == 0.1
    assert {"d_model=6", "negative=5"} <= {*vectors["settings"]["train"]}
    settings = bottleneck["settings"]
    assert (settings["pairs"], settings["longest"], settings["each"]) == (20_000, 12, 200)
    assert {"d_model=32", "steps=1200"} <= {*settings["train"]}
    assert bottleneck["right"]["none"][0] == 199  # of 4 letters
    assert bottleneck["right"]["additive"][-1] == 200
    found, back = alignment["measured"], alignment["measured_backwards"]
    assert found["held_out"][0] == found["held_out"][1]
    assert back["held_out"][0] == back["held_out"][1]
    assert {"d_model=12", "valid_fraction=0.2"} <= {*alignment["settings"]["train"]}
    assert 70 <= len(alignment["vocabulary"]) <= 79  # some seventy words
    assert found["河岸"]["largest_on_bank"] == found["河岸"]["sentences"]
    assert found["银行"]["chances"][1] < 0.5 > found["银行"]["chances"][2]  # it takes both
    assert found["河岸"]["chances"][1] > 0.5
    assert list(found["银行"]["weights"])[1] == "money"
    assert (leak["settings"]["sentences"], leak["settings"]["train"]["steps"]) == (20_000, 1200)
    assert round(leak["entropy"], 2) == 1.12
    assert cross["measured"]["held_out"] == [151, 151]
    assert {"d_model=16", "n_layers=1", "n_heads=1"} <= {*cross["settings"]["train"]}
    without = {sense: cross["measured"][sense]["chances"][1] for sense in ("银行", "河岸")}
    assert without["银行"] > 0.9 > 0.5 > without["河岸"]
    assert {len(sample) for samples in leak["samples"].values() for sample in samples} == {20}
    shape = pronoun["settings"]["shape"]
    assert (shape["n_layers"], shape["n_heads"]) == (2, 2)


def test_what_one_example_shows_is_what_the_text_says():
    lesson = import_module("glassformer.lessons.alignment")
    chances = {}
    for key, mask in (
        ("as it is", lesson.REAL),
        ("without bank", lesson.WITHOUT),
        ("bank alone", lesson.ONLY),
        ("without money", [[1, 1, 0, 1, 1, 1, 0, 0]]),
    ):
        p = lesson.SHEET.evaluate({"M": mask})["p"][0]
        chances[key] = dict(zip(lesson.CHOICES, p, strict=True))
    assert round(chances["as it is"]["银行"], 2) == 0.94
    assert max(chances["without bank"], key=chances["without bank"].get) == "学校"
    for key in ("bank alone", "without money"):
        assert chances[key]["办公室"] > 0.8
    assert all(chance["河岸"] < 0.05 for chance in chances.values())  # money or river is known already
    values = lesson.SHEET.evaluate()
    assert values["largest"].ravel().tolist()[:4] == [0, 2, 5, 1]
    assert not values["a"][0, lesson.M :].any()


def test_what_the_translators_example_shows_is_what_the_text_says():
    lesson = import_module("glassformer.lessons.cross_attention")
    values = lesson.SHEET.evaluate()
    order = values["A_cross_all"][lesson.AT_SENSE].argsort()[::-1][:3]
    assert [lesson.SOURCE[j] for j in order] == ["bank", "money", "the"]
    assert lesson.SOURCE[int(values["largest"][0, 0])] == "they"
    assert round(float(values["p"][0, 0]), 3) == 0.998
    without = lesson.SHEET.evaluate({"M": lesson.WITHOUT})
    assert not without["below_half"]
    heaviest = without["A_cross"][0].argsort()[::-1][:2]
    assert [lesson.SOURCE[j] for j in heaviest] == ["money", "the"]


def test_what_the_trained_heads_look_at_is_what_the_text_says():
    lesson = import_module("glassformer.lessons.two_heads")
    values = lesson.SHEET.evaluate()
    it, end = values["it"], values["end"]
    assert max(it[:, lesson.AT_CAT]) < 0.02  # “it” does not look for the answer
    assert max(it[:, lesson.AT_MOUSE]) < 0.1
    assert min(end[1:, lesson.AT_BECAUSE]) > 0.97
    assert end[0, lesson.AT_MOUSE] > 1.5 * end[0, lesson.AT_CAT] > 0.4
    assert (values["p_cat"] > 0.97).all()
    alone = values["p_cut"][1:, lesson.AT_BECAUSE]
    assert alone[1] < 0.05 < 0.8 < min(alone[0], alone[2])
    assert values["costliest"] == 2
    assert values["p_zeroed"] == pytest.approx(values["p_cat"] * np.exp(lesson.READ["zeroed"]))


def test_files_are_small_and_strict():
    for name in RECIPES:
        text = path(name).read_text(encoding="utf-8")
        json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
        assert len(text) < 60_000
    assert tuple(HOLDS) == RECIPES


def test_lessons_are_read_without_torch():
    code = "import sys, glassformer.lessons; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_recipe_is_named():
    made = subprocess.run(
        [sys.executable, "-m", "glassformer.lessons.trained", "vector"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 2
    assert "vector" in made.stderr
    assert "vectors" in made.stderr
    assert len(made.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_trained_anew_it_still_holds(name):
    found = import_module(f"glassformer.lessons.trained.{name}").train()
    kept = learned(name)
    assert found.keys() == kept.keys()
    assert json.loads(json.dumps(found))["settings"] == kept["settings"]
    HOLDS[name](found)
