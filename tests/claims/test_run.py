"""Running a claim: what was measured is a file, and a run that was stopped goes on."""

import json
import math
import os
from dataclasses import replace

import pytest

from glassformer.claims import claim
from glassformer.claims.claim import Given, Work
from glassformer.claims.run import _sealed, finished, held, reread, run
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


def test_a_finished_measurement_is_taken_unless_it_is_to_be_measured_again(tmp_path):
    asked = []
    found = run(counting(asked), tmp_path, quick=True)
    assert run(counting(asked), tmp_path, quick=True) == found
    assert asked == [0, 1, 2, 3, 4]
    run(counting(asked), tmp_path, quick=True, again=True)
    assert asked == 2 * [0, 1, 2, 3, 4]


def test_a_measurement_that_is_made_again_and_was_stopped_goes_on(tmp_path):
    asked = []
    run(counting([]), tmp_path, quick=True)
    with pytest.raises(KeyboardInterrupt):
        run(counting(asked, stop_at=3), tmp_path, quick=True, again=True)
    assert reread(tmp_path / "C7.json")["found"]  # the old one stays until the new one is there
    run(counting(asked), tmp_path, quick=True)
    assert asked == [0, 1, 2, 3, 4]


def test_a_full_run_takes_the_place_of_a_quick_one_and_not_the_other_way_round(tmp_path):
    asked = []
    run(counting([]), tmp_path, quick=True)
    assert not run(counting(asked), tmp_path, quick=False)["quick"]
    with pytest.raises(UserError, match=r"C7\.json is of a full run.* -o, or --again"):
        run(counting(asked), tmp_path, quick=True)
    assert asked == [0, 1, 2, 3, 4]
    assert run(counting(asked), tmp_path, quick=True, again=True)["quick"]


def test_a_quick_run_leaves_the_parts_of_a_stopped_full_one(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(counting([], stop_at=3), tmp_path, quick=False)
    with pytest.raises(UserError, match=r"C7\.partial\.json is of a full run"):
        run(counting([]), tmp_path, quick=True)


def test_what_another_version_measured_is_measured_anew(tmp_path, monkeypatch):
    run(counting([]), tmp_path, quick=True)
    monkeypatch.setattr("glassformer.claims.run.__version__", "99")
    assert not held(tmp_path)
    assert run(counting(asked := []), tmp_path, quick=True)["version"] == "99"
    assert len(asked) == 5
    assert list(held(tmp_path)) == ["C7"]


def test_files_that_are_given_are_among_the_terms(tmp_path):
    vectors, questions = tmp_path / "vectors.txt", tmp_path / "questions.txt"
    for path in (vectors, questions):
        path.write_text("a")
    given = Given(published=(vectors, questions))
    run(counting([]), tmp_path, quick=True)
    for changed in (False, True):
        if changed:
            os.utime(vectors, (1, 1))
        assert finished(claim("C7"), tmp_path, quick=True, given=given) is None
        found = run(counting([]), tmp_path, quick=True, given=given)
        assert finished(claim("C7"), tmp_path, quick=True, given=given) == found
    with pytest.raises(UserError, match=r"C7\.json is of files that were given, .* give them again"):
        finished(claim("C7"), tmp_path, quick=True, given=Given())
    lacking = Given(published=(tmp_path / "none", questions))
    assert finished(claim("C7"), tmp_path, quick=True, given=lacking) is None


def test_time_before_a_stop_counts(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(counting([], stop_at=3), tmp_path, quick=True)
    partial = tmp_path / "C7.partial.json"
    kept = json.loads(partial.read_text())
    del kept["digest"]
    partial.write_text(_sealed({**kept, "seconds": 100.0}))
    assert 100 < run(counting([]), tmp_path, quick=True)["seconds"] < 160


def test_the_folder_is_made(tmp_path):
    run(counting([]), tmp_path / "new" / "folder", quick=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        run(counting([]), tmp_path / "file", quick=True)


def test_what_a_folder_holds_is_told_in_the_order_of_the_claims(tmp_path):
    for name in ("C10", "C2", "C7"):
        run(replace(counting([]), name=name), tmp_path, quick=True)
    (tmp_path / "C3.json").write_text("[]")
    (tmp_path / "C99.json").write_text((tmp_path / "C7.json").read_text())
    assert list(held(tmp_path)) == ["C2", "C7", "C10"]


def test_progress_is_told(tmp_path):
    heard = []
    run(counting([]), tmp_path, quick=True, advance=lambda done, total: heard.append((done, total)))
    assert heard == [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_progress_never_goes_back_where_parts_come_in_later(tmp_path):
    heard = []
    groups = replace(
        claim("C7"), measure=lambda work: {str(n): work.parts(str(n), range(n), abs) for n in (6, 2, 9)}
    )
    run(groups, tmp_path, quick=True, advance=lambda done, total: heard.append(done / total))
    assert heard == sorted(heard)
    assert heard[-1] == 1 > heard[-2]
    assert len(heard) > 8


@pytest.mark.parametrize("content", ["", "[]", '{"a": 1}', "{"])
def test_what_is_no_measurement_is_refused(content, tmp_path):
    (tmp_path / "C7.json").write_text(content)
    with pytest.raises(UserError, match=r"C7\.json holds no measurement"):
        reread(tmp_path / "C7.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: {**kept, "seconds": "x"},
        lambda kept: {**kept, "parts": {**kept["parts"], "part 0": "hello"}},
        lambda kept: {**kept, "claim": "C8"},
        lambda kept: {"quick": 3, "parts": 4},
        lambda kept: [[[]]],
    ],
)
def test_a_partial_file_that_was_changed_is_begun_anew(tmp_path, change):
    with pytest.raises(KeyboardInterrupt):
        run(counting([], stop_at=3), tmp_path, quick=True)
    partial = tmp_path / "C7.partial.json"
    partial.write_text(json.dumps(change(json.loads(partial.read_text()))))
    asked = []
    assert run(counting(asked), tmp_path, quick=True)["found"][0] == 0
    assert asked == [0, 1, 2, 3, 4]


def test_a_measurement_that_was_changed_is_neither_taken_nor_replaced(tmp_path):
    run(counting([]), tmp_path, quick=True)
    path = tmp_path / "C7.json"
    path.write_text(path.read_text().replace("0.33333333", "0.5"))
    with pytest.raises(UserError, match=r"C7\.json is no measurement, or was changed; delete it"):
        run(counting([]), tmp_path, quick=True)
    assert not held(tmp_path)
    run(counting([]), tmp_path, quick=True, again=True)
    assert list(held(tmp_path)) == ["C7"]
    path.rename(tmp_path / "C8.json")  # as another claim's it can be neither judged nor drawn
    assert not held(tmp_path)


def test_a_changed_measurement_is_one_line(tmp_path, glassformer):
    (tmp_path / "C7.json").write_text('{"quick": true, "version": "0.1.0", "seconds": 1}')
    ended = glassformer("claims", "C10", "C7", "--quick", "-o", tmp_path)
    assert ended.code == 2
    assert len(ended.err.strip().splitlines()) == 1
    assert not (tmp_path / "C10.json").exists()  # nothing was measured before


def test_a_table_is_made_of_parts_and_told_by_row():
    asked = []
    work = Work(True, {"of ('a', 1)": 7}, advance=lambda done, total: asked.append((done, total)))
    assert work.table("ab", range(2), lambda row, column: f"{row}{column}") == {
        "a": ["a0", 7],
        "b": ["b0", "b1"],
    }
    assert asked == [(0, 4), (1, 4), (2, 4), (3, 4)]
    work.finish()
    assert asked[-1] == (4, 4)
