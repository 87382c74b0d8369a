"""Translators and word vectors among the lab's runs: their pages say what `translate`, `look`, `neighbours`
and `analogy` do, whatever is typed."""

import re

import pytest
import torch

from glass.reading import LETTERS
from glass.test_translation import make
from glassformer import translate
from glassformer.data.space import WordSpace
from glassformer.data.words import Words
from glassformer.glass import translation
from glassformer.lab.reading import MOST_CHARACTERS, MOST_TOKENS
from glassformer.lab.words_run import WORDS
from glassformer.models import Transformer, TransformerConfig, Word2Vec, Word2VecConfig
from glassformer.texts import number
from lab.serving import address, client, save, text

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
HOSTILE = ["</script><img/src=x/onerror=alert(1)>", "\"'&lt;{{7*7}}", "a\0b", "שלום‮abc"]
NAMES = ["king", "queen", "man", "woman", "apple", "<b>&", "春", "zero"]


def vectors(folder):
    torch.manual_seed(3)
    words = Words(NAMES, [8] * len(NAMES), "spaces", lower=True)
    model = Word2Vec(Word2VecConfig(vocab_size=words.vocab_size, d_model=4))
    with torch.no_grad():
        model.embedding.weight.normal_()
        model.embedding.weight[NAMES.index("zero")] = 0
    save(folder, model, words, step=5, family="word2vec")
    return WordSpace(NAMES, model.embedding.weight.detach().numpy()[: len(NAMES)], "words")


def transformer():
    torch.manual_seed(1)
    shape = {"context": 32, "n_layers": 2, "n_heads": 2, "d_model": 8, "dropout": 0.0}
    return Transformer(TransformerConfig(LETTERS.vocab_size, **shape)).eval()


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    return vectors(tmp_path_factory.mktemp("space") / "words")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("others")
    save(folder / "pairs", make(), LETTERS, step=7, family="seq2seq")
    save(folder / "plain", make("none"), LETTERS, family="seq2seq")
    save(folder / "transformer", transformer(), LETTERS, family="transformer")
    vectors(folder / "words")
    return client(folder)


def rows(html):
    """The rows of each table, as texts."""
    tables = re.findall(r"<table.*?</table>", html, re.S)
    return [
        [
            [text(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)]
            for row in re.findall(r"<tr.*?</tr>", table, re.S)
        ]
        for table in tables
    ]


def asked(lab, name, language="en", status=200, **query):
    answer = lab.get(address(name, language, **query))
    assert answer.status_code == status, text(answer.text)
    return answer.text


@LANGUAGES
def test_they_are_listed_and_begin_with_a_form(lab, language):
    listed = lab.get(f"/{language}/index.html").text
    for family in ("seq2seq", "word2vec"):
        assert family in text(listed)
    for name in ("pairs", "words"):
        html = asked(lab, name, language)
        assert f'action="/{language}/runs/{name}"' in html
        assert "<table" not in html


@LANGUAGES
def test_a_translation_its_alignment_and_the_alternatives_are_those_of_look(lab, language):
    model = make()
    html = asked(lab, "pairs", language, text="abcdef")
    values = translation.values(model, LETTERS, "abcdef")
    assert re.search(r'<p class="told" dir="auto">(.*?)</p>', html)[1] == translate(model, LETTERS, "abcdef")
    *_, alignment, alternatives = rows(html)
    assert [row[1:] for row in alignment[1:]] == [[cell.text for cell in row] for row in values["table"]]
    assert [row[0] for row in alignment[1:]] == [label.text for label in values["target"]]
    assert [cell[1:] for cell in alignment[0][1:]] == list("abcdef")
    for row, p in zip(alternatives[1:], values["predictions"], strict=True):
        others = [g for g in p.guesses if not g.actual]
        assert row[:2] == [p.actual.text, f"{number(100 * p.probability, 1)} %"]
        said = " ".join(f"{g.label.text} {number(100 * g.probability, 1)} %" for g in others)
        assert row[2] == said
    report = lab.get(re.search(r'href="(/[^"]*/look[^"]*)"', html)[1])
    assert report.status_code == 200
    assert 'alt="decoder.blocks.0.hidden"' in report.text


