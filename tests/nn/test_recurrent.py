"""Recurrent layers: the steps are the formulas, the kernel is the steps, and padding is not there."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.nn.recurrent import INSIDE, Recurrent, Weights, gru_step, lstm_step, rnn_step
from glassformer.nn.state import HiddenState

KINDS = pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
WAYS = pytest.mark.parametrize("bidirectional", [False, True])
B, N, D, H = 5, 7, 3, 4
EXACT = {"atol": 1e-10, "rtol": 0}
PADDINGS = {
    "none": None,
    "right": torch.arange(N) < torch.tensor([7, 3, 1, 0, 5])[:, None],
    "left": torch.arange(N) >= torch.tensor([0, 4, 6, 7, 1])[:, None],
    "between": torch.tensor([[1, 0, 1, 1, 0, 0, 1]] * 3 + [[0, 0, 1, 0, 0, 1, 0]] * 2).bool(),
}
PADDED = pytest.mark.parametrize("padding", PADDINGS)


def make(kind, n_layers=2, bidirectional=False, dtype=torch.float64, **options):
    torch.manual_seed(0)
    layers = Recurrent(kind, D, H, n_layers, bidirectional=bidirectional, **options)
    with torch.no_grad():
        for parameter in layers.parameters():  # biases too, both of them
            parameter.normal_(std=0.7)
    return layers.to(dtype)


def inputs(dtype=torch.float64, b=B, n=N):
    torch.manual_seed(1)
    return torch.randn(b, n, D, dtype=dtype)


def begin(layers, b=B, dtype=torch.float64):
    """A state that is not zero."""
    torch.manual_seed(2)
    parts = [torch.randn_like(part) for part in layers.new_state(b).parts]
    return HiddenState(*parts)


def sigma(x):
    return 1 / (1 + np.exp(-x))


def formulas(kind, x, h, c, w):
    """The lecture's equations for one example, with column vectors, gate by gate."""
    w_x, w_h, b_x, b_h = (part.detach().numpy() for part in w)
    size = len(h)

    def gate(i, reset=1.0):
        rows = slice(i * size, (i + 1) * size)
        return w_x[rows] @ x + b_x[rows] + reset * (w_h[rows] @ h + b_h[rows])

    if kind == "rnn":
        return np.tanh(gate(0)), c
    if kind == "lstm":
        i, f, candidate, o = sigma(gate(0)), sigma(gate(1)), np.tanh(gate(2)), sigma(gate(3))
        c = f * c + i * candidate
        return o * np.tanh(c), c
    r, z = sigma(gate(0)), sigma(gate(1))
    n = np.tanh(gate(2, reset=r))
    return (1 - z) * n + z * h, c


@KINDS
def test_a_step_is_the_lectures_formula(kind):
    weights = make(kind, 1).layers[0].weights()
    x, (h, c) = inputs()[:, 0], torch.randn(2, B, H, dtype=torch.float64)
    steps = {"rnn": rnn_step, "gru": gru_step}
    with torch.no_grad():
        if kind == "lstm":
            h_new, c_new = lstm_step(x, h, c, weights)
        else:
            h_new, c_new = steps[kind](x, h, weights), c
    for row in range(B):
        h_row, c_row = formulas(kind, x[row].numpy(), h[row].numpy(), c[row].numpy(), weights)
        assert np.abs(h_new[row].numpy() - h_row).max() < 1e-12
        assert np.abs(c_new[row].numpy() - c_row).max() < 1e-12


