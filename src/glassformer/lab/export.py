"""The lab as plain files, which a browser opens from the disk: no server, no network."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ..claims import MODULES
from ..errors import UserError
from ..lessons import CHAPTERS, LESSONS
from ..texts import LANGUAGES
from . import pages
from .outcomes import kept
from .words import LOCALES, say

_OURS = "· Glassformer</title>"
_HEAD = 4096  # bytes of a page that hold its title


def files() -> dict[str, str]:
    """Every page by its place in the folder."""
    made = {"index.html": _chooser()}
    for language in LANGUAGES:
        made[f"{language}/index.html"] = pages.index_page(CHAPTERS, language).html
        made[f"{language}/claims.html"] = pages.claims_page(kept(list(MODULES)), language).html
        for number, lesson in enumerate(LESSONS):
            made[f"{language}/{lesson.slug}.html"] = pages.lesson_page(LESSONS, number, language).html
    return made


def _chooser() -> str:
    """The first page: it goes on to the reader's language, and has a link to each without scripts."""
    languages = [(code, LOCALES[code], say("lab", code), say("tagline", code)) for code in LANGUAGES]
    title = say("lab", "en")
    return pages.render(
        "choose.html",
        "en",
        "index.html",
        scripts=("choose",),
        data={},
        depth=0,
        title=title,
        languages=languages,
    ).html


def export(folder: Path) -> Path:
    """Write the lab into a folder, which appears once it is whole; an older export there is replaced.

    Returns the first page. Raises UserError where `folder` is a file, or holds what is no page of ours.
    """
    target = folder.resolve()  # a link stays a link
    _require_ours(folder, target)
    missing = [path for path in (target.parent, *target.parent.parents) if not path.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as beside:
            new, old = Path(beside, "new"), Path(beside, "old")
            for place, html in files().items():
                path = new / place
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(html, encoding="utf-8", newline="\n")
            _exchange(new, target, old)
    except BaseException:
        if missing:
            shutil.rmtree(missing[-1], ignore_errors=True)
        raise
    return folder / "index.html"


def _exchange(new: Path, target: Path, old: Path) -> None:
    """Put the new pages in their place. A folder that is there already stays that folder, for somebody may
    stand in it: what it holds steps aside, and comes back if this fails."""
    if not target.exists():
        new.rename(target)
        return
    old.mkdir()
    moves = [(path, old / path.name) for path in target.iterdir()]
    moves += [(path, target / path.name) for path in new.iterdir()]
    done: list[tuple[Path, Path]] = []
    try:
        for source, place in moves:
            source.rename(place)
            done.append((source, place))
    except BaseException:
        for source, place in reversed(done):
            place.rename(source)
        raise


def _require_ours(folder: Path, target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise UserError(f"{folder} is a file; name a folder")
    for path in _held(target):
        if not _is_ours(path):
            raise UserError(
                f"{folder} holds {path.relative_to(target)}, which is no page of the lab; choose another"
            )


def _held(target: Path) -> Iterator[Path]:
    """What a folder holds, and what those of its folders hold that could be ours; never all of a disk."""
    for path in sorted(target.iterdir()):
        if path.is_dir() and not path.is_symlink() and path.name in LANGUAGES:
            yield from sorted(path.iterdir())
        else:
            yield path


def _is_ours(path: Path) -> bool:
    if path.suffix != ".html" or path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return _OURS in file.read(_HEAD).decode("utf-8", "replace")
