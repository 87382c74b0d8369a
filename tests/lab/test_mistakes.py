"""What a clumsy or hostile user meets: one line that says what would be right, in the reader's language."""

import re
from html import unescape
from pathlib import Path

import pytest

from glassformer.lab import export
from glassformer.lab.leash import spoken
from glassformer.lab.task import MOST_BYTES, PROBE
from glassformer.lab.words_build import WORDS
from lab.serving import address, client, save


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes") / "runs"
    save(folder / "bytes")
    return client(folder, trains=True)


def said(html):
    """What the page says of a mistake, and whether it says so in another language than its own."""
    found = re.search(r'<p class="(?:lead|told)"[^>]*>(.*?)</p>', html, re.S)[1]
    return unescape(re.sub(r"<[^>]*>", "", found)), 'lang="en"' in found


@pytest.mark.parametrize(
    ("query", "english", "chinese"),
    [
        ("head=2", "head must be LAYER.HEAD, such as 0.3.", "head 要写成 层.头，例如 0.3。"),
        (
            "query=x",
            "query must be a whole number from 0 to 1000000.",
            "query 应是 0 到 1000000 的整数。",
        ),
        ("factor=0,5", "factor must be a number from -10 to 10.", "factor 应是 -10 到 10 的数。"),
        ("of=" + "x" * 65, "of must have at most 64 characters.", "of 最多 64 个字符。"),
        (
            "head=z&top_p=5",
            "head must be LAYER.HEAD, such as 0.3. top_p must be a number from 0 to 1.",
            "head 要写成 层.头，例如 0.3。 top_p 应是 0 到 1 的数。",
        ),
        (
            "head=0.9",
            "head 9 is not there: head numbers go from 0 to 3",
            "没有头 9：头的编号是 0 到 3。",
        ),
        (
            "edit=<b>",
            "'<b>' is no edit; write cut:L.H.Q.K, zero:L.H.Q.K, scale:L.H.K:FACTOR or silence:L.H",
            "'<b>' 不是改动；要写成 cut:层.头.查询.键、zero:层.头.查询.键、"
            "scale:层.头.键:倍数 或 silence:层.头。",
        ),
        (
            "edit=scale:0.0.0:11",
            "a value can be scaled by −10 to 10, not by '11'",
            "值可以乘以 −10 到 10，不能乘以 '11'。",
        ),
    ],
)
def test_a_mistake_in_an_address_is_told_in_the_pages_language(lab, query, english, chinese):
    for language, expected in (("en", english), ("zh", chinese)):
        answer = lab.get(f"{address('bytes', language)}?text=ab&{query}")
        assert answer.status_code == 422
        assert said(answer.text) == (expected, False)


def test_a_report_of_what_is_not_there_speaks_the_pages_language(lab):
    answer = lab.get(f"{address('bytes', 'zh')}/look?text={'a' * 10_001}")
    assert said(answer.text) == ("这段文字有 10001 个字符，这一页最多读 10000 个。", False)


def test_a_long_edit_is_not_repeated(lab):
    answer = lab.get(f"{address('bytes')}?text=ab&edit={'x' * 10_000}")
    assert len(said(answer.text)[0]) < 200


def test_an_empty_edit_is_none(lab):
    assert lab.get(f"{address('bytes')}?text=ab&edit=").status_code == 200


def test_what_has_no_address_is_not_listed(tmp_path):
    save(tmp_path / "a\\b")
    assert "<bdi>" not in client(tmp_path).get("/en/index.html").text


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"{", "application/json"), (b"[]", "application/json"), (b"{}", "text/plain"), (b"", "")],
)
def test_what_is_no_order_is_told_what_would_be(lab, body, kind):
    answer = lab.post("/api/build", content=body, headers={"content-type": kind})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("the body must be a JSON object with text and probe")


@pytest.mark.parametrize(
    ("bad", "key", "values"),
    [
        ({"probe": ""}, "no_probe", {}),
        ({"probe": "a" * 99}, "long_probe", {"n": 99, "most": PROBE}),
        ({"text": "ab" * MOST_BYTES}, "too_long", {"n": "4,000,000", "most": f"{MOST_BYTES:,}"}),
    ],
)
def test_an_order_is_refused_in_the_reader_s_language(lab, bad, key, values):
    order = {"text": "ab" * 1000, "probe": "a", "language": "zh", **bad}
    answer = lab.post("/api/build", json=order)
    assert answer.status_code == 422
    assert answer.json()["detail"] == WORDS[key].zh.format(**values)


def test_a_full_disk_is_told_without_a_number():
    assert spoken(OSError(28, "No space left on device", "/tmp/x")) == "No space left on device: /tmp/x"
    assert spoken(OSError("odd\nlines")) == "odd lines"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lab", "file"], "file is a file; name the folder that holds the runs"),
        (["lab", "runs/poems"], "runs/poems is a run itself; name the folder that holds it: "),
        (["lab", "--host", "x" * 300], "is no address of this machine; 127.0.0.1 listens to"),
        (["lab", "--host", "é..b"], "--host 'é..b' is no address of this machine"),
        (["lab", "--host", "a\nb"], "--host 'a\\nb' is no address of this machine"),
    ],
    ids=lambda x: x[-1][:12] if isinstance(x, list) else "",
)
def test_what_cannot_be_served_is_one_line(glassformer, tmp_path, words, message):
    (tmp_path / "file").write_text("", encoding="utf-8")
    save(tmp_path / "runs" / "poems")
    ended = glassformer(*words, "--port", "0")
    assert ended.code == 2
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1


def test_an_export_into_the_folder_one_stands_in_is_seen_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    export.export(Path())
    export.export(Path())  # and again
    assert sorted(path.name for path in Path().iterdir()) == ["en", "index.html", "zh"]


def test_an_exchange_that_fails_puts_everything_back(tmp_path, monkeypatch):
    export.export(tmp_path / "lab")
    (tmp_path / "lab" / "index.html").rename(tmp_path / "lab" / "zh" / "then.html")
    before = sorted(tmp_path.rglob("*"))
    rename = Path.rename

    def failing(self, place):
        if self.parent.name == "new" and self.name == "zh":
            raise OSError(28, "No space left on device")
        return rename(self, place)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="No space left"):
        export.export(tmp_path / "lab")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_foreign_folder_is_not_read_through(tmp_path, monkeypatch):
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    iterdir, asked = Path.iterdir, []
    monkeypatch.setattr(Path, "iterdir", lambda self: (asked.append(self), iterdir(self))[1])
    with pytest.raises(export.UserError, match="holds deep, which is no page"):
        export.export(tmp_path)
    assert asked == [tmp_path.resolve()]
