"""What the server answers: pages, redirects and refusals, and never an error of its own."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse

import pytest

from glassformer.lab import runs as lab_runs
from glassformer.lab.guard import LARGEST_BODY, is_loopback
from glassformer.lab.pages import lesson_page
from glassformer.lab.reading import MOST_CHARACTERS
from glassformer.lessons import LESSONS
from glassformer.lessons.lesson import Live
from lab.serving import HOME, address, client, save, save_changed, served, text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs; not to be changed."""
    folder = tmp_path_factory.mktemp("lab") / "runs"
    save(folder / "bytes")
    save(folder / "春 & <b>", step=7)
    return folder


@pytest.fixture(scope="module")
def lab(folder):
    return client(folder)


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,zh;q=0.5", "en"),
        ("zh;q=0.3, en;q=0.4", "en"),
        ("fr", "en"),
        ("", "en"),
        ("zh;q=x, ,;;", "en"),
        ("zh;q=0", "en"),
        ("*", "en"),
    ],
)
def test_the_first_page_is_in_the_readers_language(lab, wish, language):
    for path, rest in (("/", "/index.html"), ("/runs/bytes?text=a%26b", "/runs/bytes?text=a%26b")):
        answer = lab.get(path, headers={"accept-language": wish})
        assert answer.status_code == 307
        assert answer.headers["location"] == f"/{language}{rest}"
        assert answer.headers["vary"] == "Accept-Language"


def test_a_language_alone_is_its_contents(lab):
    for path in ("/zh", "/zh/"):
        assert lab.get(path).headers["location"] == "/zh/index.html"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_lessons_are_the_exported_ones(lab, language):
    for number, lesson in enumerate(LESSONS):
        answer = lab.get(f"/{language}/{lesson.slug}.html")
        assert answer.status_code == 200
        if not any(isinstance(block, Live) for block in lesson.body):
            assert answer.text == lesson_page(LESSONS, number, language).html


def test_every_page_has_its_policy_and_no_frame(lab):
    for path in ("/en/index.html", f"/en/{LESSONS[0].slug}.html", address("bytes", text="ab"), "/zh/no"):
        answer = lab.get(path)
        policy = answer.headers["content-security-policy"]
        own = re.search(r'Content-Security-Policy" content="([^"]*)"', answer.text)[1].replace("&#39;", "'")
        assert policy == f"{own}; frame-ancestors 'none'"
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "style=" not in answer.text
    report = lab.get(address("bytes").split("?")[0] + "/look?text=abc")
    assert "frame-ancestors 'none'" in report.headers["content-security-policy"]


def test_the_contents_list_the_runs(lab):
    html = lab.get("/zh/index.html").text
    assert "gpt，2 层 × 4 头，上下文 32" in html
    assert '<a href="runs/%E6%98%A5%20%26%20%3Cb%3E"><bdi>春 &amp; &lt;b&gt;</bdi></a>' in html
    assert lab.get(address("春 & <b>")).status_code == 200


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_no_runs_are_no_error(tmp_path, kind):
    place = tmp_path / "runs"
    if kind == "empty":
        place.mkdir()
    elif kind == "file":
        place.write_text("", encoding="utf-8")
    html = client(place).get("/en/index.html").text
    assert f"There is no model in {place} yet" in text(html)
    assert "glassformer train" in html


def test_what_is_no_run_is_not_listed_and_what_is_damaged_says_so(tmp_path):
    for name in ("nothing-here", ".never-shown", "torn"):
        (tmp_path / name).mkdir()
    (tmp_path / "torn" / "last").write_text("step-1\n", encoding="utf-8")
    lab = client(tmp_path)
    html = text(lab.get("/en/index.html").text)
    assert "nothing-here" not in html
    assert "never-shown" not in html
    assert "cannot be opened: " in html
    assert "torn has no checkpoint best" in html
    answer = lab.get(address("torn"))
    assert answer.status_code == 409
    assert "torn has no checkpoint" in text(answer.text)


def test_damaged_weights_are_a_page_that_says_so(tmp_path):
    save(tmp_path / "run")
    weights = tmp_path / "run" / "step-0" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    answer = client(tmp_path).get(address("run", text="abc"))
    assert answer.status_code == 409
    assert "model.safetensors" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/zh/none.html",
        "/zh/runs",
        "/zh/runs/none",
        "/zh/a/b/c/d",
        "/zh/runs/%2e%2e",
        "/zh/runs/.",
        "/zh/runs/",
        "/zh/runs/a%00b",
        "/zh/runs/" + "x" * 5000,
        "/zh/runs/%5c",
        "/zh/runs/%ff%fe",
        "/zh/runs/a%2fb",
        "/zh/runs/none/look",
        "/zh//index.html",
        "/zh/%0d%0a",
        "/zh/</script>.html",
    ],
)
def test_unknown_paths_are_a_page_in_their_language(lab, path):
    answer = lab.get(path)
    if answer.status_code == 307:  # another spelling of a path, by its slash
        answer = lab.get(answer.headers["location"])
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert '<html lang="zh-Hans">' in answer.text
    assert "</script>.html" not in answer.text