@KINDS
@WAYS
@PADDED
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("given", [False, True], ids=["from zeros", "from a state"])
def test_the_kernel_is_the_steps_forward_and_backward(kind, bidirectional, padding, dtype, tolerance, given):
    layers, valid = make(kind, 2, bidirectional, dtype), PADDINGS[padding]
    results = []
    for backend in ("reference", "fused"):
        x = inputs(dtype).requires_grad_()
        state = begin(layers) if given else layers.new_state(B)
        state = HiddenState(*(part.to(dtype).requires_grad_() for part in state.parts))
        out, after = layers(x, state, valid_bn=valid, backend=backend)
        weighted = [
            (part * torch.linspace(-1, 1, part.numel(), dtype=dtype).view_as(part)).sum()
            for part in (out, *after.parts)
        ]
        wanted = [x, *state.parts, *layers.parameters()]
        results.append([out, *after.parts, *torch.autograd.grad(sum(weighted), wanted)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=tolerance)
    assert after.length == N


@KINDS
@WAYS
def test_a_stack_is_pytorchs_stack(kind, bidirectional):
    layers = make(kind, 3, bidirectional)
    kernels = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
    theirs = kernels[kind](D, H, 3, batch_first=True, bidirectional=bidirectional).double()
    for i, layer in enumerate(layers.layers):
        for name, parameter in layer.kernel.named_parameters():
            getattr(theirs, name.replace("_l0", f"_l{i}")).data = parameter.data
    out, after = layers(inputs())
    expected, last = theirs(inputs())
    torch.testing.assert_close(out, expected, **EXACT)
    for ours, part in zip(after.parts, last if kind == "lstm" else (last,), strict=True):
        torch.testing.assert_close(ours, part, **EXACT)


@KINDS
def test_gradients_are_those_of_finite_differences(kind):
    layers, x = make(kind, 1), inputs(b=2, n=3).requires_grad_()
    names = [name for name, _ in layers.named_parameters()]

    def run(x, *parameters):
        named = dict(zip(names, parameters, strict=True))
        out, after = torch.func.functional_call(layers, named, (x,), {"backend": "reference"})
        return out, *after.parts

    assert torch.autograd.gradcheck(run, (x, *layers.parameters()))


@KINDS
@WAYS
@pytest.mark.parametrize("padding", ["right", "left", "between"])
@pytest.mark.parametrize("backend", ["reference", "fused"])
def test_padding_is_not_there(kind, bidirectional, padding, backend):
    layers, valid, state = make(kind, 2, bidirectional), PADDINGS[padding], None
    x, state = inputs(), begin(layers)
    out, after = layers(x, state, valid_bn=valid, backend=backend)
    garbage = torch.where(valid[..., None], x, torch.tensor(torch.nan if backend == "fused" else 99.0))
    again, _ = layers(garbage, state, valid_bn=valid, backend=backend)
    torch.testing.assert_close(again, out, **EXACT)
    assert (out[~valid] == 0).all()
    for row in range(B):
        alone = state.reorder(torch.tensor([row]))
        if valid[row].any():
            expected, alone = layers(x[row : row + 1, valid[row]], alone, backend=backend)
            torch.testing.assert_close(out[row, valid[row]], expected[0], **EXACT)
        for ours, part in zip(after.parts, alone.parts, strict=True):
            torch.testing.assert_close(ours[:, row], part[:, 0], **EXACT)


@KINDS
@pytest.mark.parametrize("backend", ["reference", "fused"])
def test_a_text_may_be_cut_anywhere_and_an_old_state_stays_good(kind, backend):
    layers, x = make(kind), inputs()
    whole, end = layers(x, backend=backend)
    first, middle = layers(x[:, :3], backend=backend)
    before = [part.clone() for part in middle.parts]
    for _ in range(2):
        second, last = layers(x[:, 3:], middle, backend=backend)
        torch.testing.assert_close(torch.cat([first, second], 1), whole, **EXACT)
        assert last.length == end.length == N
        for ours, part in zip(last.parts, end.parts, strict=True):
            torch.testing.assert_close(ours, part, **EXACT)
    assert all(torch.equal(ours, part) for ours, part in zip(middle.parts, before, strict=True))


def test_order_of_gates_by_an_example_on_paper():
    # i closed, f and o' preactivations by bias alone: c stays, h = sigma(100) tanh(0.7)
    zero = torch.zeros(4, 1)
    weights = Weights(zero, zero, torch.tensor([-100.0, 100.0, 0.0, 100.0]), torch.zeros(4))
    h, c = lstm_step(torch.ones(1, 1), torch.ones(1, 1), torch.tensor([[0.7]]), weights)
    assert c.item() == pytest.approx(0.7)
    assert h.item() == pytest.approx(0.6044, abs=5e-5)
    kernel = nn.LSTM(1, 1)
    for name, value in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights, strict=True):
        getattr(kernel, f"{name}_l0").data = value
    out, (_, cell) = kernel(torch.ones(1, 1, 1), (torch.ones(1, 1, 1), torch.tensor([[[0.7]]])))
    assert (out.item(), cell.item()) == pytest.approx((h.item(), c.item()))


