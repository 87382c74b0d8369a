"""Every lesson's sheet, before and after random edits, is the same in the browser as here."""

import random

import pytest

from glassformer.lessons import LESSONS
from sheet.conformance import assert_conforms, load

pytestmark = pytest.mark.slow

EDITS = 12


def edits_of(sheet, rng):
    """Given matrices as the page carries them, some cells changed, at times to what cannot be computed."""
    given = {}
    consts = [matrix for matrix in sheet.matrices if matrix.op == "const"]
    for matrix in rng.sample(consts, rng.randint(1, len(consts))):
        rows = [list(row) for row in matrix.parameters["values"]]
        for _ in range(rng.randint(1, 4)):
            row = rng.choice(rows)
            row[rng.randrange(len(row))] = rng.choice([0, 1, 2, -1, 8, round(rng.uniform(-4, 4), 2)])
        given[matrix.name] = rows
    return given


@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.slug for lesson in LESSONS])
def test_a_lessons_sheet_conforms(chromium, lesson):
    rng = random.Random(lesson.slug)
    givens = [{}, *(edits_of(lesson.sheet, rng) for _ in range(EDITS))]
    context = chromium.new_context(offline=True)
    try:
        assert_conforms(load(context.new_page()), [lesson.sheet.to_json()] * len(givens), givens)
    finally:
        context.close()
