"""Every number is explained by numbers that give it again, down to cells that need no explanation."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer import UserError
from glassformer.sheet import Sheet, explain
from sheet.generated import DECIDING, MOVES, SMOOTH, grown

ELEMENTWISE = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "less": np.less,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: x if math.isnan(x) else max(x, 0.0),
}


def again(step):
    """The value, from nothing but what the step tells."""
    numbers, parts = [np.float64(cell.value) for cell in step.operands], step.parts
    match step.op:
        case "matmul":
            assert all(
                term.value == term.a.value * term.b.value or math.isnan(term.value) for term in parts["terms"]
            )
            assert step.operands == (*(t.a for t in parts["terms"]), *(t.b for t in parts["terms"]))
            return sum(term.value for term in parts["terms"])
        case "sum":
            return sum(cell.value for cell in parts["terms"])
        case "max":
            return numbers[parts["which"]]
        case "argmax":
            return parts["which"]
        case "softmax":
            assert len(parts["exps"]) == len(numbers)
            assert parts["visible"] == sum(x != -math.inf for x in numbers)
            if numbers[step.j] == -math.inf:
                return 0.0
            return parts["exps"][step.j] / np.float64(parts["denominator"])
        case "mask":
            return parts["fill"] if parts["masked"] else numbers[0]
        case "layernorm":
            return parts["centred"] / np.sqrt(parts["variance"] + parts["eps"])
        case "transpose" | "concat" | "slice":
            return numbers[0]
        case "onehot":
            return float(numbers[0] == step.j)
        case "range":
            return parts["start"] + parts["step"] * step.i
        case "const" | "embed" | "normal":
            assert numbers == []
            return step.value
    return float(ELEMENTWISE[step.op](*numbers))


def cells(values):
    return [(name, *place) for name, value in values.items() for place in np.ndindex(value.shape)]


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_every_step_gives_its_value_again(seed):
    sheet = grown(seed).sheet
    values = sheet.evaluate()
    with np.errstate(all="ignore"):
        for cell in cells(values):
            step = explain(sheet, values, *cell)
            assert step.value == values[step.name][step.i, step.j] or math.isnan(step.value)
            np.testing.assert_allclose(again(step), step.value, rtol=1e-12, atol=1e-12, err_msg=str(step))
            for operand in step.operands:
                assert operand.name in sheet[step.name].of
                np.testing.assert_equal(operand.value, values[operand.name][operand.i, operand.j])
            json.dumps(step.to_json(), allow_nan=False)


@given(st.integers(0, 10**6), st.data())
@settings(max_examples=60, deadline=None)
def test_following_operands_ends_at_cells_without_any(seed, data):
    sheet = grown(seed).sheet
    values = sheet.evaluate()
    order = [matrix.name for matrix in sheet.matrices]
    step = explain(sheet, values, *data.draw(st.sampled_from(cells(values))))
    while step.operands:
        cell = data.draw(st.sampled_from(step.operands))
        assert order.index(cell.name) < order.index(step.name)
        step = explain(sheet, values, cell.name, cell.i, cell.j)
    assert step.op in ("const", "embed", "range", "normal")


def test_generated_sheets_have_every_operation():
    from glassformer.sheet.operations import OPERATIONS

    found = {matrix.op for seed in range(60) for matrix in grown(seed).sheet.matrices}
    assert found == set(OPERATIONS) >= {*SMOOTH, *DECIDING, *MOVES}


def step_of(op, *values, at=(0, 0), **options):
    sheet = Sheet()
    of = [sheet.const(name, value) for name, value in zip("ab", values, strict=False)]
    name = getattr(sheet, op)("x", *of, **options)
    return explain(sheet, sheet.evaluate(), name, *at).to_json()


def cell(name, i, j, value):
    return {"name": name, "i": i, "j": j, "value": value}


def test_a_product_in_json():
    a, b = [cell("a", 0, 0, 2.0), cell("a", 0, 1, 3.0)], [cell("b", 0, 1, 5.0), cell("b", 1, 1, 7.0)]
    assert step_of("matmul", [[2, 3]], [[0, 5], [0, 7]], at=(0, 1)) == {
        **cell("x", 0, 1, 31.0),
        "op": "matmul",
        "operands": a + b,
        "terms": [{"a": a[0], "b": b[0], "value": 10.0}, {"a": a[1], "b": b[1], "value": 21.0}],
    }


def test_a_softmax_in_json():
    step = step_of("softmax", [[1, -math.inf, 1]], at=(0, 2))
    assert step["operands"] == [cell("a", 0, 0, 1.0), cell("a", 0, 1, "-inf"), cell("a", 0, 2, 1.0)]
    assert step["value"] == 0.5
    assert {key: step[key] for key in ("largest", "exps", "denominator", "visible")} == {
        "largest": 1.0,
        "exps": [1.0, 0.0, 1.0],
        "denominator": 2.0,
        "visible": 2,
    }


def test_a_row_that_sees_nothing():
    step = step_of("softmax", [[-math.inf, -math.inf]])
    assert (step["value"], step["visible"], step["denominator"], step["exps"]) == (0.0, 0, 0.0, [0.0, 0.0])


def test_a_broadcast_operand_is_where_it_really_is():
    assert step_of("add", [[1], [2]], [[10, 20]], at=(1, 1))["operands"] == [
        cell("a", 1, 0, 2.0),
        cell("b", 0, 1, 20.0),
    ]


def test_a_masked_cell():
    step = step_of("mask", [[4, 5]], [[1, 0]], at=(0, 1), fill=-1e5)
    assert step["operands"] == [cell("a", 0, 1, 5.0), cell("b", 0, 1, 0.0)]
    assert (step["masked"], step["fill"], step["value"]) == (True, -1e5, -1e5)


def test_what_was_made_up_is_said():
    sheet = Sheet()
    sheet.normal("z", 2, 2, seed=sheet.const("s", 9))
    sheet.embed("e", ["a", "b"], 2)
    values = sheet.evaluate()
    assert explain(sheet, values, "z", 1, 1).parts == {"seed": 9}
    assert explain(sheet, values, "e", 1, 0).parts == {"token": "b"}


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (("no", 0, 0), "there is no matrix no"),
        (("a", 2, 0), "a is (2, 1) and has no cell [2, 0]"),
        (("a", 0, -1), "a is (2, 1) and has no cell [0, -1]"),
    ],
)
def test_cells_that_are_not_there(place, said):
    sheet = Sheet()
    sheet.const("a", [[1], [2]])
    with pytest.raises(UserError) as error:
        explain(sheet, sheet.evaluate(), *place)
    assert str(error.value) == said
