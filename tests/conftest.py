"""What tests share: a text, a model's smallest settings, a run trained once."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

torch.set_num_threads(1)  # small models: more threads only wait for each other

SMALL = ["context=8", "d_model=16", "n_layers=2", "n_heads=2", "batch_size=4", "sample=0", "lr=1e-2"]
TEXT = "".join(
    f"the cat {verb} the mouse.\n猫{sign}老鼠。\n" for verb, sign in [("sees", "看"), ("chases", "追")] * 30
)


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8", newline="\n")
    return path


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 30 steps; not to be changed."""
    from glassformer.training import start
    from glassformer.training.loop import fit

    folder = tmp_path_factory.mktemp("session")
    text = folder / "text.txt"
    text.write_text(TEXT, encoding="utf-8", newline="\n")
    settings = [*SMALL, "steps=30", "eval_every=10", "warmup=5"]
    with start.begun(
        [str(text)], folder / "runs" / "cat", preset_name="tiny", assignments=settings
    ) as training:
        fit(training, Silent())
    return training.run.folder


class Ended(NamedTuple):
    """How a command line ended, and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def glassformer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Ended]:
    """Run a command line in an empty folder."""
    from glassformer.__main__ import main

    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["glassformer", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    return run


CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
QUIET = ["background-networking", "component-update", "sync"]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser; fails where there is none, for the tests that ask for it are not skipped."""
    from playwright.sync_api import Error, sync_playwright

    arguments = ["--no-sandbox", "--no-first-run", *(f"--disable-{what}" for what in QUIET)]
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        except Error as error:
            pytest.fail(f"{CHROMIUM} did not start (CHROMIUM=path names another): {error}")
        yield browser
        browser.close()


class Silent:
    """A reporter that only remembers."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.losses: list[float] = []
        self.validations: list[tuple[int, float | None, bool]] = []

    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None:
        self.steps.append(step)
        self.losses.append(loss)

    def noted(self, what: str) -> None:
        pass

    def validated(self, step: int, loss: float | None, best: bool) -> None:
        self.validations.append((step, loss, best))
