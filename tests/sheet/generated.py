"""Sheets made up at random, of every operation, for properties and for the browser.

Two implementations may differ in the last bit. Where that bit decides - which of two numbers is less, whether
one is 0, a logarithm or a division near 0 - only matrices that are exact in any order of summation are used:
given numbers, and what is made of small quarters by adding, multiplying and moving.
"""

import random

from glassformer.sheet import Sheet

INFINITE = [float("inf"), float("-inf")]
MOVES = ("transpose", "concat", "slice")
SMOOTH = ("exp", "sin", "cos", "tanh", "sigmoid", "softmax", "layernorm", "matmul", "sum", "relu")
DECIDING = ("less", "div", "log", "sqrt", "argmax", "max", "mask", "onehot")
TOKENS = ["the", "猫", "", "😀", "e\u0301", "\ud800", "\ude00\ud83d", "a" * 70, "</script>"]


class Growing:
    """A sheet that grows by operations that fit. `exact` and `tame` are matrices of the kinds told above;
    tame numbers are at most 50, so that an exponential of them keeps twelve digits."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sheet, self.shapes = Sheet(), {}
        self.exact, self.tame = [], []
        self.infinite = self.random.random() < 0.3
        for _ in range(self.random.randint(2, 4)):
            self.begin()

    def name(self):
        return f"m{len(self.shapes)}"

    def number(self):
        if self.infinite and self.random.random() < 0.1:
            return self.random.choice(INFINITE)
        return self.random.choice([-0.0, 0.0, 1.0, self.random.randint(-12, 12) / 4])

    def numbers(self, rows, cols):
        return [[self.number() for _ in range(cols)] for _ in range(rows)]

    def keep(self, name, exact):
        values = self.sheet.evaluate()[name]
        self.shapes[name] = values.shape
        finite = abs(values[abs(values) < float("inf")])
        if finite.size == 0 or finite.max() <= 50:
            self.tame.append(name)
            if exact:
                self.exact.append(name)

    def size(self):
        return self.random.choice([1, 2, 3, 5])

    def begin(self):
        rows, cols = self.size(), self.size()
        kind = self.random.choice(["const", "const", "normal", "embed", "range"])
        if kind == "const":
            self.keep(self.sheet.const(self.name(), self.numbers(rows, cols)), exact=True)
            return
        if self.random.random() < 0.5:  # a size that a matrix gives
            cols = rows = self.sheet.const(self.name(), cols)
            self.keep(cols, exact=True)
        if kind == "normal":
            self.keep(self.sheet.normal(self.name(), rows, cols, self.random.randrange(1 << 32)), exact=False)
        elif kind == "embed":
            tokens = self.random.choices(TOKENS, k=self.size())
            self.keep(self.sheet.embed(self.name(), tokens, cols), exact=True)
        else:
            start, step = self.random.randint(-4, 4) / 4, self.random.randint(-4, 4) / 2
            self.keep(self.sheet.range(self.name(), rows, start, step), exact=True)

    def fitting(self, names, a, fits):
        """One of the names that fits beside a; where there is none, a new const of the same shape."""
        found = [name for name in names if fits(self.shapes[a], self.shapes[name])]
        if found:
            return self.random.choice(found)
        name = self.sheet.const(self.name(), self.numbers(*self.shapes[a]))
        self.keep(name, exact=True)
        return name if name in names else a

    def grow(self, op=None):
        op = op or self.random.choice(["add", "sub", "mul", *MOVES, *SMOOTH, *DECIDING])
        names = self.exact if op in DECIDING else self.tame
        if not names:
            self.keep(self.sheet.const(self.name(), self.numbers(2, 3)), exact=True)
        a = self.random.choice(names)
        of, options = [a], {}
        if op in ("add", "sub", "mul", "div", "less"):
            of.append(self.fitting(names, a, broadcasts))
            self.random.shuffle(of)
        elif op == "mask":
            of.append(self.fitting(self.exact, a, lambda scores, allowed: fills(allowed, scores)))
            options = {"fill": self.random.choice([float("-inf"), -1e5, 0.0])}
        elif op == "matmul":
            of.append(self.fitting(self.tame, a, lambda a, b: a[1] == b[0]))
            if self.shapes[of[1]][0] != self.shapes[a][1]:
                of[1] = self.sheet.transpose(self.name(), a)
                self.keep(of[1], a in self.exact)
        elif op == "concat":
            options = {"axis": self.random.choice(["columns", "rows"])}
            across = 0 if options["axis"] == "columns" else 1
            of.append(self.fitting(names, a, lambda a, b: a[across] == b[across]))
        elif op == "slice":
            options = {
                key: self.random.choice([None, self.span(size)])
                for key, size in zip(("rows", "columns"), self.shapes[a], strict=True)
            }
        elif op in ("sum", "max"):
            options = {"over": self.random.choice(["columns", "rows", "all"])}
        elif op == "layernorm":
            options = {"eps": self.random.choice([1e-5, 0.5])}
        elif op == "onehot":
            cols = self.size()
            of = [self.sheet.const(self.name(), [[self.random.randrange(cols)] for _ in range(self.size())])]
            self.keep(of[0], exact=True)
            options = {"cols": cols}
        exact = op in ("add", "sub", "mul", "relu", "less", "argmax", "max", "mask", "onehot", *MOVES)
        name = getattr(self.sheet, op)(self.name(), *of, **options)
        self.keep(name, exact and all(part in self.exact for part in of))

    def span(self, size):
        start = self.random.randrange(size)
        return (start, self.random.randint(start + 1, size))

    def given(self):
        """Other numbers, of the same shapes, for some consts that give no size and no index."""
        used = {
            name
            for m in self.sheet.matrices
            for name in m.dependencies
            if m.op in ("normal", "embed", "range")
        }
        used |= {name for matrix in self.sheet.matrices if matrix.op == "onehot" for name in matrix.of}
        return {
            m.name: [
                [self.random.choice([x, x, wire(self.number())]) for x in row]
                for row in m.parameters["values"]
            ]
            for m in self.sheet.matrices
            if m.op == "const" and m.name not in used and self.random.random() < 0.3
        }


def wire(x):
    return x if abs(x) < float("inf") else "inf" if x > 0 else "-inf"


def broadcasts(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(a, b, strict=True))


def fills(small, large):
    return all(m in (n, 1) for m, n in zip(small, large, strict=True))


def grown(seed, steps=8):
    growing = Growing(seed)
    for _ in range(steps):
        growing.grow()
    return growing