def test_a_page_that_is_missing_links_to_what_is_there(lab):
    html = lab.get("/en/runs/none").text
    assert 'href="/en/index.html"' in html
    assert 'href="../../zh/index.html"' in html
    assert '<html lang="en">' in lab.get("/fr/index.html").text
    wish = {"accept-language": "zh"}
    assert '<html lang="zh-Hans">' in lab.get("/nowhere/at/all", headers=wish).text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_pages_are_only_read(lab, method):
    answer = lab.request(method, address("bytes"))
    assert answer.status_code == 405
    assert answer.json() == {"detail": "Method Not Allowed"}
    assert lab.request(method, "/no/where/at/all").status_code == 404


def test_head_is_answered(lab):
    assert lab.head("/en/index.html").status_code == 200
    assert lab.head("/en/none.html").status_code == 404


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("query=x", "query"),
        ("query=-1", "query"),
        ("query=1.5", "query"),
        ("query=" + "9" * 5000, "query"),
        ("head=1", "head"),
        ("head=a.b", "head"),
        ("top_p=2", "top_p"),
        ("top_p=nan", "top_p"),
        ("temperature=-1", "temperature"),
        ("temperature=inf", "temperature"),
        ("factor=1e99", "factor"),
        ("top_k=%00", "top_k"),
        ("of=" + "x" * 99, "of"),
        ("top_k=1&top_k=x", "top_k"),
    ],
)
def test_a_parameter_of_the_wrong_type_is_named(lab, query, where):
    answer = lab.get(f"{address('bytes')}?text=ab&{query}")
    assert answer.status_code == 422
    assert f"{where} must " in text(answer.text)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("head=5.0", "layer 5 is not there"),
        ("head=0.9", "head 9 is not there"),
        ("query=9", "query 9 is not there"),
        ("key=2", "key 2 is not there"),
        ("edit=cut", "'cut' is no edit"),
        ("edit=cut:0.0.0", "is no edit"),
        ("edit=cut:9.0.0.0", "layer 9 is not there"),
        ("edit=zero:0.0.0.7", "key 7 is not there"),
        ("edit=silence:0.0:2", "is no edit"),
        ("edit=scale:0.0.0:nan", "can be scaled by"),
        ("edit=scale:0.0.0:%F0%9F%99%82", "can be scaled by"),
        ("&".join(f"edit=silence:0.{i}" for i in range(40)), "40 edits are too many"),
    ],
)
def test_what_is_not_there_is_said_above_the_text(lab, query, why):
    answer = lab.get(f"{address('bytes')}?text=ab&{query}")
    assert answer.status_code == 422
    assert why in text(answer.text)
    assert "<textarea" in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost", "localhost:1", "localhost:8000.evil.example", ""]
)
@pytest.mark.parametrize("path", ["/", "/en/index.html", "/openapi.json", "/nowhere"])
def test_a_foreign_host_is_refused(lab, host, path):
    answer = lab.get(path, headers={"host": host})
    assert answer.status_code == 421
    assert len(answer.text.splitlines()) == 1


