"""Sheets that are none, each with a part of what must be said about it."""

import copy

from glassformer.sheet import Sheet


def good():
    """A sheet with one matrix of every form of parameter, to be spoilt."""
    sheet = Sheet()
    sheet.const("d", 2)
    sheet.const("A", [[1, 2], [3, float("-inf")], [0, 1]])
    sheet.normal("W", 2, "d", seed=3)
    sheet.embed("E", ["a", "猫"], "d")
    sheet.range("r", 2, 0.0, 1.0)
    sheet.onehot("H", "r", 3)
    sheet.matmul("Q", "A", "W")
    sheet.mask("M", "Q", "A")
    sheet.layernorm("L", "Q")
    sheet.concat("C", "Q", "A", axis="rows")
    sheet.slice("S", "C", rows=(1, 3))
    sheet.sum("T", "S", over="all")
    return sheet.to_json()


def spoilt(name, /, **changes):
    """The good sheet with keys of one matrix changed; parameters only where they are named."""
    sheet = copy.deepcopy(good())
    matrix = next(matrix for matrix in sheet["matrices"] if matrix["name"] == name)
    for key, value in changes.items():
        if key in ("name", "op", "of", "parameters"):
            matrix[key] = value
        else:
            matrix["parameters"][key] = value
    return sheet


VALUES = [
    None,
    True,
    "A",
    "d",
    "r",
    "inf",
    "all",
    "",
    "\ud800",
    0,
    1,
    -1,
    2,
    3.5,
    1e99,
    10**400,
    1e-9,
    [],
    {},
]
VALUES += [[1], [[1]], [[10**400]], ["A"], ["A", "W"], [0, 2], [[1, "-inf"], [2, 3]], {"values": 2}]


def mutated(chance):
    """The good sheet with up to three of its parts replaced, left out or added, by chance."""
    sheet = good()
    for _ in range(chance.randint(1, 3)):
        place = sheet
        while isinstance(place, dict | list) and place:
            key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or chance.random() < 0.15:
                change = chance.random()
                if change < 0.1:
                    del place[key]
                elif change < 0.2 and isinstance(place, dict):
                    place["more"] = chance.choice(VALUES)
                else:
                    place[key] = copy.deepcopy(chance.choice(VALUES))
                break
            place = place[key]
    return sheet


def only(*matrices):
    return {"matrices": [dict(zip(("name", "op", "of", "parameters"), m, strict=True)) for m in matrices]}


def const(name, values):
    return (name, "const", [], {"values": values})


A, B = const("A", [[1, 2, 3], [4, 5, 6]]), const("B", [[1, 2], [3, 4]])
WHOLE = "must be a whole number"

STRUCTURE = [
    (None, "a sheet must be an object"),
    ([], "a sheet must be an object"),
    ({}, "a sheet must be an object"),
    ({"matrices": [], "more": 1}, "a sheet must be an object"),
    ({"matrices": {}}, "a sheet must be an object"),
    ({"matrices": [3]}, "matrix number 0: it must be an object"),
    ({"matrices": [{"name": "x", "op": "exp"}]}, "matrix number 0: it must be an object with name, op, of"),
    (spoilt("A", name="x\ny"), "matrix number 1: its name"),
    (spoilt("A", name=""), "matrix number 1: its name"),
    (spoilt("A", name="x" * 65), "matrix number 1: its name"),
    (spoilt("A", name=["x"]), "matrix number 1: its name"),
    (spoilt("A", name="\ud800"), "matrix number 1: its name"),
    (spoilt("W", name="A"), "A: the name is taken"),
    (spoilt("Q", op="matmull"), "Q: unknown operation matmull; known: const, normal"),
    (spoilt("Q", op="toString"), "Q: unknown operation toString"),
    (spoilt("Q", op=None), "Q: unknown operation; known"),
    (spoilt("Q", op=["exp"]), "Q: unknown operation; known"),
    (spoilt("Q", of="AW"), "Q: its operands must be a list"),
    (spoilt("Q", of=["A"]), "Q: matmul takes 2 operands, not 1"),
    (spoilt("C", of=[]), "C: concat takes at least 1 operands, not 0"),
    (spoilt("Q", of=["A", "no"]), "Q: operand 1, no, is no earlier matrix"),
    (spoilt("Q", of=["A", "L"]), "Q: operand 1, L, is no earlier matrix"),
    (spoilt("Q", of=["A", "Q"]), "Q: operand 1, Q, is no earlier matrix"),
    (spoilt("Q", of=["A", 3]), "Q: operand 1 is no name"),
    (spoilt("Q", of=["__proto__", "W"]), "Q: operand 0, __proto__, is no earlier"),
    (spoilt("Q", parameters={"x": 1}), "Q: matmul takes no parameters"),
    (spoilt("Q", parameters=[]), "Q: matmul takes no parameters"),
    (spoilt("W", parameters={}), "W: normal takes the parameters rows, cols, seed and no others"),
    (spoilt("W", more=1), "W: normal takes the parameters rows, cols, seed and no others"),
    (spoilt("W", rows=None), "W: rows must be a whole number or the name"),
    (spoilt("W", rows=True), "W: rows must be a whole number or the name"),
    (spoilt("W", rows=10**400), "W: rows must be a whole number or the name"),
    (spoilt("W", rows="no"), "W: rows, no, is no earlier matrix"),
    (spoilt("W", seed="Q"), "W: seed, Q, is no earlier matrix"),
    (spoilt("E", tokens="ab"), "E: tokens must be a list of texts"),
    (spoilt("E", tokens=["a", 1]), "E: tokens must be a list of texts"),
    (spoilt("r", start="inf"), "r: start must be a finite number"),
    (spoilt("r", step="1"), "r: step must be a finite number"),
    (spoilt("M", fill=None), "M: fill must be a number, inf or -inf"),
    (spoilt("M", fill="nan"), "M: fill must be a number, inf or -inf"),
    (spoilt("L", eps=[1]), "L: eps must be a finite number"),
    (spoilt("C", axis="all"), "C: axis must be columns or rows"),
    (spoilt("T", over=0), "T: over must be columns, rows or all"),
    (spoilt("S", rows=[1]), "S: rows must be null or two whole numbers"),
    (spoilt("S", rows=[0.5, 2]), "S: rows must be null or two whole numbers"),
    (spoilt("S", columns="all"), "S: columns must be null or two whole numbers"),
    (spoilt("A", values=[]), "A: a matrix has at least one row"),
    (spoilt("A", values=[[]]), "A: a matrix has at least one column"),
    (spoilt("A", values=[[1, 2], [3]]), "A: row 1 has 1 numbers, but row 0 has 2"),
    (spoilt("A", values=[1, 2]), "A: row 0 is no list"),
    (spoilt("A", values=[[1], "2"]), "A: row 1 is no list"),
    (spoilt("A", values=[[1, 2], [3, "nan"]]), "A: cell [1, 1] is no number"),
    (spoilt("A", values=[[None]]), "A: cell [0, 0] is no number"),
    (spoilt("A", values=[[False]]), "A: cell [0, 0] is no number"),
    (spoilt("A", values={}), "A: cell [0, 0] is no number"),
    (spoilt("A", values=[[0] * 4097]), "A: (1, 4097) is too large"),
]
"""Wrong as written."""

