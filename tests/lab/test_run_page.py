"""A run's page: its numbers are those of `glass` and `decoding`, and texts stay texts."""

import re

import pytest
import torch

from glass.reading import make
from glassformer.data.tokenizers import ByteTokenizer, CharTokenizer
from glassformer.decoding import samplers
from glassformer.errors import UserError
from glassformer.glass import edits
from glassformer.glass.compare import compare
from glassformer.glass.effect import effect
from glassformer.glass.proof import prove
from glassformer.glass.report import signed
from glassformer.glass.sections import name as label_of
from glassformer.glass.trace import trace
from glassformer.lab import reading
from glassformer.lab.changes import Change, parsed
from glassformer.lab.reading import MOST_CHARACTERS, MOST_TOKENS, SHOWN
from glassformer.lab.run_page import Ask, of
from glassformer.lab.words_run import WORDS
from glassformer.models import Llama, LlamaConfig
from glassformer.texts import LANGUAGES, number
from lab.reading import elements
from lab.serving import address, cells, client, save, save_encoder, text

BYTES = ByteTokenizer()
TEXT = "春眠 ab"
IDS = [int(i) for i in BYTES.encode(TEXT)]
HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "quotes": "\"'`><textarea></textarea>&amp;{{ 7*7 }}",
    "lines": "\n\na\r\nb\n",
    "rtl": "שלום‮abc",
    "emoji": "👩‍👩‍👧‍👦",
    "blank": " \t ",
    "nul": "a\0b",
}


@pytest.fixture(scope="module")
def model():
    return make(257, context=32, layers=2, heads=4)


