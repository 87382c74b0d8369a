"""What every way into a training does with its folder: beginning in a new one, going on in a stopped one."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .. import config
from ..errors import UserError
from ..store.run import LOCK, Checkpoint, Run
from .log import LOG
from .loop import Progress, Training
from .settings import TrainConfig

DATA = "data"
AnyTraining = TypeVar("AnyTraining", bound=Training)


@contextmanager
def new_run(out: Path) -> Iterator[Run]:
    """A new run folder, locked. If anything fails before the first checkpoint stands, nothing of it is left
    behind. Raises UserError where something else stands already."""
    run = Run(out)
    _refuse_what_stands_there(run)
    missing = [path for path in (out, *out.parents) if not path.exists()]
    with run.locked(), _nothing_left_behind(run, missing):
        yield run


@dataclass(frozen=True)
class Reopened:
    """A run that goes on: its last checkpoint, the settings of its training before and now, its data's."""

    run: Run
    last: Checkpoint
    before: TrainConfig
    train: TrainConfig
    data: Any

    def go_on(self, training: AnyTraining) -> AnyTraining:
        """The training, where it stopped; with other settings also one that had come to an end early."""
        progress = config.from_dict(Progress, self.last.settings.get("progress"))
        if progress.step < self.train.steps and self.train != self.before:
            progress.outcome, progress.stale = "stopped", 0
        training.restore(self.last.training_tensors(), progress)
        return training


def reopened(
    folder: Path,
    data_type: type[Any],
    assignments: Sequence[str],
    *,
    shape: str = "shape and text",
    data: str = "shape and text",
) -> Reopened:
    """The run in a folder, to go on with it. Raises UserError where more than the settings of the training
    would change: `shape` and `data` say what the model's and the data's settings stand for."""
    run = Run(folder)
    last = run.checkpoint("last")
    if "train" not in last.settings:
        raise UserError(
            f"{folder} was imported, not trained: there is nothing to resume; --from {folder} fine-tunes it"
        )
    parts = {
        "model": last.shape,
        "train": config.from_dict(TrainConfig, last.settings["train"]),
        "data": config.from_dict(data_type, last.settings.get("data")),
    }
    changed = config.override(parts, assignments)
    for part, what in (("model", shape), ("data", data)):
        if changed[part] != parts[part]:
            raise UserError(
                f"--resume goes on with the same {what}; only settings of the training may change"
            )
    return Reopened(run, last, parts["train"], changed["train"], parts["data"])


def _refuse_what_stands_there(run: Run) -> None:
    folder = run.folder
    if run.exists():
        raise UserError(
            f"{folder} already holds a run; --resume {folder} goes on with it, or choose another --out"
        )
    if folder.exists() and not (folder.is_dir() and all(map(_ours, folder.iterdir()))):
        raise UserError(f"{folder} is no run folder and not empty; choose another --out")


@contextmanager
def _nothing_left_behind(run: Run, missing: list[Path]) -> Iterator[None]:
    """Delete what was made if it comes to no checkpoint; `missing` are the folders that were not there."""
    try:
        yield
    except BaseException:
        if not run.exists():
            for path in missing[-1:] or (run.folder / DATA, run.folder / LOCK):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        raise


def _ours(path: Path) -> bool:
    """Whether a kill before the first checkpoint may have left this."""
    return path.name.startswith((DATA, "step-")) or path.suffix == ".partial" or path.name in (LOG, LOCK)
