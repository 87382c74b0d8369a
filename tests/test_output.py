"""Files that a verb writes: whole or not at all, and refused before the work."""

import errno
import os
import threading
from pathlib import Path

import pytest

from glassformer.errors import UserError
from glassformer.output import prepare, whole, write_text


def test_a_file_stands_in_the_old_ones_place_only_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_text(path, "old")
    with pytest.raises(TypeError), whole(path) as file:
        file.writelines([b"half of the n", None])  # type: ignore[list-item]
    assert path.read_text(encoding="utf-8") == "old"
    write_text(path, "新\n")
    assert path.read_bytes() == "新\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_says_where(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as full, whole(tmp_path / "page.html"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert full.value.filename == str(tmp_path / "page.html")


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text(encoding="utf-8") == "text"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_text(pipe, "through")
    reader.join(10)
    assert read == [b"through"]
    assert pipe.is_fifo()


def test_minus_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_text(Path("-"), "頁")
    assert capfdbinary.readouterr().out == "頁".encode()


def test_what_cannot_be_written_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(None, tmp_path / "new" / "page.html", tmp_path / "w.npz")
    assert (tmp_path / "new").is_dir()
    with pytest.raises(UserError, match="named twice"):
        prepare(tmp_path / "a", tmp_path / "a")
    with pytest.raises(UserError, match="is a folder; name a file"):
        prepare(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"Not a directory|File exists"):
        prepare(tmp_path / "file" / "page.html")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match="may not be written"):
        prepare(tmp_path / "page.html")