@LANGUAGES
def test_of_a_transformer_the_most_pointed_head_of_its_cross_attention_is_shown(lab, language):
    html = asked(lab, "transformer", language, text="abcde")
    cross = translation.values(transformer(), LETTERS, "abcde")["attentions"][-1]
    assert cross["of"] == "cross"
    *_, alignment, _ = rows(html)
    assert [row[1:] for row in alignment[1:]] == [[cell.text for cell in row] for row in cross["table"]]
    told = getattr(WORDS["alignment_head"], language).format(layer=cross["layer"], head=cross["head"])
    assert told in text(html)


def test_without_attention_there_is_no_alignment(lab):
    assert len(rows(asked(lab, "plain", text="abc"))) == 2  # the step, and all of them


@LANGUAGES
@pytest.mark.parametrize(
    ("typed", "key", "given"),
    [
        ("a\u00e9", "unknown", {"characters": "\u00e9"}),
        ("a" * (MOST_CHARACTERS + 1), "too_long", {"n": MOST_CHARACTERS + 1, "most": MOST_CHARACTERS}),
        ("a" * (MOST_TOKENS + 1), "too_many", {"n": MOST_TOKENS + 1, "most": MOST_TOKENS}),
    ],
)
def test_what_a_translator_cannot_read_is_said(lab, language, typed, key, given):
    html = asked(lab, "pairs", language, 422, text=typed)
    assert getattr(WORDS[key], language).format(**given) in text(html)
    assert "<table" not in html


@LANGUAGES
def test_neighbours_and_analogies_are_those_of_the_vectors(lab, space, language):
    [found] = rows(asked(lab, "words", language, text=" king "))
    assert found[1:] == [[word, number(cosine, 3)] for word, cosine in space.neighbours("king", 20)]
    html = asked(lab, "words", language, text="man KING woman")
    [found] = rows(html)
    assert found[1:] == [
        [word, number(cosine, 3)] for word, cosine in space.analogy("man", "king", "woman", 20)
    ]
    assert getattr(WORDS["as_is"], language).format(a="man", b="KING", c="woman") in text(html)


def test_a_word_leads_to_its_own_neighbours(lab, space):
    html = asked(lab, "words", text="king")
    links = re.findall(r'<th scope="row"><a href="(\?[^"]*)">', html)
    assert len(links) == len(NAMES) - 1
    for link, (word, _) in zip(links, space.neighbours("king", 20), strict=True):
        followed = lab.get(address("words") + link)
        assert (followed.status_code == 200) == (word != "zero")


@LANGUAGES
@pytest.mark.parametrize(
    ("typed", "key", "given"),
    [("king man", "one_or_three", {"n": 2}), ("kig", "no_word", {"word": "kig"})],
)
def test_what_is_no_question_to_word_vectors_is_said(lab, language, typed, key, given):
    html = asked(lab, "words", language, 422, text=typed)
    assert getattr(WORDS[key], language).format(**given) in text(html)
    assert "king" in text(html)  # among the frequent words


def test_a_vector_of_zeros_and_a_report_are_refused_in_one_line(lab):
    assert "nothing is near a vector of zeros" in text(asked(lab, "words", status=422, text="zero"))
    report = lab.get("/en/runs/words/look?text=king")
    assert report.status_code == 422
    assert WORDS["vectors"].en in text(report.text)


@pytest.mark.parametrize("name", ["pairs", "words"])
@pytest.mark.parametrize("typed", HOSTILE)
def test_hostile_text_is_inert(lab, name, typed):
    html = asked(lab, name, "zh", 422, text=typed)
    assert "<img" not in html
    assert "{{" not in html or "{{7*7}}" in html
    assert html.count("</script>") == 2  # the page's own
    found = asked(lab, "words", text="<b>&")
    assert "<b>" not in found
