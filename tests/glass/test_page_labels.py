"""How the page names things: tokens of any script and kind, places, numbers of things, itself."""

import re
from html import unescape

import numpy as np
import pytest
import torch

from glass.reading import LETTERS, NEXT, READS, WEIGHTS, Reader, data_of, make, page, say, text_of
from glassformer import UserError, effect, look, trace
from glassformer.data.tokenizers import END, BPETokenizer, ByteTokenizer, CharTokenizer
from glassformer.glass import sections, words
from glassformer.glass.report import signed

MIXED = "שלום, hello (العربية) 123!"
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]")


class Opened(CharTokenizer):
    """Puts its special token before a text, as those of published decoders do."""

    def _encode(self, text):
        return np.concatenate([[self.end], super()._encode(text)])


def texts(node, inside=()):
    """Every text of an element's inside, with the tags around it."""
    inside = (*inside, node.tag)
    yield node.text or "", inside
    for child in node:
        yield from texts(child, inside)
        yield child.tail or "", inside


def test_names_that_run_from_right_to_left_do_not_move_what_is_beside_them():
    tokenizer = CharTokenizer(MIXED)
    root = page(MIXED, make(tokenizer.vocab_size, 64), tokenizer)
    assert root.find(".//blockquote").get("dir") == "auto"
    found = [
        inside
        for text, inside in texts(root.find("body"))
        if RIGHT_TO_LEFT.search(text) and not {"blockquote", "script"} & {*inside}
    ]
    assert len(found) > 5 * len(MIXED)
    assert all("bdi" in inside for inside in found)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_special_tokens_are_marked(language):
    tokenizer = Opened("abcdefgh")
    html = look(make(), tokenizer, "abcd", language=language)
    root = Reader(html).root
    special = root.findall(".//bdi[@class='special']")
    assert {text_of(name) for name in special} == {END}
    everywhere = [name for name in root.iter("bdi") if text_of(name) == END]
    assert len(everywhere) == len(special) > 5
    assert [text_of(name) for name in root.findall(".//section/ol/li/bdi[@class='special']")] == [END]
    assert say("special_note", example=END) in text_of(root)
    (data,) = data_of(html)
    assert data["queries"] == data["keys"] == [END, *"abcd"]
    assert data["special"] == {"queries": [0], "keys": [0]}
    assert ByteTokenizer().special == {256: END}


def test_no_legend_without_a_special_token():
    model = make()
    model.head = torch.nn.Linear(model.config.d_model, LETTERS.vocab_size)
    torch.nn.init.zeros_(model.head.weight)
    for bias, legend in [(1.0, True), (-1.0, False)]:  # END is the likeliest token, or the least likely
        model.head.bias.data = torch.zeros(LETTERS.vocab_size)
        model.head.bias.data[LETTERS.end] = bias
        text = text_of(page("abcd", model))
        assert (END in text) == (say("special_note", example=END) in text) == legend


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (b"\xe5\xba", "0xE5 0xBA"),
        (b"\xba\xad\x97", "0xBA 0xAD 0x97"),
        (b"a\xe5b", "a 0xE5 b"),
        (b"\xe5", "0xE5"),
        ("字".encode(), "字"),
        (b"0xE50xBA", "0xE50xBA"),
    ],
)
def test_bytes_of_no_character_stand_apart(token, name):
    class One(ByteTokenizer):
        def token_bytes(self, _):
            return token

    assert sections.name(One(), 0).text == name


def test_bytes_of_no_character_are_explained():
    trained = BPETokenizer.train(iter(["字 é"] * 9), 300)
    assert say("stray_note") in text_of(page("字", make(trained.vocab_size), trained))
    assert say("stray_note") not in text_of(page("abc"))


def test_a_character_that_the_context_cuts_keeps_its_name():
    root = page("春眠", make(ByteTokenizer().vocab_size, 4), ByteTokenizer())
    names = ["春 3/3", "眠 1/3", "眠 2/3", "眠 3/3"]
    assert [text_of(name) for name in root.findall(f"{WEIGHTS}/th/bdi")] == names


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("a b  c\nd", "a b c d · Glassformer"),
        ("a" * 40, "a" * 40 + " · Glassformer"),
        ("a" * 41, "a" * 39 + "… · Glassformer"),
        ("</title>", "</title> · Glassformer"),
        (" \n", "Glassformer"),
    ],
)
def test_the_title_is_the_text_on_one_line(text, title):
    tokenizer = CharTokenizer(text)
    html = look(make(tokenizer.vocab_size, 64), tokenizer, text)
    assert unescape(re.search("<title>(.*?)</title>", html)[1]) == title