@WAYS
def test_the_forget_gate_begins_at_one_in_all(bidirectional):
    for layer in Recurrent("lstm", D, H, 2, bidirectional=bidirectional).layers:
        for direction in range(layer.directions):
            weights = layer.weights(direction)
            bias = (weights.b_x + weights.b_h).view(4, H)
            assert (bias[1] == 1).all()
            assert (bias[[0, 2, 3]] == 0).all()
            for gate in weights.w_h.detach().split(H):
                torch.testing.assert_close(gate @ gate.T, torch.eye(H))


@KINDS
def test_dropout_acts_between_layers_in_training_alone(kind):
    layers = make(kind, 2, dropout=0.5)
    x = inputs()
    rest = layers.eval()(x)[0]
    torch.testing.assert_close(rest, make(kind, 2)(x)[0], **EXACT)
    torch.manual_seed(3)
    dropped = layers.train()(x)[0]
    assert not torch.equal(dropped, rest)
    assert (dropped != 0).all()  # not after the last
    single = make(kind, 1, dropout=0.5)
    assert torch.equal(single.train()(x)[0], single.eval()(x)[0])


class Watching:
    """Wants all names, or those given; keeps the last tensor of each; may change one at a place."""

    def __init__(self, wanted=None, change=None, path="", seen=None):
        self.wanted, self.change, self.path = wanted, change, path
        self.seen = {} if seen is None else seen

    def __call__(self, name, tensor):
        name = self.path + name
        if self.change and name == self.change[0]:
            tensor = tensor.clone()
            tensor[:, self.change[1]] = self.change[2]
        self.seen[name] = tensor
        return tensor

    def at(self, path):
        return Watching(self.wanted, self.change, f"{self.path}{path}.", self.seen)

    def wants(self, name):
        return self.wanted is None or self.path + name in self.wanted


@KINDS
@WAYS
def test_what_a_tap_sees_are_the_values_of_the_formulas(kind, bidirectional):
    layers, x, tap = make(kind, 2, bidirectional), inputs(), Watching()
    out, _ = layers(x, tap=tap)
    assert tuple(tap.seen) == layers.tap_names()
    torch.testing.assert_close(out, layers(x, backend="fused")[0], **EXACT)
    seen = {name: value.detach() for name, value in tap.seen.items()}
    assert torch.equal(seen["0.output"], seen["1.input"])
    for way in ("", "reverse.")[: 2 if bidirectional else 1]:
        inside = {name: seen[f"1.{way}{name}"] for name in INSIDE[kind]}
        step = -1 if way else 1  # the order in which it reads
        h = inside["hidden"].roll(step, 1)
        h[:, 0 if step == 1 else -1] = 0
        if kind == "lstm":
            c = inside["cell"].roll(step, 1)
            c[:, 0 if step == 1 else -1] = 0
            f, i, o, candidate = (inside[name] for name in ("f", "i", "o", "candidate"))
            torch.testing.assert_close(inside["cell"], f * c + i * candidate, **EXACT)
            torch.testing.assert_close(inside["hidden"], o * inside["cell"].tanh(), **EXACT)
        elif kind == "gru":
            z, n = inside["z"], inside["n"]
            torch.testing.assert_close(inside["hidden"], (1 - z) * n + z * h, **EXACT)
        else:
            weights = layers.layers[1].weights(1 if way else 0)
            expected = weights.of_input(seen["1.input"]) + weights.of_state(h)
            torch.testing.assert_close(inside["hidden"], expected.tanh(), **EXACT)


