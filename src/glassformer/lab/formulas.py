"""The arithmetic of one number as one line of text; `formulas.js` writes the same in the browser."""

from collections.abc import Mapping
from typing import Any

from ..texts import number

TERMS = 8  # of a longer sum the largest are shown, and the exact rest
DECIMALS = 4

_BETWEEN = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "less": "<"}
_FUNCTIONS = {"sqrt": "√", "log": "ln", "exp": "exp"}


def formula(step: Mapping[str, Any]) -> str:
    """The line for a step of `sheet.explain` in JSON form; it ends in `= value` where anything is done."""
    work = _work(step)
    return f"{work} = {_n(step['value'])}" if work else _n(step["value"])


def _n(value: float | str) -> str:
    return number(float(value), DECIMALS, given=True)


def _signed(value: float | str) -> str:
    """As it stands inside a formula: a negative number in parentheses."""
    text = _n(value)
    return f"({text})" if text.startswith("−") else text


def _work(step: Mapping[str, Any]) -> str:
    cells = [_signed(cell["value"]) for cell in step["operands"]]
    op = step["op"]
    if op == "matmul":
        return _sum(
            [
                (f"{_signed(t['a']['value'])}×{_signed(t['b']['value'])}", float(t["value"]))
                for t in step["terms"]
            ]
        )
    if op == "sum":
        return _sum([(_signed(t["value"]), float(t["value"])) for t in step["terms"]])
    if op == "softmax":
        if not step["visible"]:
            return ""
        own = step["operands"][step["j"]]["value"]
        return f"exp({_n(own)} − {_signed(step['largest'])}) ÷ {_n(step['denominator'])}"
    if op == "layernorm":
        return f"{_signed(step['centred'])} ÷ √({_n(step['variance'])} + {float(step['eps']):.0e})"
    if op in _BETWEEN:
        return f" {_BETWEEN[op]} ".join(cells)
    if op in ("max", "argmax"):
        return f"{op}({', '.join(cells[:TERMS])}{', …' if len(cells) > TERMS else ''})"
    if op in ("const", "normal", "embed", "range", "onehot", "transpose", "concat", "slice", "mask"):
        return ""
    return f"{_FUNCTIONS.get(op, op)}({_n(step['operands'][0]['value'])})"


def _sum(terms: list[tuple[str, float]]) -> str:
    """Terms added up: the largest in their order, and how much the others are together."""
    if len(terms) <= TERMS:
        return " + ".join(text for text, _ in terms)
    order = sorted(range(len(terms)), key=lambda k: -abs(terms[k][1]))
    kept = sorted(order[:TERMS])
    rest = 0.0
    for k, (_, value) in enumerate(terms):
        if k not in kept:
            rest += value
    return " + ".join([*(terms[k][0] for k in kept), f"[{len(terms) - TERMS} …: {_n(rest)}]"])