@pytest.fixture(scope="module")
def lab(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "runs"
    save(folder / "bytes", model)
    save(folder / "<b onclick=x>&\"'", model)
    long = make(257, context=400, layers=1, heads=2)
    save(folder / "long", long)
    save_encoder(folder / "encoder")
    return client(folder)


def asked(lab, language="en", name="bytes", status=200, **query):
    answer = lab.get(address(name, language, **query))
    assert answer.status_code == status
    return answer.text


def shown_text(html):
    """What the text box holds: a parser drops the first line break after the tag."""
    return text_area(html).removeprefix("\n")


def text_area(html):
    from html import unescape

    return unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", html, re.S)[1])


@pytest.mark.parametrize("written", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_texts_are_shown_as_text(lab, written, language):
    html = asked(lab, language, text=written)
    assert shown_text(html) == written.replace("\r\n", "\n")
    found = elements(html)
    assert [tag for tag, _ in found].count("textarea") == 1
    assert [tag for tag, _ in found].count("script") == 2
    assert not any(name.startswith("on") or name == "style" for _, given in found for name in given)
    assert all(given["src"].startswith("data:image/png;base64,") for tag, given in found if tag == "img")


def test_hostile_names_are_shown_as_text(lab):
    html = asked(lab, name="<b onclick=x>&\"'", text="ab", edit="silence:0.0")
    assert "<h1><bdi>&lt;b onclick=x&gt;&amp;&#34;&#39;</bdi></h1>" in html
    assert [tag for tag, _ in elements(html)].count("b") == 0


def test_an_empty_text_is_no_error_and_shows_no_numbers(lab):
    html = asked(lab)
    assert "<img" not in html
    assert 'name="temperature"' in html
    assert asked(lab, text="", query="", head="", temperature="") == html


def test_byte_tokens_are_named_by_their_character(lab):
    html = asked(lab, text=TEXT)
    strip = re.search(r'class="strip">(.*?)</div>', html, re.S)[1]
    shown = [text(label) for label in re.findall(r"<label.*?</label>", strip)]
    assert shown == [
        "0 春 1/3",
        "1 春 2/3",
        "2 春 3/3",
        "3 眠 1/3",
        "4 眠 2/3",
        "5 眠 3/3",
        "6 ␣",
        "7 a",
        "8 b",
    ]


def test_what_is_not_asked_is_chosen_and_the_address_can_ask_it(lab):
    html = asked(lab, text=TEXT)
    chosen = dict(re.findall(r'name="(head|query|key|of)" value="([^"]*)"(?: checked| ?>)', html))
    checked = dict(re.findall(r'name="(head|query|key)" value="([^"]*)" checked', html))
    assert checked["query"] == "8"
    assert chosen["of"] == of(TEXT)
    again = asked(lab, text=TEXT, of=of(TEXT), **checked)
    assert cells(again, "weights") == cells(html, "weights")
    assert cells(again, "proof") == cells(html, "proof")


def test_weights_are_the_models(lab, model):
    html = asked(lab, text=TEXT, head="1.2", query=5)
    weights = trace(model, IDS, "blocks.1.attention.weights").weights(1, 2)
    rows = cells(html, "weights")[1:]
    for q, row in enumerate(rows):
        for k, shown in enumerate(row[1:]):
            assert shown == (number(float(weights[q, k]), 2) if k <= q else "0")


def test_a_long_texts_table_is_a_part_whose_rows_still_sum_to_1(lab):
    html = asked(lab, name="long", text="a" * 100, query=70)
    rows = cells(html, "weights")
    assert len(rows) == SHOWN + 1
    assert rows[0][1] == "earlier"
    assert rows[-1][0].startswith("70")
    for row in rows[1:]:
        assert sum(map(float, row[1:])) == pytest.approx(1, abs=0.005 * len(row))


def test_effects_stand_beside_weights_as_measured(lab, model):
    html = asked(lab, text=TEXT, head="1.2", query=8)
    measured = effect(model, IDS, target=target_of(model), layers=[1], heads=[2], queries=[8])
    expected = {
        int(key): [f"{weight:.4f}", signed(cut, 4), signed(zeroed, 4), f"{moved:.4f}"]
        for key, weight, cut, zeroed, moved in zip(
            measured.key, measured.weight, measured.cut, measured.zeroed, measured.moved, strict=True
        )
    }
    rows = cells(html, "reads")[1:]
    assert {int(row[0].split()[0]): row[1:5] for row in rows} == expected


def target_of(model):
    return int(trace(model, IDS, "logits")["logits"][0, -1].argmax())


def test_the_proof_is_that_of_glass(lab, model):
    html = asked(lab, text=TEXT, head="1.2", query=7, key=3)
    proof = prove(trace(model, IDS, "*"), 1, 2, 7, 3)
    rows = dict(cells(html, "proof"))
    assert rows["q · k"].endswith(f"= {proof.dot:.9g}")
    assert rows["weight"] == f"{proof.exponential:.9g} / {proof.row_sum:.9g} = {proof.weight:.9g}"
    assert rows["the model used"].startswith(f"{proof.model_weight:.9g} differs by")
    hidden = dict(cells(asked(lab, text=TEXT, head="1.2", query=3, key=7), "proof"))
    assert hidden["weight"].startswith("exactly 0")


EDITS = {
    "cut:1.2.8.3": edits.cut(1, 2, edges=[(8, 3)]),
    "zero:0.1.7.2": edits.zero(0, 1, edges=[(7, 2)]),
    "scale:1.3.4:-2.5": edits.scale_value(1, 4, -2.5, 3),
    "silence:0.3": edits.silence(0, 3),
}


@pytest.mark.parametrize("spoken", [[one] for one in EDITS] + [list(EDITS)], ids=lambda s: "+".join(s))
def test_edits_do_what_compare_says(lab, model, spoken):
    html = asked(lab, text=TEXT, edit=spoken, head="1.2")
    made = [EDITS[one] for one in spoken]
    told = compare(model, IDS, made, target=target_of(model))
    said = text(re.search(r"<p>(The log-probability.*?)</p>", html)[1])
    label = label_of(BYTES, told.target).text
    before, after = told.plain_log_probability, told.plain_log_probability + told.log_probability
    assert said == (
        f"The log-probability of “{label}” went from {number(before, 4)} to {number(after, 4)} "
        f"(by {signed(told.log_probability, 4)}); the largest change of a logit is {number(told.logits, 4)}."
    )
    rows = cells(html, "edits")
    assert rows[1] == [number(x, 4) for x in told.layers]
    edited = trace(model, IDS, ["logits", "blocks.1.attention.weights"], edits=made)
    plain = trace(model, IDS, "logits")
    after_V, before_V = (t["logits"][0, -1].double().softmax(-1) for t in (edited, plain))
    shown = {row[0]: row[1:3] for row in rows[3:]}
    for token in torch.maximum(before_V, after_V).topk(5).indices.tolist():
        figures = [f"{number(100 * float(p[token]), 2)} %" for p in (before_V, after_V)]
        assert shown[label_of(BYTES, token).text] == figures
    weights = edited.weights(1, 2)
    assert [row[1:] for row in cells(html, "weights")[1:]][8] == [number(float(x), 2) for x in weights[8]]


def test_edits_can_be_taken_back(lab):
    html = asked(lab, text=TEXT, edit=["cut:1.2.8.3", "cut:1.2.8.3", "scale:0.1.2"], factor=3)
    ticked = re.findall(r'type="checkbox" name="edit" value="([^"]*)" checked', html)
    assert ticked == ["cut:1.2.8.3", "scale:0.1.2:3"]
    without = re.search(r'href="\?([^"]*)" data-ask', html)[1]
    assert "edit" not in without


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_edit_is_told_in_words(lab, language):
    html = asked(lab, language, text=TEXT, edit=list(EDITS))
    said = [text(x) for x in re.findall(r"checked> <span>(.*?)</span></label>", html)]
    if language == "en":
        assert said[0] == "cut 8 b → 3 眠 1/3 (layer 1, head 2)"
        assert said[2] == "the value of 4 眠 2/3 times -2.5 (layer 1, head 3)"
    else:
        assert said[3] == "第 0 层，头 3：沉默"


def test_another_text_begins_anew(lab):
    html = asked(lab, text="ab", of=of(TEXT), query=8, key=3, edit="cut:1.2.8.3", head="1.2")
    assert "so the edits that were made to it are gone" in text(html)
    assert 'type="checkbox"' not in html
    assert '"1.2" checked' in html


SAMPLERS = [(1, 0, 1), (0.5, 0, 1), (1.7, 5, 1), (1, 0, 0.4), (0.8, 20, 0.7), (1, 1, 0), (0, 3, 0.5)]


@pytest.mark.parametrize(("temperature", "k", "p"), SAMPLERS)
def test_sampling_shows_what_the_sampler_does(lab, model, temperature, k, p):
    html = asked(lab, text=TEXT, temperature=temperature, top_k=k, top_p=p)
    logits = trace(model, IDS, "logits")["logits"][0, -1]
    sampler = samplers.Sampler(temperature, k, p)
    if temperature:
        last = sampler.filtered(logits).softmax(-1)
        warm = samplers.scale(logits, temperature).softmax(-1)
    else:
        warm = last = torch.nn.functional.one_hot(logits.argmax(), len(logits)).double()
    rows = cells(html, "candidates")[1:]
    for row, token in zip(rows, logits.argsort(descending=True, stable=True).tolist(), strict=False):
        assert row[0] == label_of(BYTES, token).text
        assert row[1] == number(float(logits[token]), 3)
        assert row[2] == percent(logits.double().softmax(-1)[token])
        assert row[3] == (percent(warm[token]) if warm[token] else "ruled out")
        assert row[5] == (percent(last[token]) if last[token] else "ruled out")
    assert f"Of 257 tokens, {int((last > 0).sum())} can still be drawn." in text(html)


def percent(p):
    return f"{number(100 * float(p), 2)} %"


def test_edited_models_are_sampled_edited(lab, model):
    html = asked(lab, text=TEXT, edit="silence:0.3")
    logits = trace(model, IDS, "logits", edits=[edits.silence(0, 3)])["logits"][0, -1]
    assert cells(html, "candidates")[1][2] == percent(logits.double().softmax(-1).max())
    assert "Of the model with your edits." in html


def test_a_text_beyond_the_context_is_cut_and_the_page_says_so(lab):
    html = asked(lab, text="a" * 40)
    assert "The text has 40 tokens; the model can see 32 at once. Shown: the last 32." in text(html)
    html = asked(lab, name="long", text="a" * 300)
    assert f"The text has 300 tokens; to stay quick, this page reads the last {MOST_TOKENS}" in text(html)


@pytest.mark.parametrize("language", LANGUAGES)
def test_ten_thousand_characters_are_read_and_one_more_is_not(lab, language):
    assert asked(lab, language, text="a" * MOST_CHARACTERS)
    html = asked(lab, language, status=422, text="a" * (MOST_CHARACTERS + 1))
    assert "10001" in text(re.search(r'role="status">(.*?)</p>', html, re.S)[1])
    report = address("bytes", language).split("?")[0] + "/look"
    assert lab.get(report, params={"text": "a" * (MOST_CHARACTERS + 1)}).status_code == 422


@pytest.mark.parametrize("language", LANGUAGES)
def test_characters_outside_the_vocabulary_are_named_in_the_pages_language(tmp_path, language):
    tokenizer = CharTokenizer("春眠不觉晓")
    save(tmp_path / "few", make(tokenizer.vocab_size, context=32, layers=1, heads=2), tokenizer)
    html = asked(client(tmp_path), language, "few", status=422, text="春犬眠\n犬")
    expected = getattr(WORDS["unknown"], language).format(characters="犬 '\\n'")
    assert text(re.search(r'role="status">(.*?)</p>', html, re.S)[1]) == text(expected)


def test_the_full_report_shows_the_same_head_and_edge(lab):
    html = asked(lab, text=TEXT, head="1.2", query=7, key=3)
    link = re.search(r'href="([^"]*/look\?[^"]*)"', html)[1].replace("&amp;", "&")
    report = lab.get(link)
    assert report.status_code == 200
    assert "layer 1, head 2" in report.text
    assert "How much token 7" in report.text
    refused = lab.get(address("bytes", "zh").split("?")[0] + "/look?text=")
    assert refused.status_code == 422
    assert "the text to look at is empty" in refused.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_encoder_is_looked_at_without_a_next_token(lab, language):
    html = asked(lab, language, name="encoder", text="the cat sees", edit="silence:0.0", temperature=0.5)
    for part in ("edits", "candidates"):
        assert f'data-part="{part}"' not in html or not cells(html, part)
    assert len(cells(html, "weights")) > 4
    assert cells(html, "proof")
    assert 'class="special"' in html
    assert asked(lab, language, name="encoder", text="cat " * 300, status=422)


def test_shared_values_are_scaled_in_the_head_that_holds_them(tmp_path):
    torch.manual_seed(0)
    shape = {"n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "d_model": 32, "d_inner": 48, "d_head": 8}
    config = LlamaConfig(257, context=16, norm_eps=1e-6, rotary_base=1e4, **shape)
    grouped = Llama(config).eval()
    save(tmp_path / "run", grouped, family="llama")
    html = asked(client(tmp_path), name="run", text=TEXT, edit="scale:0.3.2:0")
    told = compare(grouped, IDS, [edits.scale_value(0, 2, 0.0, 1)])
    assert cells(html, "edits")[1] == [number(x, 4) for x in told.layers]
    assert "share their values" in html


def test_the_same_text_is_read_once(lab, monkeypatch):
    asked(lab, text="once")
    monkeypatch.setattr(reading, "check", lambda *arguments: pytest.fail("read twice"))
    asked(lab, "zh", text="once", head="0.1", temperature=0.3, edit="silence:0.0")


def test_addresses_leave_out_what_is_usual():
    assert Ask().address() == ""
    assert Ask("a b", edit=("silence:0.0", "cut:0.0.1.0")).address(top_k=3) == (
        "text=a+b&edit=silence%3A0.0&edit=cut%3A0.0.1.0&top_k=3"
    )


def test_edits_are_spelled_as_they_are_read():
    for spoken in EDITS:
        (change,) = parsed([spoken], 1.0)
        assert change.spoken == spoken
    assert parsed(["scale:0.1.2"], 0.25) == [Change("scale", 0, 1, key=2, factor=0.25)]
    with pytest.raises(UserError, match="is no edit"):
        parsed(["scale:٣.1.2"], 1)


def test_texts_have_the_same_gaps_in_both_languages():
    for key, both in WORDS.items():
        gaps = [sorted(re.findall(r"\{(\w+)(?::\w+)?\}", one)) for one in both]
        assert gaps[0] == gaps[1], key
