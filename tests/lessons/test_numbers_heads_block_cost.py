"""Many heads, the block, cost: their sheets are the package's own attention, blocks and counts."""

import contextlib
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.lessons.block import LESSON as BLOCK
from glassformer.lessons.cost import LESSON as COST
from glassformer.lessons.lesson import (
    Chart,
    Code,
    Facts,
    Ledger,
    Lesson,
    Matrices,
    Presets,
    Query,
    Slider,
    Text,
)
from glassformer.lessons.many_heads import CHASES, IT
from glassformer.lessons.many_heads import LESSON as MANY_HEADS
from glassformer.models.bert import Bert, BertConfig
from glassformer.models.cost import cost as counted
from glassformer.models.gpt import GPT, GPTConfig
from glassformer.nn.attention import MultiHeadAttention
from glassformer.nn.blocks import Block, FeedForward, Order, make_norm

LESSONS = {lesson.slug: lesson for lesson in (MANY_HEADS, BLOCK, COST)}
Values = Mapping[str, np.ndarray]


def under(lesson: Lesson, edits: Mapping[str, Any]) -> Values:
    """The sheet's values with these edits made."""
    before = lesson.sheet.evaluate()
    given = {}
    for name, cells in edits.items():
        if isinstance(cells, Mapping):
            given[name] = before[name].copy()
            for at, value in cells.items():
                given[name][at] = value
        else:
            given[name] = np.array(cells, dtype=float)
    return lesson.sheet.evaluate(given)


def number(values: Values, name: str) -> float:
    assert values[name].shape == (1, 1)
    return float(values[name][0, 0])


def sized(**sizes: float) -> dict[str, dict[tuple[int, int], float]]:
    return {name: {(0, 0): size} for name, size in sizes.items()}


def set_linear(layer: nn.Linear, weight: np.ndarray, bias: np.ndarray | None = None) -> None:
    layer.weight.data = torch.from_numpy(weight.T.copy())
    if bias is not None:
        layer.bias.data = torch.from_numpy(bias[0].copy())


def attention_of(values: Values, n_heads: int) -> MultiHeadAttention:
    layer = MultiHeadAttention(4, n_heads, bias=False).double()
    for part, name in {"query": "W_Q", "key": "W_K", "value": "W_V", "output": "W_O"}.items():
        set_linear(getattr(layer, part), values[name])
    return layer


