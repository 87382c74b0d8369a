"""What the lessons on recurrence compute alike: states of a tanh RNN, its Jacobians, norms of 2 × 2 matrices.

States are columns, two units each, as in `h_t = tanh(W_h h_{t-1} + W_x x_t + b)`.
"""

from ..sheet import Sheet

# Of [[a, b], [c, d]] as the row (a, b, c, d): half of a + d, c - b, a - d and b + c.
HALVES = [[0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5], [0, 0.5, 0, 0.5], [0.5, 0, -0.5, 0]]
PAIRS = [[1, 0], [1, 0], [0, 1], [0, 1]]


def constants(sheet: Sheet) -> None:
    """What the functions below need to be there."""
    sheet.const("one", 1)
    sheet.const("I", [[1, 0], [0, 1]])
    sheet.const("halves", HALVES)
    sheet.const("pairs", PAIRS)
    sheet.const("h_0", [[0], [0]])


def states(sheet: Sheet, end: str, from_x: str, steps: int) -> list[str]:
    """The states h{end}_1, … of an RNN with the weights W_h. `from_x` is (2, steps): W_x x_t + b, one column
    a step. Returns their names."""
    names = ["h_0"]
    for t in range(1, steps + 1):
        sheet.slice(f"u{end}_{t}", from_x, columns=(t - 1, t))
        sheet.matmul(f"Wh{end}_{t}", "W_h", names[-1])
        sheet.add(f"a{end}_{t}", f"Wh{end}_{t}", f"u{end}_{t}")
        names.append(sheet.tanh(f"h{end}_{t}", f"a{end}_{t}"))
    return names[1:]


def products(sheet: Sheet, hidden: list[str]) -> list[str]:
    """∂h_t/∂h_1 for t = 1, 2, …: the Jacobians J_t = diag(1 - h_t²) W_h from step 2 on, multiplied.
    Returns the products' names, of which the first is the identity."""
    names = ["I"]
    for t, h in enumerate(hidden[1:], start=2):
        sheet.mul(f"square_{t}", h, h)
        sheet.sub(f"slope_{t}", "one", f"square_{t}")
        sheet.mul(f"J_{t}", f"slope_{t}", "W_h")
        names.append(sheet.matmul(f"P_{t}", f"J_{t}", names[-1]))
    return names


def entries(sheet: Sheet, name: str, matrices: list[str]) -> str:
    """Of n matrices of 2 × 2, the rows (a, b, c, d): (n, 4)."""
    n = len(matrices)
    sheet.concat(f"stacked_{name}", *matrices, axis="rows")
    for which, start in (("upper", 0), ("lower", 1)):
        sheet.range(f"at_{which}_{name}", n, start=start, step=2)
        sheet.onehot(f"choose_{which}_{name}", f"at_{which}_{name}", 2 * n)
        sheet.matmul(f"{which}_{name}", f"choose_{which}_{name}", f"stacked_{name}")
    return sheet.concat(f"entries_{name}", f"upper_{name}", f"lower_{name}")


def norms(sheet: Sheet, name: str, matrices: list[str]) -> str:
    """The largest singular value of each of n matrices of 2 × 2, (n, 1), without the loss of digits of a
    square root of a difference: √((a+d)² + (c-b)²)/2 + √((a-d)² + (b+c)²)/2."""
    entries(sheet, name, matrices)
    sheet.matmul(f"half_{name}", f"entries_{name}", "halves")
    sheet.mul(f"half_squares_{name}", f"half_{name}", f"half_{name}")
    sheet.matmul(f"root_squares_{name}", f"half_squares_{name}", "pairs")
    sheet.sqrt(f"roots_{name}", f"root_squares_{name}")
    return sheet.sum(name, f"roots_{name}")
