"""Two subjects side by side: each whole, the same head on view, what differs told where it can be."""

import numpy as np
import pytest
import torch

from glass.reading import LETTERS, Reader, data_of, make, make_encoder, say, text_of, wrapping
from glassformer import UserError, look, trace
from glassformer.data.tokenizers import END, CharTokenizer
from glassformer.glass.page import Subject

TEXT, OTHER = "abcdefgh", "abcdabcd"


def html(beside, text=TEXT, model=None, **options):
    return look(model or make(), LETTERS, text, beside=beside, **options)


def subjects(page):
    return Reader(page).root.findall(".//article")


def heads(data):
    """The head that each subject shows first."""
    return [tuple(subject["view"]) for subject in data]


def test_each_is_named_by_run_checkpoint_and_text():
    page = html(Subject(make(), LETTERS, OTHER, "ab", 9, "runs/<b>"), name="runs/cat", step=7)
    first, second = subjects(page)
    for subject, letter, name, step, text in [
        (first, "A", "runs/cat", 7, TEXT),
        (second, "B", "runs/<b>", 9, OTHER + "ab"),
    ]:
        assert subject.get("style") == f"--letter: '{letter} · '"
        assert text_of(subject.find("header/h2")) == name
        assert say("checkpoint", step=step) in text_of(subject.find("header"))
        assert text_of(subject.find("header/blockquote")) == text
    assert text_of(second.find("header/blockquote/ins")) == "ab"
    unnamed = subjects(html(Subject(make(), LETTERS, OTHER)))
    assert [text_of(subject.find("header/h2")) for subject in unnamed] == [say("unnamed")] * 2
    assert f"<title>{TEXT} | {OTHER}ab · Glassformer</title>" in page
    assert f"<title>{TEXT} · Glassformer</title>" in html(Subject(make(), LETTERS, TEXT))


def test_each_is_all_that_it_is_alone():
    model = make(layers=1, heads=2)
    page = html(Subject(model, LETTERS, OTHER, step=3), layer=0, head=1)
    alone = look(model, LETTERS, OTHER, layer=0, head=1, step=3)
    assert data_of(page)[1] == data_of(alone)[0]
    (only,), (_, second) = subjects(alone), subjects(page)
    assert subjects(look(model, LETTERS, TEXT))[0].get("style") is None
    for tag in ("table", "img", "li"):
        assert [(n.attrib, text_of(n)) for n in second.iter(tag)] == [
            (n.attrib, text_of(n)) for n in only.iter(tag)
        ]


def test_both_show_the_same_head_where_both_have_it():
    beside = Subject(make(layers=3, heads=2), LETTERS, OTHER)
    page = html(beside, layer=1, head=1)
    assert heads(data_of(page)) == [(1, 1), (1, 1)]
    assert say("same_head") in text_of(subjects(page)[1])
    assert say("chosen") not in text_of(Reader(page).root)
    page = html(beside, layer=0, head=3)
    assert heads(data_of(page)) == [(0, 3), heads(data_of(look(make(layers=3, heads=2), LETTERS, OTHER)))[0]]
    assert say("chosen") in text_of(subjects(page)[1])
    assert say("same_head") not in text_of(Reader(page).root)
    chosen = html(beside=Subject(make(), LETTERS, OTHER))
    assert heads(data_of(chosen)) == [heads(data_of(look(make(), LETTERS, TEXT)))[0]] * 2


@pytest.mark.parametrize(("text", "edge"), [("abca", (3, 1)), ("abc", None)])
def test_both_prove_the_same_weight_where_both_have_it(text, edge):
    first, second = subjects(html(Subject(make(), LETTERS, text), layer=1, head=2, edge=(3, 1)))
    assert "How much token 3 “d” reads token 1 “b”" in text_of(first)
    place = edge or (2, int(trace(make(), LETTERS.encode(text)).weights(1, 2)[2].argmax()))
    assert f"How much token {place[0]} “{text[place[0]]}” reads token {place[1]} “" in text_of(second)