def close(a: np.ndarray, b: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# Many heads


@pytest.mark.parametrize("preset", [0, 1])
def test_many_heads_are_ours(preset: int) -> None:
    presets = next(part for part in MANY_HEADS.body if isinstance(part, Presets))
    values = under(MANY_HEADS, presets.choices[preset].edits)
    with torch.no_grad():
        y = attention_of(values, 2)(torch.from_numpy(values["X"])[None], backend="reference")[0].numpy()
        wide = attention_of({**values, "W_O": np.eye(4)}, 1)(torch.from_numpy(values["X"])[None])[0].numpy()
    close(values["Y"], y)
    close(values["Y_sum"], y)
    assert number(values, "gap") < 1e-12
    close(values["O"], wide)
    close(values["S"], (values["S_1"] + values["S_2"]) / np.sqrt(2))
    assert number(values, "both_wide") <= 1 + 1e-12
    assert np.array_equal(values["A_1"], values["A_2"]) == (preset == 1)


def test_two_heads_give_what_one_cannot() -> None:
    values = MANY_HEADS.sheet.evaluate()
    assert number(values, "both_heads") == pytest.approx(1.732, abs=5e-4)
    assert number(values, "left") < values["A_2"][IT, CHASES]


@pytest.mark.parametrize("log_h", range(7))
@pytest.mark.parametrize("d", [64, 512, 768, 4096])
def test_heads_cost_what_one_wide_head_costs(d: int, log_h: int) -> None:
    values = under(MANY_HEADS, sized(d=d, log_h=log_h, log_n=6))
    h, n = 2**log_h, 64
    assert number(values, "h") == h
    assert number(values, "n") == n
    assert number(values, "heads_parameters") == number(values, "wide_parameters") == 4 * d * d
    assert number(values, "heads_operations") == number(values, "wide_operations") == 2 * n * n * d
    assert number(values, "heads_weights") == h * number(values, "wide_weights") == h * n * n
    with torch.device("meta"):
        layer = MultiHeadAttention(d, h, bias=False)
    assert sum(p.numel() for p in layer.parameters()) == 4 * d * d
    at = values["h_all"][:, 0].tolist().index(h)
    assert values["operations_all"][at, 0] == number(values, "heads_operations")
    assert values["weights_all"][at, 0] == number(values, "heads_weights")


# The block


@pytest.mark.parametrize("order", ["post", "pre"])
def test_the_block_is_ours(order: Order) -> None:
    edits: tuple[Mapping[str, Any], ...] = ({}, {"X": [[1, -3, 0.5, 2], [0, 0, 1, 0], [4, 1, 1, -2]]})
    for edit in edits:
        values = under(BLOCK, edit)
        ffn = FeedForward(4, 8, "relu").double()
        set_linear(ffn.up, values["W_1"], values["b_1"])
        set_linear(ffn.down, values["W_2"], values["b_2"])
        norms = make_norm("layernorm", 4, 1e-5).double(), make_norm("layernorm", 4, 1e-5).double()
        ours = Block(attention_of(values, 1), ffn, norms, order=order)
        with torch.no_grad():
            y = ours(torch.from_numpy(values["X"])[None], backend="reference")[0].numpy()
        close(values[f"y_{order}"], y)
        close(values["change_pre"], values["written_pre"])


def test_each_row_is_normalised_alone() -> None:
    values = BLOCK.sheet.evaluate()
    for name in ("m_post", "y_post"):
        close(values[f"moments_{name}"][:, 0], 0)
        close(values[f"moments_{name}"][:, 1], 1, 1e-4)
        close(values[f"moments_{name}"][:, 1], values[name].var(1))
    batch = nn.BatchNorm1d(4, eps=1e-5).double()
    close(values["batch"], batch(torch.from_numpy(values["X"])).detach().numpy())


def test_only_attention_and_batchnorm_look_at_other_words() -> None:
    moved = BLOCK.sheet.evaluate()["moved"]
    assert (moved[:2, :2] == 0).all()  # LayerNorm, feed-forward
    assert (moved[:2, 2:] > 0.1).all()  # BatchNorm, attention
    assert (moved[2] > 0.1).all()
    still = under(BLOCK, {"other": [BLOCK.sheet.evaluate()["X"][2].tolist()]})["moved"]
    assert (still == 0).all()


@pytest.mark.parametrize(
    ("d", "layers", "vocabulary", "ratio"),
    [(768, 12, 50257, 4), (1600, 48, 50257, 4), (128, 3, 1257, 2)],
)
def test_parameters_by_part(d: int, layers: int, vocabulary: int, ratio: int) -> None:
    values = under(BLOCK, sized(d=d, layers=layers, vocabulary=vocabulary, ratio=ratio))
    shape = GPTConfig(
        vocabulary,
        1024,
        n_layers=layers,
        n_heads=d // 64,
        d_model=d,
        d_inner=ratio * d,
        norm="layernorm",
        positions="learned",
        bias=True,
    )
    with torch.device("meta"):
        model = counted(GPT(shape))
    assert number(values, "model") == model.total
    norms = 2 * d * layers  # `cost` counts the norm before a part with it, the page does not
    assert number(values, "attention_model") + norms == model.parameters["attention"]
    assert number(values, "ffn_model") + norms == model.parameters["feed-forward"]
    assert number(values, "embeddings") == model.parameters["embedding"] + model.parameters["positions"]
    assert number(values, "percent_ffn") == values["percent_ffn_all"][layers - 1, 0]


def test_shares_of_gpt2() -> None:
    values = BLOCK.sheet.evaluate()
    assert number(values, "percent_matrices") == pytest.approx(200 / 3)
    assert number(values, "percent_block") == pytest.approx(66.63, abs=0.005)
    assert number(values, "model") == 124_439_808
    assert round(number(values, "percent_ffn"), 1) == 45.5


# Cost


@pytest.mark.parametrize(("log_n", "d", "layers"), [(10, 768, 12), (10, 1600, 48), (4, 64, 1), (7, 192, 3)])
def test_the_counts_are_ours(log_n: int, d: int, layers: int) -> None:
    values = under(COST, sized(log_n=log_n, d=d, layers=layers))
    n = 2**log_n
    with torch.device("meta"):
        decoder = counted(GPT(GPTConfig(100, n, n_layers=layers, n_heads=d // 64, d_model=d)))
        encoder = counted(Bert(BertConfig(100, n, layers, d // 64, d, n_types=2)))
    # Two operations are a multiply-add; theirs are for one token. The encoder has no mask, and no head.
    assert encoder.attention_operations * n == 2 * number(values, "quadratic")
    assert encoder.operations * n == 2 * number(values, "total")
    assert decoder.attention_operations * n == number(values, "quadratic")
    head = 2 * 100 * d
    assert (decoder.operations - decoder.attention_operations - head) * n == 2 * number(values, "linear")
    assert decoder.state_bytes * n == number(values, "cache_bytes")
    assert number(values, "weights_bytes") == 4 * n * n * (d // 64)


@pytest.mark.parametrize("d", [64, 768, 12288])
def test_where_the_terms_cross(d: int) -> None:
    values = under(COST, sized(d=d))
    assert number(values, "crossing") == pytest.approx(6 * d, rel=1e-12)
    assert number(values, "crossing_attention") == pytest.approx(2 * d, rel=1e-12)
    lengths, larger = values["n_all"][:, 0], values["quadratic_all"] > values["linear_all"]
    assert larger[:, 0].tolist() == (lengths > 6 * d).tolist()
    assert lengths[0] < number(values, "crossing") < lengths[-1]
    for log_n in (9, 12, 17):
        at = under(COST, sized(d=d, log_n=log_n))
        assert number(at, "quadratic_larger") == (2**log_n > 6 * d)


def test_generating_costs_what_its_steps_add_up_to() -> None:
    values = under(COST, sized(log_n=5, d=64, layers=2))
    steps = range(1, 33)
    cached = sum(2 * (12 * 64**2 + 2 * t * 64) for t in steps)
    uncached = sum(2 * (12 * t * 64**2 + 2 * t * t * 64) for t in steps)
    assert number(values, "cached") == cached
    assert number(values, "uncached") == uncached
    assert values["steps"].tolist() == [[1, 32, 1], [32, 32, 31]]


# All three


@pytest.mark.parametrize(
    ("slug", "answers"),
    [
        ("many-heads", {"parameters": 1, "weights": 2, "without-head-2": 1.87, "left": 0.12}),
        ("block", {"alone": 0, "mean": 0, "ratio": 2, "stream": 2.15, "depth": 1}),
        ("cost", {"doubling": 4, "larger": 0, "crossing": 4608, "serial": 1024}),
    ],
)
def test_answers(slug: str, answers: Mapping[str, float]) -> None:
    lesson = LESSONS[slug]
    found = {}
    for question in (*lesson.predict, *lesson.check):
        values = under(lesson, question.under)
        name, i, j = question.answer
        found[question.key] = right = values[name][i, j]
        numbers = [value for _, value in question.options]
        assert not numbers or numbers.count(right) == 1  # exactly one option is right, to the last bit
        for mistake in question.mistakes:
            name, i, j = mistake.cell
            wrong = values[name][i, j]
            assert f"{wrong:.{question.decimals}f}" != f"{right:.{question.decimals}f}"
            assert not numbers or wrong in numbers
    assert found == pytest.approx(answers, abs=5e-3)


def texts(part: Any) -> Iterable[str]:
    if isinstance(part, Text):
        yield from part
    elif isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from texts(inner)
    elif is_dataclass(part):
        for field in fields(part):
            if field.name not in ("sheet", "under", "edits", "axes"):
                yield from texts(getattr(part, field.name))


@pytest.mark.parametrize("slug", LESSONS)
def test_everything_named_is_there(slug: str) -> None:
    lesson = LESSONS[slug]
    values = lesson.sheet.evaluate()
    for text in texts(lesson):
        assert text.count("$") % 2 == 0
        for name, i, j in re.findall(r"«(\w+)\[(\d+),(\d+)\](?::\d+)?»", text):
            assert np.isfinite(values[name][int(i), int(j)])
        assert text.count("«") == len(re.findall(r"«\w+\[\d+,\d+\](?::\d+)?»", text))
    for part in lesson.body:
        match part:
            case Matrices():
                for shown in part.shown:
                    rows, columns = values[shown.name].shape
                    assert not shown.rows or len(lesson.axes[shown.rows]) == rows
                    assert not shown.columns or len(lesson.axes[shown.columns]) == columns
            case Slider():
                assert part.low <= number(values, part.name) <= part.high
                assert (number(values, part.name) - part.low) % part.step == 0
                for end in (part.low, part.high):
                    assert under(lesson, sized(**{part.name: end}))
            case Query():
                assert all(len(values[name]) == len(lesson.axes[part.axis]) for name in part.follow)
            case Ledger():
                assert all(name in values for name, _, _ in part.rows)
            case Facts():
                assert all(np.isfinite(values[name][i, j]) for _, (name, i, j), _ in part.rows)
            case Chart():
                shapes = {values[name].shape for name in (part.x, *(line.y for line in part.lines))}
                assert len(shapes) == 1
                assert all(values[name].shape == (1, 1) for mark in part.marks for name in mark)
            case Presets():
                first, *_ = part.choices
                for name, after in under(lesson, first.edits).items():
                    np.testing.assert_array_equal(after, values[name])


@pytest.mark.parametrize("slug", LESSONS)
def test_programs_print_what_they_say(slug: str) -> None:
    (code,) = (part for part in LESSONS[slug].body if isinstance(part, Code))
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code.source, slug, "exec"), {})
    assert said.getvalue() == code.output
