"""Building sheets, their JSON, and what is said of sheets and numbers that are none."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer import UserError
from glassformer.sheet import SCRIPT, Matrix, Sheet
from sheet import bad
from sheet.generated import grown

SEEDS = st.integers(0, 10**6)


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name], equal_nan=True) for name in a)


def test_it_reads_like_mathematics():
    sheet = Sheet()
    x = sheet.embed("X", ["the", "cat", "the"], 4)
    q = sheet.matmul("Q", x, sheet.normal("W^Q", 4, 2, seed=1))
    assert (x, q) == ("X", "Q")
    assert [matrix.name for matrix in sheet.matrices] == ["X", "W^Q", "Q"]
    assert sheet["Q"] == Matrix("Q", "matmul", ("X", "W^Q"), {})
    values = sheet.evaluate()
    assert values["Q"].shape == (3, 2)
    np.testing.assert_array_equal(values["Q"], values["X"] @ values["W^Q"])
    np.testing.assert_array_equal(values["X"][0], values["X"][2])


def test_dependencies_are_operands_and_the_sizes_given_by_name():
    sheet = Sheet()
    d = sheet.const("d", 2)
    i = sheet.const("i", [[0], [1]])
    sheet.normal("W", 3, d, seed=d)
    sheet.onehot("H", i, d)
    sheet.add("A", "H", "H")
    assert [matrix.dependencies for matrix in sheet.matrices] == [(), (), ("d",), ("i", "d"), ("H",)]


@pytest.mark.parametrize("values", [3, 3.0, np.float32(3), [[3]], ((3,),), np.array(3), np.array([[3]])])
def test_a_number_is_a_matrix_of_one_cell(values):
    sheet = Sheet()
    sheet.const("a", values)
    assert sheet.to_json()["matrices"][0]["parameters"] == {"values": [[3.0]]}
    assert sheet.evaluate({"a": values})["a"].tolist() == [[3.0]]


def test_given_numbers_replace_those_of_consts_and_may_have_another_shape():
    sheet = Sheet()
    a = sheet.const("a", [[1, 2]])
    sheet.sum("s", a)
    assert sheet.evaluate({"a": [[1, 2, 3], [4, "-inf", 0]]})["s"].tolist() == [[6], [-math.inf]]
    assert sheet.evaluate()["s"].tolist() == [[3]]


def test_no_value_shares_its_memory_with_another():
    sheet = Sheet()
    a = sheet.const("a", [[1.0, 2.0]])
    sheet.transpose("t", a)
    sheet.slice("s", a)
    sheet.relu("r", a)
    sheet.concat("c", a)
    values = sheet.evaluate()
    values["a"][:] = 7
    assert all((values[name] < 7).all() for name in "tsrc")
    assert sheet.evaluate()["a"].tolist() == [[1, 2]]


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_json_round_trip(seed):
    sheet = grown(seed).sheet
    text = json.dumps(sheet.to_json(), allow_nan=False)
    again = Sheet.from_json(json.loads(text))
    assert again.to_json() == sheet.to_json()
    assert same(again.evaluate(), sheet.evaluate())


def test_json_has_no_infinities():
    sheet = Sheet()
    sheet.const("a", [[math.inf, -math.inf]])
    sheet.mask("m", "a", "a")
    parameters = [matrix["parameters"] for matrix in sheet.to_json()["matrices"]]
    assert parameters == [{"values": [["inf", "-inf"]]}, {"fill": "-inf"}]


def test_whole_numbers_beyond_every_float_are_infinite_as_in_a_browser():
    sheet = Sheet()
    sheet.const("a", [[10**400, -(10**400)]])
    assert sheet.evaluate()["a"].tolist() == [[math.inf, -math.inf]]


def test_halves_of_characters_become_the_sign_for_them():
    sheet = Sheet()
    sheet.embed("e", ["\ud800", "\ufffd", "\ud83d\ude00", "😀", "x\ude00\ud83d"], 8)
    assert sheet["e"].parameters["tokens"] == ["\ufffd", "\ufffd", "😀", "😀", "x\ufffd\ufffd"]


@pytest.mark.parametrize(("values", "said"), bad.STRUCTURE)
def test_what_is_wrong_as_written_is_said_at_once(values, said):
    with pytest.raises(UserError) as error:
        Sheet.from_json(values)
    assert str(error.value).startswith(said)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(("values", "said"), bad.NUMBERS)
def test_what_is_wrong_with_shapes_and_sizes_is_said_on_evaluation(values, said):
    sheet = Sheet.from_json(values)
    with pytest.raises(UserError) as error:
        sheet.evaluate()
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("numbers", "said"), [*bad.GIVENS, ({"A": np.array([[1, np.nan]])}, "given: A: cell [0, 1]")]
)
def test_what_cannot_be_given_is_refused(numbers, said):
    with pytest.raises(UserError) as error:
        Sheet.from_json(bad.good()).evaluate(numbers)
    assert str(error.value).startswith(said)


def test_the_builder_refuses_as_json_does_and_keeps_nothing():
    sheet = Sheet()
    with pytest.raises(UserError, match=r"^a: cell \[0, 0\] is no number$"):
        sheet.const("a", math.nan)
    with pytest.raises(UserError, match=r"^b: operand 0, a, is no earlier matrix$"):
        sheet.exp("b", "a")
    with pytest.raises(UserError, match=r"^there is no matrix a$"):
        sheet["a"]
    assert sheet.matrices == ()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["A", "inf"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_spoilt_json_is_a_sheet_or_one_line(data):
    values = bad.good()
    place = values
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or data.draw(st.integers(0, 3)) == 0:
            place[key] = data.draw(JSON)
            break
        place = place[key]
    try:
        Sheet.from_json(values).evaluate()
    except UserError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017


@given(JSON)
def test_any_json_is_a_sheet_or_one_line(values):
    for sheet in (values, {"matrices": values}, {"matrices": [values]}):
        try:
            Sheet.from_json(sheet).evaluate()
        except UserError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017


def test_the_script_is_shipped_and_lists_the_same_operations():
    from glassformer.sheet.operations import OPERATIONS

    source = SCRIPT.read_text(encoding="utf-8")
    assert all(f"  {name}: " in source for name in OPERATIONS)
