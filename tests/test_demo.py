"""The demo: once through, then on from what is there, and hands off what is not its own."""

from pathlib import Path

import pytest

from glassformer import demo
from glassformer.errors import UserError
from glassformer.store.run import Run

MANUAL = "The following statement names a value.\nThe value of the expression is used.\n" * 40


def test_the_whole_path_and_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo.manual, "text", lambda: MANUAL)
    out = tmp_path / "demo"
    demo.demonstrate(out, 2)
    shown = capsys.readouterr()
    assert demo.PROMPT in shown.out
    assert f"The page that looks inside it: {out / 'look.html'}" in shown.out
    demo.demonstrate(out)
    assert "is finished (finished at step 2)" in capsys.readouterr().err
    demo.demonstrate(out, 3)
    assert Run(out).checkpoint("last").step == 3


def test_a_run_of_another_text_is_left_alone(run_folder: Path) -> None:
    before = sorted(run_folder.rglob("*"))
    with pytest.raises(UserError, match="holds a run of another text; choose another --out"):
        demo.demonstrate(run_folder, 40)
    assert sorted(run_folder.rglob("*")) == before
