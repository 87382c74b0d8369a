"""Running a claim: what was measured is a file, and a run that was stopped goes on."""

import json
import math
from dataclasses import replace

import pytest

from glassformer.claims import claim
from glassformer.claims.claim import Work
from glassformer.claims.run import reread, run
from glassformer.errors import UserError


def counting(asked, stop_at=None):
    """A claim whose experiment has five parts and can be stopped in one of them."""

    def part(key):
        if key == stop_at:
            raise KeyboardInterrupt
        asked.append(key)
        return key / 3

    return replace(
        claim("C7"), measure=lambda work: {"found": work.parts("part", range(5), part), "odd": math.inf}
    )


def test_a_stopped_measurement_goes_on_with_the_part_it_was_in(tmp_path):
    asked = []
    with pytest.raises(KeyboardInterrupt):
        run(counting(asked, stop_at=3), tmp_path, quick=True)
    assert not (tmp_path / "C7.json").exists()
    found = run(counting(asked), tmp_path, quick=True)
    assert asked == [0, 1, 2, 3, 4]
    assert found["found"] == [float(f"{k / 3:.8g}") for k in range(5)]
    assert found["odd"] is None  # JSON has no infinity
    assert reread(tmp_path / "C7.json") == found
    assert [path.name for path in tmp_path.iterdir()] == ["C7.json"]


def test_a_full_run_does_not_go_on_from_a_quick_one(tmp_path):
    asked = []
    with pytest.raises(KeyboardInterrupt):
        run(counting(asked, stop_at=3), tmp_path, quick=True)
    run(counting(asked), tmp_path, quick=False)
    assert asked == [0, 1, 2, 0, 1, 2, 3, 4]


def test_progress_is_told(tmp_path):
    heard = []
    run(counting([]), tmp_path, quick=True, advance=lambda done, total: heard.append((done, total)))
    assert heard == [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


@pytest.mark.parametrize("content", ["", "[]", '{"a": 1}', "{"])
def test_what_is_no_measurement_is_refused(content, tmp_path):
    (tmp_path / "C7.json").write_text(content)
    with pytest.raises(UserError, match=r"C7\.json holds no measurement"):
        reread(tmp_path / "C7.json")


def test_a_damaged_partial_file_is_no_obstacle(tmp_path):
    (tmp_path / "C7.partial.json").write_text(json.dumps({"terms": 3}))
    assert run(counting([]), tmp_path, quick=True)["quick"]


def test_a_table_is_made_of_parts_and_told_by_row():
    asked = []
    work = Work(True, {"of ('a', 1)": 7}, advance=lambda done, total: asked.append((done, total)))
    assert work.table("ab", range(2), lambda row, column: f"{row}{column}") == {
        "a": ["a0", 7],
        "b": ["b0", "b1"],
    }
    assert asked == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
