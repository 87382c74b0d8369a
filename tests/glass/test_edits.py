"""Edits: each alone and several together against numpy, what they say, and that they change nothing else."""

import re
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.glass import edits, trace
from glassformer.glass.edits import cut, let_see, patch, scale_value, set_value, silence, swap_values, zero
from oracle import KINDS, TOKENS, make, passed, put, shared

EVERY, INF = slice(None), -np.inf
VALUE = torch.tensor([0.5, -1.0, 2.0, 0.25])
OTHER = {shape: np.random.default_rng(0).normal(size=shape) for shape in [(6, 16), (4, 6, 4), (4, 6, 6)]}


def other(*shape):
    """The patches, as a trace of one row would have recorded them."""
    return torch.from_numpy(OTHER[shape])[None]


def scaled(index, factor):
    return lambda v: put(index, v[index] * factor)(v)


def swapped(index):
    return lambda v: put((index, [1, 4]), v[index, [4, 1]])(v)


def patched(width, tokens):
    return put((EVERY, tokens), OTHER[4, 6, width][:, tokens])


def at(layer, name):
    return f"blocks.{layer}.attention.{name}"


# (the edit, the name it changes, what numpy does there)
CASES = {
    "set": (set_value(1, 2, VALUE, 0), at(1, "v"), put((0, 2), VALUE.numpy())),
    "set-all": (set_value(0, 1, VALUE), at(0, "v"), put((EVERY, 1), VALUE.numpy())),
    "scale": (scale_value(1, 2, -2.5, 0), at(1, "v"), scaled((0, 2), -2.5)),
    "scale-all": (scale_value(0, 2, 0), at(0, "v"), scaled((EVERY, 2), 0)),
    "swap": (swap_values(0, 1, 4, 0), at(0, "v"), swapped(0)),
    "swap-all": (swap_values(1, 4, 1), at(1, "v"), swapped(EVERY)),
    "cut": (cut(1, 2, edges=[(5, 3), (4, 0)]), at(1, "scores"), put((2, [5, 4], [3, 0]), INF)),
    "cut-all": (cut(0, edges=[(5, 3)]), at(0, "scores"), put((EVERY, 5, 3), INF)),
    "cut-key": (cut(0, 3, key=2), at(0, "scores"), put((3, EVERY, 2), INF)),
    "cut-first-key": (cut(1, key=0), at(1, "scores"), put((EVERY, EVERY, 0), INF)),
    "cut-to-nowhere": (cut(0, 1, edges=[(1, 0), (1, 1)]), at(0, "scores"), put((1, 1), INF)),
    "zero": (zero(0, 3, edges=[(5, 0), (2, 1)]), at(0, "weights"), put((3, [5, 2], [0, 1]), 0)),
    "zero-all": (zero(1, edges=[(5, 4)]), at(1, "weights"), put((EVERY, 5, 4), 0)),
    "zero-key": (zero(1, 0, key=5), at(1, "weights"), put((0, EVERY, 5), 0)),
    "silence": (silence(0, 2), at(0, "heads"), put(2, 0)),
    "patch": (patch("blocks.0.middle", other(6, 16)), "blocks.0.middle", put(EVERY, OTHER[6, 16])),
    "patch-heads": (patch(at(0, "heads"), other(4, 6, 4), [4, 1, 4]), at(0, "heads"), patched(4, [1, 4])),
    "patch-scores": (patch(at(1, "scores"), other(4, 6, 6), [5]), at(1, "scores"), patched(6, [5])),
    "patch-input": (patch("blocks.1.input", other(6, 16), [3]), "blocks.1.input", put(3, OTHER[6, 16][3])),
    "see": (let_see(0, 2, 5, True), at(0, "mask"), put((EVERY, 2, 5), True)),
    "see-one": (let_see(1, 3, 4, True, 1), at(1, "mask"), put((1, 3, 4), True)),
    "forbid": (let_see(1, 5, 2, False, 3), at(1, "mask"), put((3, 5, 2), False)),
}
EACH = pytest.mark.parametrize("case", CASES)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def split(cases):
    """What the package gets and what numpy gets."""
    return [CASES[case][0] for case in cases], [CASES[case][1:] for case in cases]


