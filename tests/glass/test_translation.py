"""The look page of an encoder-decoder: what it shows are the values of the trace, whatever the text."""

import re

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from glass.reading import LETTERS, NEXT, Reader, text_of
from glass.test_page import HOSTILE, RAW
from glass.test_recurrent import recurrent
from glassformer import UserError, effect, look, trace
from glassformer.data.tokenizers import END, ByteTokenizer, CharTokenizer
from glassformer.decoding.translate import search, translate
from glassformer.glass import translation, words_translation
from glassformer.glass.check import GATES, check_pair
from glassformer.glass.edits import Edit
from glassformer.glass.pictures import over_time
from glassformer.models import Seq2Seq, Seq2SeqConfig
from glassformer.nn.recurrent import INSIDE

SCORES = pytest.mark.parametrize("attention", ["none", "additive", "dot", "general"])
START = LETTERS.start


def make(attention="additive", kind="gru", vocab_size=LETTERS.vocab_size, context=8, n_layers=1):
    torch.manual_seed(0)
    model = Seq2Seq(Seq2SeqConfig(vocab_size, kind, attention, context, n_layers, d_model=12))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model.eval()


def page(attention="additive", text="abcdef", **options):
    return Reader(look(make(attention), LETTERS, text, **options)).root


def tell(key, **values):
    return text_of(Reader(f"<p>{translation.tell(key, **values)}</p>").root)


def ids(text):
    return [int(i) for i in LETTERS.encode(text)]


@SCORES
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_trace_has_every_name_of_source_and_target(attention, kind):
    model = make(attention, kind)
    traced = trace(model, ids("abc"), target=[START, *ids("ba")])
    assert tuple(traced) == model.tap_names()
    assert traced["memory"].shape == (1, 3, 12)
    assert traced["state"].shape == traced["final"].shape == (1, 3, 12)
    torch.testing.assert_close(
        traced["logits"], model(torch.tensor([ids("abc")]), None, torch.tensor([[START, *ids("ba")]]))
    )
    if attention == "none":
        torch.testing.assert_close(traced["state"], traced["final"])
    else:
        assert traced["attention.weights"].shape == (1, 3, 3)
    assert "Trace" in traced._repr_html_()


def test_an_edit_of_the_alignment_reaches_later_steps():
    model, source, target = make(), ids("abc"), [START, *ids("bad")]

    def first_only(weights):
        weights = weights.clone()
        weights[:, 1] = torch.tensor([1.0, 0, 0])
        return weights

    plain = trace(model, source, target=target)
    edited = trace(model, source, target=target, edits=[Edit("attention.weights", first_only, "a only")])
    change = (plain["logits"] - edited["logits"]).abs().amax(-1)[0]
    assert change[0] == 0
    assert (change[1:] > 0).all()


def test_what_a_trace_cannot_read_is_named():
    model = make()
    for wrong, said in (
        ({}, "reads a target as well"),
        ({"target": [[START], [START]]}, "1 sources and 2 targets"),
        ({"target": [99]}, "ids must lie in"),
    ):
        with pytest.raises(ValueError, match=said):
            trace(model, ids("abc"), **wrong)
    with pytest.raises(ValueError, match="only an encoder-decoder"):
        trace(recurrent(), ids("abc"), target=[START])
    with pytest.raises(UserError, match="encoder-decoder"):
        effect(model, ids("abc"))


@pytest.mark.parametrize("target", [None, "fab", ""])
def test_the_alignment_is_that_of_the_trace(target):
    root, model = page(target=target), make()
    own = search(model, [ids("abcdef")], START, LETTERS.end)[0][0].ids
    written = own if target is None else ids(target)
    weights = trace(model, ids("abcdef"), target=[START, *written])["attention.weights"][0]
    [table] = [node for node in root.iter("table") if node.get("class") == "weights"]
    rows = table.findall("tbody/tr")
    assert len(rows) == len(written) + 1
    for row, expected in zip(rows, weights.tolist(), strict=True):
        shown = [text_of(cell) for cell in row.findall("td")]
        numbers = [float(cell) if cell != "·" else 0.0 for cell in shown]
        assert numbers == pytest.approx(expected, abs=0.0051)
    names = [text_of(row.find("th")) for row in rows]
    assert names == [f"{i} {name}" for i, name in enumerate([*LETTERS.labels(written), END])]
    said = text_of(root)
    assert (tell("own") in said) == (target is None)
    [shown] = [text_of(node) for node in root.iter("blockquote") if node.get("class") == "target"]
    assert shown == (translate(model, LETTERS, ["abcdef"])[0] if target is None else target)


def test_predictions_rate_every_token_of_the_target_and_its_end():
    rows = page(target="fab").findall(NEXT)
    target = ids("fab")
    mass = trace(make(), ids("abcdef"), target=[START, *target]).probabilities[0]
    assert len(rows) == 4
    for row, p, token, name in zip(rows, mass, [*target, LETTERS.end], ["f", "a", "b", END], strict=True):
        rank = int((p > p[token]).sum()) + 1
        assert text_of(row[2]).endswith(f"{name} {100 * float(p[token]):.1f} %, rank {rank}")