def test_an_edit_inside_is_felt_by_every_later_step():
    layers, x = make("lstm", 1), inputs()
    plain = Watching()
    layers(x, tap=plain)
    shut = Watching(change=("0.f", 3, 0.0))  # at token 3 all is forgotten
    out, _ = layers(x, tap=shut)
    forgotten, weights = [], layers.layers[0].weights()
    h = c = torch.zeros(B, H, dtype=torch.float64)
    for t in range(N):
        c = torch.zeros_like(c) if t == 3 else c
        h, c = lstm_step(x[:, t], h, c, weights)
        forgotten.append(h)
    torch.testing.assert_close(out, torch.stack(forgotten, 1), **EXACT)
    assert torch.equal(shut.seen["0.cell"][:, :3], plain.seen["0.cell"][:, :3])
    assert (shut.seen["0.i"][:, 4:] != plain.seen["0.i"][:, 4:]).all()


def test_outputs_can_be_tapped_without_leaving_the_kernel(monkeypatch):
    layers, x = make("gru"), inputs()
    expected = layers(x)[0]
    monkeypatch.setattr(type(layers.layers[0]), "_reference", None)
    tap = Watching(wanted=("0.output", "1.output"))
    assert torch.equal(layers(x, tap=tap)[0], expected)
    with pytest.raises(ValueError, match="never shows gates or states"):
        layers(x, backend="fused", tap=Watching())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"valid_bn": torch.ones(B, N - 1).bool()}, "valid_bn must mark each of the 5 x 7 tokens"),
        ({"state": make("lstm").new_state(B - 1)}, r"the state must be \(2, 5, 4\)"),
        ({"state": make("lstm", 1).new_state(B)}, r"\(layers and directions, rows, width\), not \(1, 5, 4\)"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make("lstm")(inputs(), **arguments)


PHONEMES = (
    "AA0 AA1 AA2 AE0 AE1 AE2 AH0 AH1 AH2 AO0 AO1 AO2 AW0 AW1 AW2 AY0 AY1 AY2 B CH D DH EH0 EH1 EH2 ER0 ER1 "
    "ER2 EY0 EY1 EY2 F G HH IH0 IH1 IH2 IY0 IY1 IY2 JH K L M N NG OW0 OW1 OW2 OY0 OY1 OY2 P R S SH T TH UH0 "
    "UH1 UH2 UW UW0 UW1 UW2 V W Y Z ZH"
)


@pytest.mark.parametrize(
    ("word", "spoken"),
    [
        ("attention", "AH0 T EH1 N SH AH0 N"),
        ("recurrent", "R IH0 K ER1 AH0 N T"),
        ("glassformer", "G L AE1 S F AO2 R M ER0"),
    ],
)
@pytest.mark.parametrize("backend", ["reference", "fused"])
def test_published_gru_weights_pronounce_as_their_package_does(word, spoken, backend):
    """g2p-en (Park & Kim 2019): an encoder and a decoder GRU that write phonemes, greedily."""
    package = importlib.util.find_spec("g2p_en")  # not imported: it would fetch dictionaries
    if package is None or not package.submodule_search_locations:
        pytest.skip("pip install --no-deps g2p-en brings the weights")
    with np.load(Path(package.submodule_search_locations[0]) / "checkpoint20.npz") as file:
        theirs = {name: torch.from_numpy(file[name]) for name in file.files}
    graphemes = ["<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz"]
    networks = {}
    for side in ("enc", "dec"):
        gru = Recurrent("gru", *theirs[f"{side}_w_ih"].shape[::-1][:1], theirs[f"{side}_w_hh"].shape[1])
        names = {"w_ih": "weight_ih_l0", "w_hh": "weight_hh_l0", "b_ih": "bias_ih_l0", "b_hh": "bias_hh_l0"}
        gru.layers[0].kernel.load_state_dict({ours: theirs[f"{side}_{t}"] for t, ours in names.items()})
        networks[side] = gru
    with torch.no_grad():
        read = theirs["enc_emb"][[graphemes.index(letter) for letter in word] + [2]]
        _, state = networks["enc"](read[None], backend=backend)
        last, written = 2, []
        while len(written) < 20:
            out, state = networks["dec"](theirs["dec_emb"][last][None, None], state, backend=backend)
            last = int((out[0, 0] @ theirs["fc_w"].T + theirs["fc_b"]).argmax())
            if last == 3:
                break
            written.append(PHONEMES.split()[last - 4])
    assert written == spoken.split()