def same(ours, expected, dtype=torch.float64):
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    np.testing.assert_allclose(ours[0].double().numpy(), expected, rtol=tolerance, atol=tolerance)


@EACH
@EVERY_KIND
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["64", "32"])
def test_each_edit_gives_the_logits_of_numpy(kind, case, dtype):
    model = shared(kind, dtype)
    ours, theirs = split([case])
    logits = trace(model, TOKENS, "logits", edits=ours)["logits"]
    same(logits, passed(model, TOKENS, theirs)["logits"], dtype)
    assert (logits - trace(model, TOKENS, "logits")["logits"]).abs().max() > 1e-3


@EVERY_KIND
@settings(derandomize=True, deadline=None, max_examples=25)
@given(cases=st.lists(st.sampled_from([*CASES]), min_size=2, max_size=3))
def test_several_edits_act_in_their_order_and_all_that_is_recorded_is_what_they_left(kind, cases):
    model = shared(kind, torch.float64)
    ours, theirs = split(cases)
    edited, expected = trace(model, TOKENS, edits=ours), passed(model, TOKENS, theirs)
    assert set(edited) == set(expected)
    for name in edited:
        same(edited[name], expected[name])
    assert edited.edits == tuple(ours)


@pytest.mark.parametrize("cases", [("set", "scale"), ("patch-scores", "cut"), ("swap", "set-all")])
def test_another_order_is_another_result(cases):
    model = make()
    orders = (split(order)[0] for order in (cases, cases[::-1]))
    first, second = (trace(model, TOKENS, "logits", edits=order)["logits"] for order in orders)
    assert (first - second).abs().max() > 1e-3


@EVERY_KIND
def test_a_trace_without_edits_is_that_of_numpy(kind):
    model = shared(kind, torch.float64)
    traced, expected = trace(model, TOKENS), passed(model, TOKENS)
    for name in traced:
        same(traced[name], expected[name])


@EACH
def test_an_edit_stays_in_its_layer_its_head_and_what_follows(case):
    edit, name, _ = CASES[case]
    model = make(n_layers=3)
    plain, edited = trace(model, TOKENS), trace(model, TOKENS, edits=[edit])
    before = [*plain][: [*plain].index(name)]
    assert all(torch.equal(plain[earlier], edited[earlier]) for earlier in before)
    changed = (edited[name] != plain[name])[0].flatten(1).any(-1)
    assert changed.any()
    if head := re.search(r"head (\d)", edit.said):
        assert changed.nonzero().tolist() == [[int(head[1])]]


@pytest.mark.parametrize(("case", "attention"), [("set", "fused"), ("patch", "fused"), ("see", "reference")])
def test_a_trace_says_which_path_its_edits_took(case, attention):
    assert trace(make(), TOKENS, "logits", edits=[CASES[case][0]]).attention == attention


def test_all_rows_are_edited():
    rows = [TOKENS, TOKENS[::-1]]
    model = make(dtype=torch.float64)
    ours, theirs = split(["swap", "cut", "zero-key", "silence", "see"])
    logits = trace(model, rows, "logits", edits=ours)["logits"]
    for i, row in enumerate(rows):
        same(logits[i : i + 1], passed(model, row, theirs)["logits"])