def test_without_attention_it_says_so():
    root = page("none")
    assert tell("no_attention") in text_of(root)
    assert "attention.weights" not in [image.get("alt") for image in root.iter("img")]
    assert not [node for node in root.iter("table") if node.get("class") == "weights"]


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_there_is_a_map_of_every_gate_and_state_of_both_sides(kind):
    model = make(kind=kind, n_layers=2)
    root = Reader(look(model, LETTERS, "abcde", target="fab")).root
    ways = [f"encoder.blocks.{i}{way}" for i in range(2) for way in ("", ".reverse")]
    ways += [f"decoder.blocks.{i}" for i in range(2)]
    names = [f"{way}.{name}" for way in ways for name in INSIDE[kind]]
    images = {image.get("alt"): image.get("src") for image in root.iter("img")}
    assert list(images) == names
    traced = trace(model, ids("abcde"), target=[START, *ids("fab")])
    for name in names:
        drawn = over_time(traced[name][0], signed=name.rpartition(".")[2] not in GATES)
        assert images[name] == drawn[0], name
    axes = [text_of(axis) for axis in root.iter("ol") if axis.get("class") == "axis"]
    assert axes == ["abcde"] * 4 * len(INSIDE[kind]) + [f"{END}fab"] * 2 * len(INSIDE[kind])
    said = text_of(root)
    assert said.count(tell("encoder.reverse_layer", i=1)) == said.count(tell("encoder_layer", i=1)) == 1


def test_a_gate_that_is_no_gate_is_refused(monkeypatch):
    monkeypatch.setattr(torch, "sigmoid", lambda x: 1.5 * x.sigmoid())
    with pytest.raises(UserError, match=r"the gate encoder\.blocks\.0\.r has values that are not between"):
        check_pair(make(), ids("abc"), [START])


def test_a_long_text_is_told_to_be_cut():
    root = page(text="abcdefgh" * 12, target="ab" * 30)
    assert tell("first_tokens", n=48, m=48) in text_of(root)
    assert len([axis for axis in root.iter("ol") if axis.get("class") == "axis"]) == 0  # too many to name
    assert next(image.get("alt") for image in root.iter("img")) == "attention.weights"
    with pytest.raises(UserError, match="the text has 2000 tokens; a page shows 1024 at most"):
        page(text="ab" * 1000)
    with pytest.raises(UserError, match="the target has 2000 tokens"):
        page(target="ab" * 1000)


@pytest.mark.parametrize("kind", ["chars", "bytes"])
def test_hostile_text_is_inert(kind):
    text = "".join(HOSTILE).strip()
    tokenizer = {"chars": CharTokenizer, "bytes": lambda _: ByteTokenizer()}[kind](text)
    html = look(make(vocab_size=tokenizer.vocab_size), tokenizer, text, target=text, language="zh")
    assert [raw for raw in RAW if raw in html] == []
    assert "<script" not in html
    shown = re.sub(r'src="data:[^"]*"', "", html)
    assert not re.search(r"https?:|//\w|url\(|@import|\bnan\b|\binf\b", shown)
    root, labels = Reader(html).root, tokenizer.labels([int(i) for i in tokenizer.encode(text)])
    assert [text_of(node) for node in root.iter("blockquote")] == [text, text]
    tokens = [text_of(li) for li in root.find(".//ol[@class='tokens']")]
    assert tokens == [f"{i}{label}" for i, label in enumerate(labels)]


@SCORES
@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh", "zh-Hans")])
def test_every_text_stands_in_both_languages(attention, language, tag):
    root = page(attention, step=7, language=language)
    assert root.get("lang") == tag
    for english, chinese in words_translation.WORDS.values():
        assert {*re.findall(r"{(\w*)", english)} == {*re.findall(r"{(\w*)", chinese)}
    english = text_of(root.find("body"), "en")
    assert re.findall(r"[\u4e00-\u9fff]+", english) == ["中文"]


def test_a_damaged_model_is_refused():
    model = make()
    with torch.no_grad():
        model.head.weight[0, 0] = torch.nan
    with pytest.raises(UserError, match="logits that are no numbers"):
        check_pair(model, ids("abc"), [START])
    model = make()
    model.attention.forward = lambda *given, f=model.attention.forward, **more: _doubled(f, *given, **more)
    with pytest.raises(UserError, match="a row of weights in the attention misses its sum"):
        check_pair(model, ids("abc"), [START])


def _doubled(forward, s, memory, valid, tap, **more):
    class Twice:
        def __call__(self, name, value):
            value = 2 * value
            return value if tap is None else tap(name, value)

    return forward(s, memory, valid, Twice(), **more)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["translation", "recurrent"])
@pytest.mark.parametrize(("scheme", "language"), [("light", "en"), ("dark", "zh")])
def test_nothing_serious_for_axe(chromium, tmp_path, kind, scheme, language):
    """Both pages of recurrent models, scripts or not, wide and narrow."""
    if kind == "translation":
        html = look(make(), LETTERS, "abcdef", target="fedcba", language=language)
    else:
        html = look(recurrent(), LETTERS, "abcdefgh", language=language)
    path = tmp_path / "look.html"
    path.write_text(html, encoding="utf-8")
    for width in (1200, 360):
        view = {"width": width, "height": 900}
        with chromium.new_context(color_scheme=scheme, viewport=view) as context:
            opened = context.new_page()
            opened.goto(path.as_uri())
            found = Axe().run(opened).response["violations"]
            assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
            assert opened.evaluate("document.documentElement.scrollWidth") <= width