NUMBERS = [
    (spoilt("W", rows=0), f"W: rows is 0 and {WHOLE} from 1 to 4096"),
    (spoilt("W", rows=-1), f"W: rows is -1 and {WHOLE}"),
    (spoilt("W", rows=4097), f"W: rows is 4097 and {WHOLE}"),
    (spoilt("W", rows=2.5), f"W: rows is 2.5 and {WHOLE}"),
    (spoilt("W", rows=1e300), f"W: rows is out of reach and {WHOLE}"),
    (spoilt("W", rows=1e-7), f"W: rows is out of reach and {WHOLE}"),
    (spoilt("W", seed=-1), f"W: seed is -1 and {WHOLE} from 0 to 4294967295"),
    (spoilt("W", seed=4294967296), f"W: seed is 4294967296 and {WHOLE}"),
    (spoilt("W", rows="A"), "W: rows, taken from A, must be one number, not (3, 2)"),
    (spoilt("d", values=[[0.1]]), f"W: cols, taken from d, is 0.1 and {WHOLE} from 1 to 4096"),
    (spoilt("d", values=[["inf"]]), f"W: cols, taken from d, is out of reach and {WHOLE}"),
    (
        spoilt("W", rows=4096, cols=4096),
        "W: (4096, 4096) is too large; at most 4096 a side and 1000000 cells",
    ),
    (spoilt("E", tokens=[]), "E: tokens must be at least one text"),
    (spoilt("H", of=["A"]), "H: the indices must be one column, not (3, 2)"),
    (spoilt("H", cols=1), f"H: index 1 is 1 and {WHOLE} from 0 to 0"),
    (spoilt("r", step=0.5), f"H: index 1 is 0.5 and {WHOLE} from 0 to 2"),
    (spoilt("S", rows=[2, 2]), "S: rows must be start and stop with 0 <= start < stop <= 6"),
    (spoilt("S", columns=[-1, 1]), "S: columns must be start and stop with 0 <= start < stop <= 2"),
    (spoilt("S", rows=[0, 7]), "S: rows must be start and stop"),
    (only(A, B, ("C", "matmul", ["A", "B"], {})), "C: (2, 3) times (2, 2) does not fit: 3 columns, 2 rows"),
    (only(A, B, ("C", "add", ["A", "B"], {})), "C: (2, 3) and (2, 2) do not fit"),
    (only(A, B, ("C", "mask", ["A", "B"], {"fill": 0})), "C: allowed (2, 2) does not fit scores (2, 3)"),
    (
        only(A, B, ("C", "concat", ["B", "B", "A"], {"axis": "rows"})),
        "C: (2, 2) and (2, 3) cannot be joined along their rows",
    ),
    (
        only(
            ("r", "range", [], {"count": 1001, "start": 0, "step": 1}),
            ("t", "transpose", ["r"], {}),
            ("S", "matmul", ["r", "t"], {}),
        ),
        "S: (1001, 1001) is too large",
    ),
]
"""Wrong only when evaluated."""

GIVENS = [
    ({"no": [[1]]}, "given: there is no matrix no"),
    ({"x\ny": [[1]]}, "given: there is no matrix of such a name"),
    ({"Q": [[1]]}, "given: Q is computed by matmul; only a const can be given"),
    ({"A": [[1, 2], [3]]}, "given: A: row 1 has 1 numbers, but row 0 has 2"),
    ({"A": [["nan", 1]]}, "given: A: cell [0, 0] is no number"),
    ({"A": None}, "given: A: cell [0, 0] is no number"),
    ({"A": []}, "given: A: a matrix has at least one row"),
    ({"A": [[1, 2, 3]]}, "Q: (1, 3) times (2, 2) does not fit"),
    ({"d": 3}, "M: allowed (3, 2) does not fit scores (3, 3)"),
]
"""What cannot be given to the good sheet."""
