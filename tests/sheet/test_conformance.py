"""sheet.js in a browser computes, explains and refuses what Python does."""

import random
import re

import pytest

from glassformer import UserError
from glassformer.sheet import SCRIPT, Sheet, explain
from sheet import bad
from sheet.conformance import assert_conforms, load
from sheet.generated import TOKENS, grown

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(chromium):
    context = chromium.new_context(offline=True)
    yield load(context.new_page())
    context.close()


def test_generated_sheets(page):
    growing = [grown(seed, steps=10) for seed in range(400)]
    sheets = [each.sheet.to_json() for each in growing]
    assert_conforms(page, sheets)
    assert_conforms(page, sheets, [each.given() for each in growing])


EXTREME = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-300,
    -1e300,
    1e300,
    5e-324,
    1e16,
    -3e-9,
    709.5,
    -745.0,
    float("inf"),
    float("-inf"),
]


def test_extreme_numbers_cell_by_cell(page):
    sheet = Sheet()
    column = sheet.const("c", [[x] for x in EXTREME])
    row = sheet.transpose("r", column)
    for op in ("add", "sub", "mul", "div", "less"):
        getattr(sheet, op)(f"{op} column and row", column, row)
    for op in ("exp", "log", "sqrt", "tanh", "sigmoid", "relu"):
        getattr(sheet, op)(op, column)
        getattr(sheet, op)(f"{op} of NaN", "sub column and row")
    for op in ("softmax", "argmax"):
        getattr(sheet, op)(op, "mul column and row")
        getattr(sheet, op)(f"{op} of NaN", "sub column and row")
    for over in ("columns", "rows", "all"):
        sheet.max(f"max {over}", "mul column and row", over)
        sheet.sum(f"sum {over}", "mul column and row", over)
    sheet.layernorm("layernorm of NaN", "mul column and row")
    sheet.matmul("square", "mul column and row", "less column and row")
    assert_conforms(page, [sheet.to_json()])


def test_large_and_small_numbers(page):
    chance, sheets = random.Random(1), []
    for scale in (1e-200, 1e-8, 1e-3, 1e3, 1e8, 1e150):
        sheet = Sheet()
        a = sheet.const("a", [[scale * chance.random() for _ in range(7)] for _ in range(5)])
        sheet.matmul("square", a, sheet.transpose("t", a))
        sheet.layernorm("l", a)
        sheet.softmax("p", a)
        for over in ("columns", "rows", "all"):
            sheet.sum(f"sum {over}", a, over)
        for op in ("sin", "cos", "tanh", "sigmoid", "sqrt", "log"):
            getattr(sheet, op)(op, a)
        sheets.append(sheet.to_json())
    assert_conforms(page, sheets)


def test_large_matrices(page):
    sheet = Sheet()
    d = sheet.const("d", 64)
    x = sheet.normal("x", 1024, d, seed=d)
    sheet.softmax("p", sheet.matmul("s", sheet.slice("q", x, rows=(0, 64)), sheet.transpose("t", x)))
    sheet.sum("all", x, "all")
    sheet.normal("longest", 4096, 8, seed=4294967295)
    sheet.range("r", 4096, -3.0, 1 / 3)
    assert_conforms(page, [sheet.to_json()] * 2, [{}, {"d": 7}])


def test_tokens(page):
    sheet = Sheet()
    sheet.embed("e", [*TOKENS, "\ud83d\ude00", "x\udc00\ud800y", "\x00", "\uffff", "𝒜", "日本"], 12)
    as_written = {
        "matrices": [{**sheet.to_json()["matrices"][0], "parameters": {"tokens": TOKENS, "cols": 3}}]
    }
    assert_conforms(page, [sheet.to_json(), as_written])


def test_names_of_every_kind(page):
    names = ["__proto__", "constructor", "W^Q", "1", "x̂", "猫 😀", "</script>", "'\"\\"]
    sheet = Sheet()
    for k, name in enumerate(names):
        sheet.const(name, k) if k < 2 else sheet.add(name, names[k - 1], names[k - 2])
    assert_conforms(page, [sheet.to_json()], [{"__proto__": [[5]]}])


def test_errors_are_the_same(page):
    sheets = [sheet for sheet, _ in bad.STRUCTURE + bad.NUMBERS]
    assert_conforms(
        page, sheets + [bad.good()] * len(bad.GIVENS), [{}] * len(sheets) + [g for g, _ in bad.GIVENS]
    )


def test_spoilt_sheets_end_the_same_way(page):
    chance = random.Random(2)
    assert_conforms(page, [bad.mutated(chance) for _ in range(3000)])


@pytest.mark.parametrize("cell", [("no", 0, 0), ("A", 3, 0), ("A", 0, -1)])
def test_errors_of_explain_are_the_same(page, cell):
    sheet = Sheet.from_json(bad.good())
    with pytest.raises(UserError) as said:
        explain(sheet, sheet.evaluate(), *cell)
    script = """([sheet, cell]) => {
      const { evaluate, explain } = window.sheets;
      try { explain(sheet, evaluate(sheet), ...cell); } catch (error) { return error.message; }
    }"""
    assert page.evaluate(script, [bad.good(), cell]) == str(said.value)


def test_without_export_it_is_a_plain_script(page):
    source = SCRIPT.read_text(encoding="utf-8")
    inlined = re.sub(r"^export ", "", source, flags=re.MULTILINE)
    names = re.findall(r"^(?:async function|function|const|let|class) (\w+)", inlined, flags=re.MULTILINE)
    assert {name for name in names if not name.lower().startswith("sheet")} == {"evaluate", "explain"}
    script = f"(sheet) => {{ {inlined}\nreturn evaluate(sheet).T.data.length; }}"
    assert page.evaluate(script, bad.good()) == 1


def test_it_is_fast(page):
    sheet = Sheet()
    x = sheet.normal("x", 16, 16, seed=1)
    scores = sheet.matmul("s", x, sheet.transpose("t", x))
    sheet.matmul("out", sheet.softmax("p", sheet.mask("m", scores, sheet.less("l", "s", "t"))), x)
    script = """sheet => {
      const times = Array.from({ length: 200 }, () => {
        const start = performance.now();
        window.sheets.evaluate(sheet);
        return performance.now() - start;
      });
      return times.sort((a, b) => a - b)[100];
    }"""
    assert page.evaluate(script, sheet.to_json()) < 2  # milliseconds, ten times what it takes
