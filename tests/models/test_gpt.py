"""GPT: caches, padding and taps change nothing; the future is never seen."""

from typing import get_args

import pytest
import torch

from glassformer.models import GPT, GPTConfig
from glassformer.nn.attention import WEIGHT_NAMES
from glassformer.nn.blocks import Activation, Norm, Order, initialise

SIZES = {"vocab_size": 11, "context": 16, "n_layers": 2, "n_heads": 4, "d_model": 16}
POSITIONS = ["rotary", "learned", "sinusoidal", "relative", "none"]
VARIANTS = [
    *({"positions": kind} for kind in POSITIONS),
    {"rotary_style": "interleaved", "n_kv_heads": 2},
    {"norm_order": "post", "norm": "layernorm", "bias": True, "n_kv_heads": 1},
    {"norm_order": "post", "positions": "relative", "n_kv_heads": 2, "tie_embeddings": False},
    {"activation": "swiglu", "positions": "learned", "norm": "layernorm"},
]
CHOICES = {"activation": "relu", "norm": "layernorm", "norm_eps": 0.1}
CHOICES |= {"rotary_base": 100.0, "rotary_style": "interleaved"}
TOKENS = torch.tensor([[7, 8, 9, 3, 1, 4], [2, 2, 10, 0, 5, 6]])
EXACT, SINGLE = {"atol": 1e-9, "rtol": 1e-9}, {"atol": 1e-5, "rtol": 1e-5}
EVERY = pytest.mark.parametrize("changes", VARIANTS, ids=lambda changes: " ".join(map(str, changes.values())))