@pytest.mark.parametrize(
    ("layers", "heads", "said"), [(1, 1, "1 layer × 1 head,"), (2, 3, "2 layers × 3 heads,")]
)
def test_one_is_singular(layers, heads, said):
    text = text_of(page("a", make(layers=layers, heads=heads)))
    assert said in text
    for one in ("1 token,", "sum over 1 visible key"):
        assert one in text
    assert not re.search(r"\b1 (layers|heads|tokens|terms|visible keys)\b", text)


def test_a_term_alone_is_singular():
    assert say("rest", n=1) == "[the other 1 term]"
    assert say("rest", n=24) == "[the other 24 terms]"


def test_numbers_of_tokens_stand_where_tokens_are_named():
    root = page("abca", edge=(3, 1))
    assert "How much token 3 “a” reads token 1 “b” in this head" in text_of(root)
    assert "在这个头里，3 号词元“a”读取 1 号词元“b”的权重" in text_of(root, "zh-Hans")
    assert "What the last token, 3 “a”, reads" in text_of(root)
    table = root.find(".//table[@class='weights']")
    assert [text_of(th) for th in table.findall("tbody/tr/th")] == ["0 a", "1 b", "2 c", "3 a"]
    assert [text_of(th) for th in table.findall("thead/tr/th")[1:]] == ["a0", "b1", "c2", "a3"]


def test_commands_are_code_in_one_piece():
    root = page("abcd")
    commands = {text_of(code) for code in root.iter("code")}
    assert commands == {"--layer", "--head", "--proof LAYER.HEAD.QUERY.KEY", "--proof 层.头.查询.键"}
    assert not [
        text
        for text, inside in texts(root.find("body"))
        if "--" in text and not {"code", "script"} & {*inside}
    ]
    assert "`" not in text_of(root)
    assert words.say("special_note", example="`<b>`").count("`&lt;b&gt;`") == 2  # a value is never code


def test_effects_are_sorted_by_the_change_when_cut():
    model, text = make(), "abcdefgh"
    root = page(text, model, layer=1, head=2)
    ids = [int(i) for i in LETTERS.encode(text)]
    target = int(trace(model, ids, "logits")["logits"][0, -1].argmax())
    measured = effect(model, ids, target=target, layers=[1], heads=[2], queries=[7])
    order = sorted(range(8), key=lambda key: -abs(measured.cut[key]))
    rows = root.findall(READS)[:8]
    assert [text_of(row[0]) for row in rows] == [f"{i} {text[i]}" for i in order]
    for row, i in zip(rows, order, strict=True):
        columns = (measured.weight, measured.cut, measured.zeroed, measured.moved)
        numbers = [float(text_of(cell)) for cell in row[1:5]]
        assert numbers == pytest.approx([float(column[i]) for column in columns], abs=5.1e-5)
    assert "the largest change when cut first" in text_of(root)
    header = root.find(".//th[@aria-sort]")
    assert text_of(header) == "when cut ▾"


@pytest.mark.parametrize(
    ("value", "text"),
    [(-4e-5, "0.0000"), (4e-5, "0.0000"), (-0.0, "0.0000"), (6e-5, "+0.0001"), (-0.12346, "-0.1235")],
)
def test_a_change_that_rounds_to_nothing_has_no_sign(value, text):
    assert signed(value, 4) == text


def test_the_page_knows_no_negative_zero():
    model = make()
    for block in model.blocks:
        block.attention.output.weight.data *= 1e-5
    root = page(model=model)
    zeros = [cell for row in root.findall(READS)[:8] for cell in row if text_of(cell) == "0.0000"]
    assert zeros
    assert not re.search(r"[-−+]0\.0+(?!\d)", text_of(root))


@pytest.mark.parametrize("language", ["fr", "", "EN", "zh-Hans"])
def test_unknown_languages_are_named_with_the_known(language):
    with pytest.raises(UserError) as error:
        page(language=language)
    assert str(error.value) == f"the page does not speak {language!r}; its languages are zh, en"


def test_what_follows_is_labelled_where_there_is_no_heading():
    row = page("ab").find(NEXT)
    narrow = [text_of(span).strip() for span in row.iter("span") if span.get("class") == "narrow"]
    assert narrow == [say("after"), say("actual")]


def test_a_checkpoint_is_named_where_there_is_one():
    assert say("checkpoint", step=9) in text_of(page(step=9))
    assert "Checkpoint" not in text_of(page())


def test_a_notebook_counts_a_tensor_alone():
    ids = LETTERS.encode("abc")
    assert "<summary>1 tensor</summary>" in trace(make(), ids, "logits")._repr_html_()
    assert "<summary>2 tensors</summary>" in trace(make(), ids, "blocks.*.attention.weights")._repr_html_()