def test_edits_that_change_nothing():
    plain, edited = (trace(make(), TOKENS, edits=[*edits.noop(0), *edits.noop(1)][:n]) for n in (0, 10))
    assert len(edited.edits) == 10
    assert all(torch.equal(plain[name], edited[name]) for name in plain)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("set", "set the value of token 2 in layer 1, head 0"),
        ("set-all", "set the value of token 1 in layer 0"),
        ("scale", "scale the value of token 2 by -2.5 in layer 1, head 0"),
        ("swap-all", "swap the values of tokens 4 and 1 in layer 1"),
        ("cut", "cut 5→3, 4→0 in layer 1, head 2"),
        ("cut-first-key", "cut token 0 as a key in layer 1"),
        ("zero-key", "zero token 5 as a key in layer 1, head 0"),
        ("silence", "silence head 2 of layer 0"),
        ("patch", "patch blocks.0.middle"),
        ("patch-heads", "patch blocks.0.attention.heads at tokens 1, 4"),
        ("see", "let token 2 look at token 5 in layer 0"),
        ("forbid", "do not let token 5 look at token 2 in layer 1, head 3"),
    ],
)
def test_an_edit_says_what_it_does(case, said):
    assert CASES[case][0].said == said


@pytest.mark.parametrize("make_edit", [cut, zero])
@pytest.mark.parametrize("what", [{}, {"edges": [(1, 0)], "key": 0}, {"edges": []}])
def test_edges_or_a_key_but_not_both_nor_neither(make_edit, what):
    with pytest.raises(ValueError, match=f"^{make_edit.__name__} takes either edges or a key$"):
        make_edit(0, **what)


@pytest.mark.parametrize(
    "edit",
    [
        set_value(0, 1, VALUE, 2),
        scale_value(0, 6, 2.0),
        swap_values(0, 0, 1, 2),
        cut(0, 4, key=0),
        cut(0, edges=[(6, 0)]),
        zero(0, 4, edges=[(1, 0)]),
        zero(0, key=6),
        silence(0, 4),
        let_see(0, 1, 0, False, 4),
        patch("blocks.0.middle", other(6, 16), [6]),
    ],
    ids=lambda edit: edit.said,
)
def test_a_head_or_token_that_is_not_there_is_never_passed_over(edit):
    with pytest.raises(IndexError):
        trace(make(), TOKENS, "logits", edits=[edit])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (silence(2, 0), r"'blocks\.2\.attention\.heads'; did you mean"),
        (patch("blocks.0.midle", other(6, 16)), r"'blocks\.0\.midle'; did you mean 'blocks\.0\.middle'"),
        (patch("blocks.*.middle", other(6, 16)), r"'blocks\.\*\.middle'; did you mean"),
        (patch("final", other(6, 16)[:, :5]), r"has shape \(1, 6, 16\) here, the patch \(1, 5, 16\)"),
        (patch("blocks.0.middle", other(4, 6, 4)), r"here, the patch \(1, 4, 6, 4\)"),
    ],
)
def test_an_edit_that_fits_nothing_is_refused(edit, message):
    with pytest.raises(ValueError, match=message):
        trace(make(), TOKENS, "logits", edits=[edit])


def test_neither_the_model_nor_a_recorded_trace_is_changed():
    model = make()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    base = trace(model, TOKENS)
    kept = {name: tensor.clone() for name, tensor in base.tensors.items()}
    again = [patch(name, base[name]) for name in base if "mask" not in name]
    edited = trace(model, TOKENS, edits=[*again, *split(CASES)[0]])
    for name in edited:
        edited[name].fill_(0)
    assert all(torch.equal(base[name], kept[name]) for name in base)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert trace(model, TOKENS)["logits"].equal(kept["logits"])


def test_traces_in_two_threads_do_not_disturb_each_other():
    model = make()
    choices = [[], split(["cut", "set-all"])[0], split(["silence", "see"])[0]]
    alone = [trace(model, TOKENS, edits=choice) for choice in choices]
    start, different = threading.Barrier(3), []

    def work(i):
        start.wait()
        for _ in range(25):
            traced = trace(model, TOKENS, edits=choices[i])
            different.extend(name for name in traced if not torch.equal(traced[name], alone[i][name]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert different == []