def test_the_largest_difference_of_each_head_and_of_the_likeliest_tokens():
    model, other = make(), make()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    root = Reader(html(Subject(other, LETTERS, TEXT), model=model)).root
    guesses, weights = root.findall(".//section[@class='difference']//tbody")
    ours, theirs = (trace(m, LETTERS.encode(TEXT)) for m in (model, other))
    for layer, row in enumerate(weights):
        difference = [
            float((ours.weights(layer, i) - theirs.weights(layer, i)).abs().max()) for i in range(4)
        ]
        assert [float(text_of(cell)) for cell in row[1:]] == pytest.approx(difference, abs=5.1e-4)
    p, q = (100 * traced.probabilities[0, -1].numpy() for traced in (ours, theirs))
    names = [*"abcdefgh", END]
    for token, row in zip(np.argsort(-p)[:5], guesses, strict=True):
        assert text_of(row[0]) == names[token]
        numbers = [float(text_of(cell).removesuffix(" %")) for cell in row[1:]]
        assert numbers == pytest.approx([p[token], q[token], q[token] - p[token]], abs=0.051)
    same = Reader(html(Subject(make(), LETTERS, TEXT))).root.findall(".//section[@class='difference']//td")
    assert {text_of(cell) for cell in same[-8:]} == {"0.000"}
    assert {text_of(row) for row in same[2:15:3]} == {"0.0"}


WRAPPING = wrapping()
INCOMPARABLE = {
    "tokens": Subject(make(), LETTERS, "abc"),
    "layers": Subject(make(layers=1), LETTERS, TEXT),
    "heads": Subject(make(heads=2), LETTERS, TEXT),
    "encoder": Subject(make_encoder(LETTERS.vocab_size), LETTERS, TEXT),
}


@pytest.mark.parametrize("beside", INCOMPARABLE.values(), ids=INCOMPARABLE)
def test_what_cannot_be_compared_is_not(beside):
    assert "difference" not in [node.get("class") for node in Reader(html(beside)).root.iter("section")]


def tables_of_difference(page):
    return len(Reader(page).root.findall(".//section[@class='difference']//table"))


def test_next_tokens_are_compared_in_one_vocabulary_alone():
    other = CharTokenizer("abcdefghi")
    assert tables_of_difference(html(Subject(make(), CharTokenizer("abcdefgh"), OTHER))) == 2
    assert tables_of_difference(html(Subject(make(other.vocab_size), other, OTHER))) == 1
    encoder = make_encoder(WRAPPING.vocab_size)
    page = look(encoder, WRAPPING, "the cat", beside=Subject(encoder, WRAPPING, "cat the"))
    assert tables_of_difference(page) == 1


def test_an_encoder_beside_a_decoder():
    first, second = subjects(html(Subject(make_encoder(WRAPPING.vocab_size), WRAPPING, "the cat")))
    classes = [[section.get("class") for section in one.iter("section")] for one in (first, second)]
    assert classes[0][:-2] == classes[1]
    assert classes[0][-2:] == ["lens", "expected"]
    assert say("sight_causal") in text_of(first)
    assert say("sight_all") in text_of(second)


def test_what_is_wrong_with_the_second_is_said_of_it():
    with pytest.raises(UserError, match=r"^beside: the text to look at is empty$"):
        html(Subject(make(), LETTERS, ""))
    with pytest.raises(UserError, match=r"^beside: .*lacks 'x'"):
        html(Subject(make(), LETTERS, "x"))
    with pytest.raises(UserError, match=r"^the text to look at is empty$"):
        html(Subject(make(), LETTERS, TEXT), "")


def test_no_id_stands_twice_on_two_pages():
    pages = [html(Subject(make(), LETTERS, text)) for text in (OTHER, "abc")]
    ids = [node.get("id") for page in pages for node in Reader(page).root.iter() if "id" in node.attrib]
    assert len(ids) == len(set(ids)) == 4
