"""The lab as files: the same pages, whole or not at all, and nothing of anybody else's overwritten."""

import pytest

from glassformer.errors import UserError
from glassformer.lab import export
from glassformer.lab.pages import index_page, lesson_page
from glassformer.lessons import CHAPTERS, LESSONS


def test_every_page_is_there_and_is_the_servers(tmp_path):
    assert export.export(tmp_path / "lab") == tmp_path / "lab" / "index.html"
    found = {path.relative_to(tmp_path / "lab").as_posix() for path in tmp_path.rglob("*.html")}
    slugs = ["index", "claims", *(lesson.slug for lesson in LESSONS)]
    assert found == {"index.html", *(f"{code}/{slug}.html" for code in ("zh", "en") for slug in slugs)}
    for language in ("zh", "en"):
        read = (tmp_path / "lab" / language / "index.html").read_bytes().decode()
        assert read == index_page(CHAPTERS, language).html
        for number, lesson in enumerate(LESSONS):
            path = tmp_path / "lab" / language / f"{lesson.slug}.html"
            assert path.read_bytes().decode() == lesson_page(LESSONS, number, language).html
    assert [path.name for path in tmp_path.iterdir()] == ["lab"]


def test_an_older_export_is_replaced(tmp_path):
    export.export(tmp_path)
    old = tmp_path / "en" / "a-lesson-of-then.html"
    (tmp_path / "en" / "index.html").rename(old)
    export.export(tmp_path)
    assert not old.exists()
    assert (tmp_path / "en" / "index.html").is_file()


@pytest.mark.parametrize(
    "name", ["notes.txt", "index.html", "en/own.html", "fr/index.html", "en/deep/index.html"]
)
def test_what_is_somebody_elses_stays(tmp_path, name):
    folder = tmp_path / "lab"
    export.export(folder)
    foreign = folder / name
    foreign.parent.mkdir(parents=True, exist_ok=True)
    foreign.write_text("<title>mine</title>", encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match="which is no page of the lab; choose another"):
        export.export(folder)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_link_stays_a_link_and_leads_nowhere_else(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    export.export(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "zh" / "index.html").is_file()
    (tmp_path / "real" / "en" / "out.html").symlink_to(tmp_path / "real" / "index.html")
    with pytest.raises(UserError, match=r"out\.html"):
        export.export(tmp_path / "real")


@pytest.mark.parametrize("older", [False, True])
def test_what_fails_leaves_everything_as_it_was(tmp_path, monkeypatch, older):
    folder = tmp_path / "deep" / "lab"
    if older:
        export.export(folder)
    before = sorted(tmp_path.rglob("*"))

    def full(language, *arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export.pages, "lesson_page", full)
    with pytest.raises(OSError, match="No space left"):
        export.export(folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_command_says_where_the_pages_lie(glassformer, tmp_path):
    done = glassformer("lab", "--export", "site")
    assert done.code == 0, done.err
    assert done.out == "site/index.html\n"
    assert (tmp_path / "site" / "zh" / "index.html").is_file()
    assert glassformer("lab", "--export", "site").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lab", "--export", "file"], "file is a file; name a folder"),
        (["lab", "runs", "--export", "site"], "leave out runs"),
        (["lab", "--port", "70000"], "70000 is not in the range 0<=x<=65535"),
        (["lab", "--host", "no.such.host.invalid", "--port", "0"], "--host 'no.such.host.invalid' is no "),
        (["lab", "--port", "0", "--device", "abacus"], "device=abacus cannot be used here"),
        (["lab", "--host", "203.0.113.7", "--port", "0"], "cannot listen at 203.0.113.7"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_a_mistake_is_one_line_and_exit_code_2(glassformer, tmp_path, words, message):
    (tmp_path / "file").write_text("", encoding="utf-8")
    ended = glassformer(*words)
    assert ended.code == 2
    assert message in ended.err
    lines = [line for line in ended.err.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