def make(dtype=torch.float64, **changes):
    """In float64 and with weights so large that attention is far from uniform: nothing hides in rounding."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(**(SIZES | changes)))
    initialise(model, 1, std=0.5)
    return model.to(dtype).eval().requires_grad_(False)


class Tap:
    """Wants all names or those given; keeps what it sees in order; may change one."""

    def __init__(self, wanted=None, change=None):
        self.wanted, self.change, self.seen, self.path = wanted, change, {}, ""

    def __call__(self, name, tensor):
        name = self.path + name
        assert name not in self.seen, f"{name} was handed out twice"
        self.seen[name] = tensor
        if name != self.change:
            return tensor
        return ~tensor if tensor.dtype == torch.bool else 2 * tensor + 1

    def at(self, path):
        child = Tap(self.wanted, self.change)
        child.seen, child.path = self.seen, f"{self.path}{path}."
        return child

    def wants(self, name):
        return self.wanted is None or self.path + name in self.wanted


def in_chunks(model, tokens, sizes, state=None):
    state = model.new_state(len(tokens)) if state is None else state
    pieces = []
    for chunk in tokens.split(sizes, 1):
        logits, state = model(chunk, state)
        pieces.append(logits)
    return torch.cat(pieces, 1), state


def splits(n):
    """Every way to cut n tokens into chunks: [1] * n, ..., [n - 1, 1], [n]."""
    yield from ([size, *rest] for size in range(1, n) for rest in splits(n - size))
    yield [n]


@EVERY
def test_cached_equals_uncached_for_every_split(changes):
    model = make(**changes)
    whole, state = model(TOKENS)
    assert state is None
    for sizes in splits(6):
        logits, state = in_chunks(model, TOKENS, sizes)
        torch.testing.assert_close(logits, whole, **EXACT)
        assert state.length == 6


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm_order", get_args(Order))
@pytest.mark.parametrize("activation", get_args(Activation))
@pytest.mark.parametrize("norm", get_args(Norm))
def test_cached_equals_uncached_for_every_kind(positions, norm_order, activation, norm):
    kinds = {"positions": positions, "norm_order": norm_order, "activation": activation, "norm": norm}
    for n_kv_heads in (None, 2, 1):
        model = make(torch.float32, n_kv_heads=n_kv_heads, n_layers=1, **kinds)
        torch.testing.assert_close(in_chunks(model, TOKENS, [3, 1, 2])[0], model(TOKENS)[0], **SINGLE)


@EVERY
@pytest.mark.parametrize("left", [True, False])
def test_padding_changes_nothing(changes, left):
    """Rows of 3 and of 6, one of nothing, in one go and cached; padding holds a token like any other."""
    model, pads = make(**changes), torch.full((1, 3), 5)
    short = torch.cat((pads, TOKENS[:1, :3]) if left else (TOKENS[:1, :3], pads), 1)
    real = slice(3, 6) if left else slice(0, 3)
    valid = torch.zeros(3, 6, dtype=torch.bool)
    valid[0, real] = valid[1] = True
    tokens = torch.cat((short, TOKENS[1:], TOKENS[1:]))
    logits, state = model(tokens, model.new_state(3), valid_bn=valid)
    assert logits.isfinite().all()
    torch.testing.assert_close(model(tokens, valid_bn=valid)[0], logits, **EXACT)
    torch.testing.assert_close(logits[:1, real], model(TOKENS[:1, :3])[0], **EXACT)
    torch.testing.assert_close(logits[1:2], model(TOKENS[1:])[0], **EXACT)
    more, _ = in_chunks(model, TOKENS[[0, 1, 1], 3:], [1, 2], state)
    torch.testing.assert_close(more[:1], model(TOKENS[:1])[0][:, 3:], **EXACT)


@pytest.mark.parametrize("backend", ["reference", "fused"])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-5), (torch.bfloat16, 0.1)])
def test_left_padding_in_lesser_precision(dtype, error, positions, backend):
    model, valid = make(dtype, positions=positions), torch.tensor([[0, 0, 1, 1, 1]]).bool()
    logits = model(torch.tensor([[0, 0, 7, 8, 9]]), valid_bn=valid, backend=backend)[0]
    assert logits.isfinite().all()
    alone = model(torch.tensor([[7, 8, 9]]), backend=backend)[0]
    torch.testing.assert_close(logits[:, 2:], alone, atol=error, rtol=error)


def test_two_continuations_of_one_state_do_not_meet():
    model, tails = make(), (TOKENS[:, 3:], TOKENS.flip(0)[:, 3:])
    _, state = model(TOKENS[:, :3], model.new_state(2))
    firsts = [model(tail[:, :1], state) for tail in tails]
    for tail, (first, after) in zip(tails, firsts, strict=True):
        logits = torch.cat((first, model(tail[:, 1:], after)[0]), 1)
        whole = model(torch.cat((TOKENS[:, :3], tail), 1))[0]
        torch.testing.assert_close(logits, whole[:, 3:], **EXACT)


def test_reordered_state_goes_on_as_its_rows():
    model, rows, tail = make(), torch.tensor([1, 1, 0]), TOKENS[[0, 1, 0], 3:]
    _, state = model(TOKENS[:, :3], model.new_state(2))
    whole = model(torch.cat((TOKENS[rows, :3], tail), 1))[0]
    torch.testing.assert_close(model(tail, state.reorder(rows))[0], whole[:, 3:], **EXACT)


@pytest.mark.parametrize("capacity", [1, 4, None])
def test_a_state_grows_beyond_its_capacity(capacity):
    model, tokens = make(), TOKENS.repeat(1, 4)  # 24 tokens, context 16
    logits, _ = in_chunks(model, tokens, [5] + [1] * 19, model.new_state(2, capacity))
    torch.testing.assert_close(logits, model(tokens)[0], **EXACT)


def test_learned_positions_end_with_a_clear_error():
    model, tokens = make(positions="learned", context=8), torch.ones(1, 9, dtype=torch.long)
    message = "position 8 lies past the learned table of 8"
    with pytest.raises(ValueError, match=message):
        model(tokens)
    _, state = model(tokens[:, :8], model.new_state(1))
    with pytest.raises(ValueError, match=message):
        model(tokens[:, :1], state)
    valid = torch.tensor([[0] + [1] * 8]).bool()  # nine slots, eight positions
    torch.testing.assert_close(model(tokens, valid_bn=valid)[0][:, 1:], model(tokens[:, :8])[0], **EXACT)


def test_states_and_marks_must_fit_the_tokens():
    model = make()
    with pytest.raises(ValueError, match="state holds 2 rows, the tokens 1"):
        model(TOKENS[:1], model.new_state(2))
    _, state = model(TOKENS, model.new_state(2))
    with pytest.raises(ValueError, match=r"2 x 1 tokens, not \(2, 7\)"):
        model(TOKENS[:, :1], state, valid_bn=torch.ones(2, 7, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="no_grad"):
        model.requires_grad_(True)(TOKENS, model.new_state(2))


@EVERY
def test_later_tokens_never_alter_earlier_logits(changes):
    model = make(**changes)
    before = model(TOKENS)[0]
    for i in range(6):
        after = model(torch.cat((TOKENS[:, :i], (TOKENS[:, i:] + 1) % 11), 1))[0]
        torch.testing.assert_close(after[:, :i], before[:, :i], **EXACT)
        assert (after[:, i] - before[:, i]).abs().max() > 0.1


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("layer", [0, 1])
def test_each_layer_knows_the_order_of_the_past_by_positions_alone(positions, layer):
    model = make(positions=positions)
    model.blocks[1 - layer].attention.output.weight.zero_()
    error = (model(TOKENS)[0] - model(TOKENS[:, [2, 0, 1, 4, 3, 5]])[0])[:, -1].abs().max()
    assert error < 1e-9 if positions == "none" else error > 1e-2


@pytest.mark.parametrize(("name", "value"), CHOICES.items())
def test_each_choice_is_heard(name, value):
    assert (make(**{name: value})(TOKENS)[0] - make()(TOKENS)[0]).abs().max() > 1e-3


@EVERY
def test_taps_see_what_is_listed_and_change_nothing(changes):
    model, tap, quiet = make(**changes), Tap(), Tap(wanted=("blocks.0.output",))
    plain = model(TOKENS)[0]
    torch.testing.assert_close(model(TOKENS, tap=tap)[0], plain, **EXACT)
    assert tuple(tap.seen) == model.tap_names()
    assert torch.equal(tap.seen["logits"], model(TOKENS, backend="reference")[0])
    assert torch.equal(model(TOKENS, tap=quiet)[0], plain)
    assert tuple(quiet.seen) == tuple(n for n in model.tap_names() if not n.endswith(WEIGHT_NAMES))
    for i in range(2):  # the weights of the one pass are those of the fused other
        weights, v = (tap.seen[f"blocks.{i}.attention.{name}"] for name in ("weights", "v"))
        heads = weights @ v.repeat_interleave(weights.shape[1] // v.shape[1], 1)
        torch.testing.assert_close(quiet.seen[f"blocks.{i}.attention.heads"], heads, **EXACT)


@pytest.mark.parametrize("name", make().tap_names())
def test_what_a_tap_returns_goes_on(name):
    model = make()
    changed, _ = model(TOKENS, tap=Tap(change=name))
    assert (changed - model(TOKENS)[0]).abs().max() > 1e-2


def test_dropout_only_while_training():
    model = make(dropout=0.5)
    assert torch.equal(model(TOKENS)[0], model(TOKENS)[0])
    torch.testing.assert_close(model(TOKENS)[0], make()(TOKENS)[0], **EXACT)
    for module in (model.drop, *(part for block in model.blocks for part in (block.drop, block.attention))):
        module.train()
        assert not torch.equal(model(TOKENS)[0], model(TOKENS)[0])
        module.eval()


def test_a_tied_head_is_one_parameter():
    tied, untied = (
        GPT(GPTConfig(4, d_model=3, n_heads=1, positions="none", tie_embeddings=tie)) for tie in (True, False)
    )
    sizes = [sum(p.numel() for p in model.parameters()) for model in (tied, tied.blocks, untied)]
    assert sizes == [sizes[1] + 3 + 12, sizes[1], sizes[1] + 3 + 24]
    assert tied.head.weight is tied.embedding.weight
    assert not torch.equal(untied.head.weight, untied.embedding.weight)


@pytest.mark.parametrize(("order", "n_norms"), [("pre", 5), ("post", 4)])
@pytest.mark.parametrize("norm", get_args(Norm))
def test_the_stream_ends_in_one_norm_with_the_configs_eps(order, n_norms, norm):
    tap, model = Tap(), make(norm_order=order, norm=norm, norm_eps=1e-12)
    model(TOKENS, tap=tap)
    square = tap.seen["final"].square().mean(-1)
    torch.testing.assert_close(square, torch.ones_like(square), **EXACT)
    assert [m.eps for m in model.modules() if hasattr(m, "eps")] == [1e-12] * n_norms


def test_first_values_are_gpt2s():
    model = GPT(GPTConfig(50, n_layers=8))
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert model.blocks[7].ffn.down.weight.std().item() == pytest.approx(0.005, rel=0.05)