@pytest.mark.parametrize(
    ("host", "port", "asked", "status"),
    [
        ("127.0.0.1", 8000, "127.0.0.1:8000", 200),
        ("127.0.0.1", 8000, "[::1]:8000", 200),
        ("127.0.0.1", 8000, "LOCALHOST:8000", 200),
        ("192.168.0.7", 8000, "192.168.0.7:8000", 200),
        ("lab.example", 8000, "lab.example:8000", 200),
        ("lab.example", 8000, "other.example:8000", 421),
        ("127.0.0.1", 80, "localhost", 200),
        ("::1", 8000, "[::1]:8000", 200),
        ("0.0.0.0", 8000, "192.168.0.7:8000", 200),
        ("0.0.0.0", 8000, "evil.example:8000", 421),
    ],
)
def test_the_host_is_one_of_the_servers_own(tmp_path, host, port, asked, status):
    lab = client(tmp_path, host=host, port=port)
    assert lab.get("/en/index.html", headers={"host": asked}).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:8001"},
        {"origin": "https://localhost:8000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_what_changes_something_must_come_from_here(lab, headers):
    assert lab.post("/en/index.html", headers=headers).status_code == 403
    assert lab.get("/en/index.html", headers=headers).status_code == 200
    assert lab.post("/en/index.html", headers={"origin": HOME}).status_code == 405


def test_a_body_has_a_bound(lab):
    assert lab.post("/no/where/at/all", content=b"x" * LARGEST_BODY).status_code == 404
    assert lab.post("/no/where/at/all", content=b"x" * (LARGEST_BODY + 1)).status_code == 413
    pieces = (b"x" * 100_000 for _ in range(11))
    assert lab.post("/no/where/at/all", content=pieces).status_code == 413
    assert lab.get("/en/index.html", headers={"content-length": "x"}).status_code == 200


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"text": NaN}', b'{"a":' * 100_000]
)
def test_a_malformed_body_is_refused_in_one_line(tmp_path, body):
    lab = client(tmp_path, trains=True)
    answer = lab.post("/api/build", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert len(answer.json()["detail"].splitlines()) == 1


def test_who_does_not_train_has_no_route_for_it(lab):
    assert lab.post("/api/build", json={}).status_code == 404


def test_the_interface_is_described(lab):
    described = lab.get("/openapi.json").json()
    assert "/{language}/runs/{name}" in described["paths"]
    assert lab.get("/docs").status_code == lab.get("/redoc").status_code == 404


def test_a_failure_is_a_calm_page(folder, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr("glassformer.lab.asked_page.run_page", fail)
    lab = client(folder)
    lab._transport.raise_server_exceptions = False
    answer = lab.get(address("bytes", "zh"))
    assert answer.status_code == 500
    assert "服务器没能回答" in answer.text
    assert "ZeroDivision" not in answer.text


def test_a_run_that_is_deleted_while_open_is_gone(tmp_path):
    lab = client(tmp_path)
    save(tmp_path / "run")
    assert lab.get(address("run", text="ab")).status_code == 200
    shutil.rmtree(tmp_path / "run")
    answer = lab.get(address("run", "zh", text="ab"))
    assert answer.status_code == 404
    assert "这个模型不在了" in answer.text


def test_a_new_checkpoint_is_read_again(tmp_path):
    lab = client(tmp_path)
    save(tmp_path / "run", step=1)
    before = lab.get(address("run", text="abc")).text
    save_changed(tmp_path / "run", step=2)
    after = lab.get(address("run", text="abc")).text
    assert "Checkpoint of step 1" in before
    assert "Checkpoint of step 2" in after


def test_a_checkpoint_that_goes_while_it_is_read_is_read_anew(tmp_path, monkeypatch):
    save(tmp_path / "run", step=1)
    load, loads = lab_runs.Models._load, []

    def overtaken(self, name, path, stamp):
        if not loads:
            loads.append(stamp)
            save_changed(tmp_path / "run", step=2)
            raise FileNotFoundError("model.safetensors")
        return load(self, name, path, stamp)

    monkeypatch.setattr(lab_runs.Models, "_load", overtaken)
    assert "Checkpoint of step 2" in client(tmp_path).get(address("run")).text


def test_few_models_stay_in_memory(tmp_path):
    models = lab_runs.Models(tmp_path, room=2)
    for name in "abc":
        save(tmp_path / name)
        with models.opened(name):
            pass
    assert list(models._held) == ["b", "c"]
    with models.opened("b") as first, pytest.raises(lab_runs.NoRun), models.opened("none"):
        pass
    with models.opened("b") as again:
        assert again is first


def test_one_computes_with_a_model_at_a_time(folder, monkeypatch):
    """Many ask at once; everyone gets the page of the own text, and no two passes overlap."""
    inside, overlaps = threading.Lock(), []
    from glassformer.lab import reading

    check = reading.check

    def watched(*arguments):
        if not inside.acquire(blocking=False):
            overlaps.append(arguments)
        try:
            return check(*arguments)
        finally:
            inside.release()

    monkeypatch.setattr(reading, "check", watched)
    lab = client(folder)
    asked = [address("bytes", text=f"abc {i}", query=i % 5) for i in range(16)]
    alone = [lab.get(path).text for path in asked]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda path: lab.get(path).text, asked))
    assert together == alone
    assert overlaps == []


def test_is_loopback():
    assert all(map(is_loopback, ["127.0.0.1", "localhost", "::1", "[::1]", "127.0.0.9"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.168.0.7", "lab.example", ""]))


def test_the_command_serves_says_where_and_ends_by_ctrl_c(folder):
    with served(folder) as (process, where):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", where)
        port = int(where.rsplit(":", 1)[1].rstrip("/"))
        with socket.create_connection(("127.0.0.1", port), timeout=20) as wire:
            for path in ("/zh/index.html", address("bytes", "zh", text="字" * MOST_CHARACTERS)):
                wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
                answer = HTTPResponse(wire)
                answer.begin()
                assert answer.status == 200
                assert answer.read().endswith(b"</html>")
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said.strip() == "glassformer: stopped"


def test_a_port_that_is_taken_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = [sys.executable, "-m", "glassformer", "lab", str(tmp_path), "--port", port]
        ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(
        f"glassformer: cannot listen at 127.0.0.1, port {port}: Address already in use"
    )
    assert len(ended.stderr.splitlines()) == 1
