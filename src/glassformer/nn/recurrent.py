"""Recurrent layers: the lecture's step, written out, and PyTorch's kernel over whole sequences, same weights.

Elman 1990; Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000; Cho et al. 2014. Column
vectors, unlike attention's rows: `W x` is W times a column, and `F.linear(x, W)` takes it for every row.

Shapes: b batch, n tokens, D width of the input, H of the state, G stacked gates (H, 4H or 3H), L layers times
directions.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .attention import Backend
from .state import HiddenState
from .tap import Tap, names_under

Kind = Literal["rnn", "lstm", "gru"]
Watch = Callable[[str, Tensor], Tensor]
"""What a step hands its values to, by name, to go on with what comes back; a `Tap` is one."""

INSIDE: dict[Kind, tuple[str, ...]] = {
    "rnn": ("hidden",),
    "lstm": ("f", "i", "o", "candidate", "cell", "hidden"),
    "gru": ("r", "z", "n", "hidden"),
}
"""Tap names that only the reference path can serve, in the order of a step."""


class Weights(NamedTuple):
    """One direction of one layer, gates stacked as PyTorch has them: i, f, c̃, o; r, z, n.

    The bias of the formulas is b_x + b_h; apart they matter only to a GRU's n, whose b_h is inside the reset.
    """

    w_x: Tensor  # (G, D)
    w_h: Tensor  # (G, H)
    b_x: Tensor  # (G)
    b_h: Tensor

    def of_input(self, x: Tensor) -> Tensor:
        """W_x x + b_x, (..., D) -> (..., G)."""
        return F.linear(x, self.w_x, self.b_x)

    def of_state(self, h_bH: Tensor) -> Tensor:
        """W_h h + b_h."""
        return F.linear(h_bH, self.w_h, self.b_h)


def rnn_step(x_bD: Tensor, h_bH: Tensor, weights: Weights, tap: Watch | None = None) -> Tensor:
    """h_t = tanh(W_h h_{t-1} + W_x x_t + b): x_t and h_{t-1} in, h_t out."""
    return _rnn(weights.of_input(x_bD), (h_bH,), weights, tap)[0]


def lstm_step(
    x_bD: Tensor, h_bH: Tensor, c_bH: Tensor, weights: Weights, tap: Watch | None = None
) -> tuple[Tensor, Tensor]:
    """f, i, o = σ(W [h_{t-1}, x_t] + b) and c̃ = tanh(W [h_{t-1}, x_t] + b), each with its own W and b;
    c_t = f ⊙ c_{t-1} + i ⊙ c̃ and h_t = o ⊙ tanh(c_t). x_t, h_{t-1} and c_{t-1} in, (h_t, c_t) out."""
    h_bH, c_bH = _lstm(weights.of_input(x_bD), (h_bH, c_bH), weights, tap)
    return h_bH, c_bH


def gru_step(x_bD: Tensor, h_bH: Tensor, weights: Weights, tap: Watch | None = None) -> Tensor:
    """r, z = σ(W [h_{t-1}, x_t] + b), n = tanh(W_x x_t + b_x + r ⊙ (W_h h_{t-1} + b_h)) and
    h_t = (1 - z) ⊙ n + z ⊙ h_{t-1}. The reset acts after the product, as in PyTorch; in Cho et al. before."""
    return _gru(weights.of_input(x_bD), (h_bH,), weights, tap)[0]


States = tuple[Tensor, ...]
"""(h,), or (h, c) of an LSTM, each (b, H)."""


def _rnn(from_x_bG: Tensor, state: States, weights: Weights, tap: Watch | None) -> States:
    tap = tap or _unseen
    (h_bH,) = state
    return (tap("hidden", torch.tanh(weights.of_state(h_bH) + from_x_bG)),)


def _lstm(from_x_bG: Tensor, state: States, weights: Weights, tap: Watch | None) -> States:
    tap = tap or _unseen
    h_bH, c_bH = state
    i, f, candidate, o = (weights.of_state(h_bH) + from_x_bG).chunk(4, -1)
    f, i, o = tap("f", torch.sigmoid(f)), tap("i", torch.sigmoid(i)), tap("o", torch.sigmoid(o))
    candidate = tap("candidate", torch.tanh(candidate))
    c_bH = tap("cell", f * c_bH + i * candidate)
    return tap("hidden", o * torch.tanh(c_bH)), c_bH


def _gru(from_x_bG: Tensor, state: States, weights: Weights, tap: Watch | None) -> States:
    tap = tap or _unseen
    (h_bH,) = state
    r_x, z_x, n_x = from_x_bG.chunk(3, -1)
    r_h, z_h, n_h = weights.of_state(h_bH).chunk(3, -1)
    r, z = tap("r", torch.sigmoid(r_x + r_h)), tap("z", torch.sigmoid(z_x + z_h))
    n = tap("n", torch.tanh(n_x + r * n_h))
    return (tap("hidden", (1 - z) * n + z * h_bH),)


def _unseen(name: str, value: Tensor) -> Tensor:
    return value


class OverTime:
    """The tap of a step, or of a module that is run step by step: each value, (b, H) or (b, 1, H), is shown
    as one (b, n, H), filled up to the newest step. What its own tap gives back for that step goes on, so that
    an edit is felt by every later step."""

    def __init__(self, tap: Tap, n: int) -> None:
        self._tap, self._n, self.t = tap, n, 0
        self._values: dict[str, Tensor] = {}
        self._inner: dict[str, OverTime] = {}

    def at(self, path: str) -> "OverTime":
        """The same as seen from the child module `path`, at the newest step."""
        inner = self._inner.setdefault(path, OverTime(self._tap.at(path), self._n))
        inner.t = self.t
        return inner

    def wants(self, name: str) -> bool:
        return self._tap.wants(name)

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if not self._tap.wants(name):
            return value
        if name not in self._values:
            self._values[name] = value.new_zeros(len(value), self._n, value.shape[-1])
        values_bnH = self._values[name]
        values_bnH[:, self.t] = value.flatten(1)
        seen_bnH = self._tap(name, values_bnH)
        return value if seen_bnH is values_bnH else seen_bnH[:, self.t].reshape(value.shape)


class RecurrentLayer(nn.Module):
    """One layer, to the right or, with `bidirectional`, both ways: outputs side by side, (b, n, 2H)."""

    kernel: nn.RNN | nn.LSTM | nn.GRU

    def __init__(self, kind: Kind, d_in: int, d_hidden: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.kind: Kind = kind
        self.directions = 2 if bidirectional else 1
        kernels = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
        self.kernel = kernels[kind](d_in, d_hidden, batch_first=True, bidirectional=bidirectional)
        self.initialise()

    def initialise(self) -> None:
        """W_x normal with deviation 1/√D, each gate's W_h orthogonal (Saxe et al. 2014), biases 0; but the
        forget gate's 1 in all, half open from the start (Gers et al. 2000): b_x has it, b_h stays 0."""
        d_hidden = self.kernel.hidden_size
        for name, parameter in self.kernel.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
            elif name.startswith("bias"):
                nn.init.zeros_(parameter)
                if self.kind == "lstm" and name.startswith("bias_ih"):
                    nn.init.ones_(parameter.detach()[d_hidden : 2 * d_hidden])
            elif not parameter.is_meta:
                for gate in torch.split(parameter.detach(), d_hidden):
                    nn.init.orthogonal_(gate)

    def weights(self, direction: int = 0) -> Weights:
        """The kernel's own parameters of one direction, 0 or 1 (to the left), for the step functions."""
        suffix = "_l0_reverse" if direction else "_l0"
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return Weights(*(getattr(self.kernel, name + suffix) for name in names))

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order; with `reverse.` those of the way back."""
        inside = INSIDE[self.kind]
        back = names_under("reverse", inside) if self.directions == 2 else ()
        return ("input", *inside, *back, "output")

    def new_state(self, batch: int) -> HiddenState:
        """Zeros for `batch` rows."""
        weight = self.weights().w_h
        zeros = weight.new_zeros(self.directions, batch, weight.shape[1])
        return HiddenState(zeros, zeros if self.kind == "lstm" else None)

    def forward(
        self,
        x_bnD: Tensor,
        state: HiddenState | None = None,
        *,
        valid_bn: Tensor | None = None,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> tuple[Tensor, HiddenState]:
        """As `Recurrent.forward`, for one layer: outputs (b, n, H or 2H) and the state after each row's last
        valid token, on the way back after its first."""
        if tap is not None:
            x_bnD = tap("input", x_bnD)
        state = self.new_state(len(x_bnD)) if state is None else state
        if valid_bn is not None and bool(valid_bn.all()):
            valid_bn = None
        ways = (tap, tap.at("reverse"))[: self.directions] if tap is not None else ()
        looked_into = any(way.wants(name) for way in ways for name in INSIDE[self.kind])
        if looked_into and backend == "fused":
            raise ValueError("the fused backend never shows gates or states: tap them with 'reference'")
        path = self._reference if backend == "reference" or looked_into else self._fused
        out_bnH, after = path(x_bnD, state, valid_bn, tap)
        if valid_bn is not None:
            out_bnH = out_bnH.masked_fill(~valid_bn[..., None], 0)
        return (tap("output", out_bnH) if tap is not None else out_bnH), after

    def _reference(
        self, x_bnD: Tensor, state: HiddenState, valid_bn: Tensor | None, tap: Tap | None
    ) -> tuple[Tensor, HiddenState]:
        step = {"rnn": _rnn, "lstm": _lstm, "gru": _gru}[self.kind]
        n = x_bnD.shape[1]
        valid = None if valid_bn is None else valid_bn[..., None].unbind(1)
        out, last = [], []
        for direction in range(self.directions):
            weights = self.weights(direction)
            over_time = None
            if tap is not None:
                over_time = OverTime(tap.at("reverse") if direction else tap, n)
            now = tuple(part[direction] for part in state.parts)
            # One product for all inputs, cut once: each gradient of an `x[:, t]` would be as large as x.
            from_x = weights.of_input(x_bnD).unbind(1)
            hidden = [now[0]] * n
            for t in reversed(range(n)) if direction else range(n):
                if over_time is not None:
                    over_time.t = t
                new = step(from_x[t], now, weights, over_time)
                if valid is not None:
                    new = tuple(
                        torch.where(valid[t], after, before) for after, before in zip(new, now, strict=True)
                    )
                now, hidden[t] = new, new[0]
            out.append(torch.stack(hidden, 1))
            last.append(now)
        return torch.cat(out, -1), state.after(n, *(torch.stack(parts) for parts in zip(*last, strict=True)))

    def _fused(
        self, x_bnD: Tensor, state: HiddenState, valid_bn: Tensor | None, tap: Tap | None
    ) -> tuple[Tensor, HiddenState]:
        n = x_bnD.shape[1]
        before = state.parts if len(state.parts) > 1 else state.parts[0]
        if valid_bn is None:
            out_bnH, after = self.kernel(x_bnD, before)
            return out_bnH, state.after(n, *(after if isinstance(after, tuple) else (after,)))
        # The kernel packs rows that begin with their tokens: those are moved to the front, and back.
        order_bn = valid_bn.int().argsort(dim=1, descending=True, stable=True)
        lengths_b = valid_bn.sum(1)
        packed = pack_padded_sequence(
            x_bnD.take_along_dim(order_bn[..., None], 1),
            lengths_b.clamp(min=1).cpu(),  # a row without a token is no row to the kernel
            batch_first=True,
            enforce_sorted=False,
        )
        packed, after = self.kernel(packed, before)
        out_bnH, _ = pad_packed_sequence(packed, batch_first=True, total_length=n)
        out_bnH = out_bnH.take_along_dim(order_bn.argsort(1)[..., None], 1)
        read = (lengths_b > 0)[:, None]
        parts = after if isinstance(after, tuple) else (after,)
        kept = (torch.where(read, new, old) for new, old in zip(parts, state.parts, strict=True))
        return out_bnH, state.after(n, *kept)


class Recurrent(nn.ModuleList):
    """Layers one above the other, each reading the outputs of the one below."""

    def __init__(
        self,
        kind: Kind,
        d_in: int,
        d_hidden: int,
        n_layers: int = 1,
        *,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ) -> None:
        """`dropout` acts between layers, in training."""
        directions = 2 if bidirectional else 1
        widths = [d_in] + [directions * d_hidden] * (n_layers - 1)
        super().__init__(RecurrentLayer(kind, d, d_hidden, bidirectional=bidirectional) for d in widths)
        self.kind: Kind = kind
        self.d_hidden, self.directions, self.dropout = d_hidden, directions, dropout

    @property
    def layers(self) -> list[RecurrentLayer]:
        return list(self)  # type: ignore[arg-type]

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order: layer 0's are `0.input`, …, `0.output`."""
        names = [names_under(str(i), layer.tap_names()) for i, layer in enumerate(self.layers)]
        return tuple(name for of_layer in names for name in of_layer)

    def new_state(self, batch: int) -> HiddenState:
        """Zeros for `batch` rows."""
        return HiddenState.joined([layer.new_state(batch) for layer in self.layers])

    def forward(
        self,
        x_bnD: Tensor,
        state: HiddenState | None = None,
        *,
        valid_bn: Tensor | None = None,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> tuple[Tensor, HiddenState]:
        """The top layer's outputs (b, n, H), with two directions (b, n, 2H), and the state after the text.

        `state` is what the sequence goes on from, by default zeros. Where `valid_bn` is False there is
        padding, wherever in its row: the state passes by it unchanged, and the output there is 0.

        Backend "reference" runs the step functions, "fused" PyTorch's kernels, which never show gates or
        inner states; "auto" is fused, in each layer, unless `tap` wants those. Values inside are handed out
        at every step, as (b, n, H) filled up to it; for the newest step, what comes back goes on.

        Raises ValueError for a state or a `valid_bn` of other shapes, and for a tap on a fused path.
        """
        b, n, _ = x_bnD.shape
        if valid_bn is not None and valid_bn.shape != (b, n):
            raise ValueError(f"valid_bn must mark each of the {b} x {n} tokens, not {tuple(valid_bn.shape)}")
        state = self.new_state(b) if state is None else state
        shape, wanted = tuple(state.hidden.shape), (len(self) * self.directions, b, self.d_hidden)
        if shape != wanted:
            raise ValueError(f"the state must be {wanted} (layers and directions, rows, width), not {shape}")
        states = []
        for i, layer in enumerate(self.layers):
            if i and self.dropout:
                x_bnD = F.dropout(x_bnD, self.dropout, self.training)
            inner = tap.at(str(i)) if tap is not None else None
            part = state.part(i * self.directions, self.directions)
            x_bnD, after = layer(x_bnD, part, valid_bn=valid_bn, backend=backend, tap=inner)
            states.append(after)
        return x_bnD, HiddenState.joined(states)
