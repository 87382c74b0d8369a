"""The small markup of the lessons' texts, as HTML: mathematics, code, emphasis, and living numbers."""

import re
from collections.abc import Mapping
from functools import cache

import numpy as np
from latex2mathml.converter import convert
from markupsafe import Markup, escape

from ..lessons.lesson import Cell
from ..texts import number

_MARK = re.compile(
    r"\$(?P<tex>[^$]+)\$(?P<stop>[,.;:!?)，。；：！？）、”]*)"
    r"|`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|«(?P<cell>[^»]+)»"
)
_LONE_ROW = re.compile(r"<mrow>(<(m[ino])>[^<]*</\2>)</mrow>")  # around one element it changes nothing
_ENTITY = re.compile("&#x([0-9A-Fa-f]+);")
_CELL = re.compile(r"(\w+)\[(\d+), ?(\d+)\](?::(\d+))?")

Values = Mapping[str, np.ndarray]


@cache
def mathematics(tex: str, *, block: bool = False) -> Markup:
    """TeX as MathML, without what HTML need not be told."""
    html = convert(tex, display="block" if block else "inline")
    html = html.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "").replace(' display="inline"', "")
    while (shorter := _LONE_ROW.sub(r"\1", html)) != html:
        html = shorter
    return Markup(_ENTITY.sub(lambda found: escape(chr(int(found[1], 16))), html))


def cell_of(text: str) -> tuple[Cell, int]:
    """`A[0,1]:4` as a cell and its decimals, 2 unless told. Raises ValueError for anything else."""
    found = _CELL.fullmatch(text)
    if found is None:
        raise ValueError(f"«{text}» names no cell; write «A[0,1]» or «A[0,1]:4»")
    name, i, j, decimals = found.groups()
    return (name, int(i), int(j)), int(decimals or 2)


def living(cell: Cell, decimals: int, values: Values) -> Markup:
    """A number of the sheet inside a text."""
    name, i, j = cell
    return Markup('<data class="living" value="{}[{},{}]:{}">{}</data>').format(
        name, i, j, decimals, number(float(values[name][i, j]), decimals)
    )


def line(text: str, values: Values) -> Markup:
    """One text, without paragraphs."""

    def marked(found: re.Match[str]) -> str:
        if tex := found["tex"]:
            if stop := found["stop"]:  # browsers break lines between mathematics and what follows it
                return Markup('<span class="kept">{}{}</span>').format(mathematics(tex), stop)
            return mathematics(tex)
        if code := found["code"]:
            return Markup("<code>{}</code>").format(code)
        if strong := found["strong"]:
            return Markup("<strong>{}</strong>").format(line(strong, values))
        return living(*cell_of(found["cell"]), values)

    pieces, end = [], 0
    for found in _MARK.finditer(text):
        pieces += [escape(text[end : found.start()]), marked(found)]
        end = found.end()
    return Markup("").join([*pieces, escape(text[end:])])


def paragraphs(text: str, values: Values) -> Markup:
    """A text whose blank lines part paragraphs."""
    return Markup("\n").join(Markup("<p>{}</p>").format(line(part, values)) for part in text.split("\n\n"))
