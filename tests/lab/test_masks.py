"""The page of an encoder that tells hidden tokens: what stands behind each mask, and where a mask looks."""

import json
import re
from html import unescape

import pytest

from encoding.test_fill import made
from glassformer.data.tokenizers import ENCODING, BPETokenizer, CharTokenizer
from glassformer.encoding.fill import fill
from glassformer.glass.trace import trace
from glassformer.lab.reading import MOST_TOKENS, SHOWN, hiding
from glassformer.lab.words_run import WORDS
from glassformer.texts import LANGUAGES, number
from lab.reading import elements
from lab.serving import address, cells, client, save, save_encoder, text
from published import WORDPIECE_ROLES, bert, wordpiece
from published import save as publish

LETTERS = CharTokenizer("abcdefgh<>/=()1 imgsrcxonerltp;\"'&{}", ENCODING)
EACH = pytest.mark.parametrize("language", LANGUAGES)
TWO = "ab[MASK]d[MASK]"
A, B, D = LETTERS.encode("abd").tolist()
IDS = [LETTERS.end + 1, A, B, LETTERS.mask, D, LETTERS.mask, LETTERS.end]
HOSTILE = ["<img src=x onerror=alert(1)>[MASK]", "</script>[MASK]\"'&lt;", "[MASK]{{1*1}}"]


def model():
    return made(LETTERS, context=300, n_layers=2)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masks")
    save(folder / "letters", model(), LETTERS, family="bert")
    save_encoder(folder / "headless")
    publish(bert("ForMaskedLM", vocab_size=320), folder / "published", wordpiece())
    roles = folder / "published" / "tokenizer_config.json"
    roles.write_text(json.dumps(WORDPIECE_ROLES), encoding="utf-8")
    return client(folder)


def asked(lab, language="en", name="letters", status=200, **query):
    answer = lab.get(address(name, language, **query))
    assert answer.status_code == status
    return answer.text


def percent(p):
    return f"{number(100 * p, 2)} %"


@EACH
def test_each_mask_has_the_completions_of_fill(lab, language):
    html = asked(lab, language, text=TWO)
    expected = fill(model(), LETTERS, TWO, n=12)
    told = [row for row in cells(html, "hidden") if row[1].endswith("%")]
    assert told == [[c.token, percent(c.probability)] for best in expected for c in best]
    assert "3 [MASK]" in text(html)
    assert "5 [MASK]" in text(html)
    assert getattr(WORDS["told_hidden"], language)[:4] not in text(html)  # of several masks none is the first
    one = asked(lab, language, text="ab[MASK]")
    best = fill(model(), LETTERS, "ab[MASK]", n=1)[0][0]
    said = getattr(WORDS["told_hidden"], language)
    said = said.format(token=best.token, percent=number(100 * best.probability, 1))
    assert said in text(re.search(r'class="told" role="status">(.*?)</p>', one, re.S)[1])


def test_a_completion_leads_to_the_text_with_it(lab):
    html = asked(lab, text=TWO)
    first = re.search(r'data-part="hidden">.*?<tbody>.*?href="(\?[^"]*)"', html, re.S)[1]
    token = fill(model(), LETTERS, TWO, n=1)[0][0].token
    followed = lab.get(address("letters") + unescape(first)).text
    assert text(re.search(r"<textarea[^>]*>(.*?)</textarea>", followed, re.S)[1]) == f"ab{token}d[MASK]"
    assert len([row for row in cells(followed, "hidden") if row[1].endswith("%")]) == 12


@EACH
def test_a_mask_is_who_looks_and_every_head_shows_where(lab, language):
    html = asked(lab, language, text=TWO)
    assert 'name="query" value="3" checked' in html
    weights = trace(model(), IDS, "blocks.*.attention.weights")
    for query, head in ((3, "0.1"), (5, "1.0")):
        html = asked(lab, language, text=TWO, query=query, head=head)
        layer = int(head[0])
        heads = weights[f"blocks.{layer}.attention.weights"][0, :, query].double()
        rows = [[number(float(x), 2) for x in row] for row in (*heads, heads.mean(0))]
        assert [row[1:] for row in cells(html, "looks")[1:]] == rows
        assert [cell.split()[1] for cell in cells(html, "looks")[0][1:]][query] == "[MASK]"
    links = re.findall(r'<a href="(\?[^"]*)" data-ask>', html)
    assert sum("head=1.1" in link for link in links) == 1
    there = lab.get(address("letters", language) + unescape(next(x for x in links if "head=1.1" in x)))
    assert 'name="head" value="1.1" checked' in there.text


def test_of_a_long_text_the_part_around_the_mask_is_shown(lab):
    html = asked(lab, text="a" * 100 + "[MASK]" + "b" * 50)
    rows = cells(html, "looks")
    assert rows[0][1] == "earlier"
    assert rows[0][-1] == "later"
    assert len(rows[0]) == SHOWN + 3
    for row in rows[1:]:
        assert sum(map(float, row[1:])) == pytest.approx(1, abs=0.005 * len(row))


@EACH
def test_a_text_that_hides_nothing_is_told_how_to_ask(lab, language):
    html = asked(lab, language, text="abcde")
    assert not cells(html, "hidden")
    assert getattr(WORDS["mask_how"], language).format(mask="[MASK]") in text(html)
    assert getattr(WORDS["mask_hint"], language).format(mask="[MASK]") in text(asked(lab, language))
    link = re.search(r'<p class="note">.*?href="(\?[^"]*)"', html)[1]
    assert text(re.search(r'<p class="note">.*?<bdi>(.*?)</bdi>', html)[1]) == "ab[MASK]de"
    assert cells(lab.get(address("letters", language) + link).text, "hidden")
    assert getattr(WORDS["mask_hint"], language).format(mask="[MASK]") not in text(
        asked(lab, language, "headless", text="the cat")
    )


@pytest.mark.parametrize(
    ("typed", "masked"),
    [
        ("the cat sat", "the [MASK] sat"),
        (" the cat", " the [MASK]"),
        ("cat", "[MASK]"),
        ("猫 cat", "猫 [MASK]"),
        ("猫", None),  # three bytes, none of which is a character
    ],
)
def test_an_example_hides_a_whole_token(typed, masked):
    words = BPETokenizer.train(iter(["the cat sat on the mat"] * 9), 272, ENCODING)
    assert hiding(words, typed, "[MASK]") == masked


@EACH
def test_a_published_folder_is_asked_alike(lab, language):
    html = asked(lab, language, "published", text="the [MASK] jumps over")
    assert len([row for row in cells(html, "hidden") if row[1].endswith("%")]) == 12
    assert len(cells(html, "looks")) > 2
    report = lab.get(unescape(re.search(r'href="(/[^"]*/look\?[^"]*)"', html)[1]))
    assert report.status_code == 200
    assert report.text.count('<bdi class="special">[MASK]</bdi>') > 1


@pytest.mark.parametrize("typed", HOSTILE)
def test_hostile_texts_and_tokens_are_shown_as_text(lab, typed):
    html = asked(lab, text=typed, status=422 if "*" in typed else 200)
    found = elements(html)
    assert [tag for tag, _ in found].count("script") == 2
    assert not any(name.startswith("on") for _, given in found for name in given)
    assert all(given["src"].startswith("data:image/png;base64,") for tag, given in found if tag == "img")


@EACH
def test_what_it_cannot_read_is_said(lab, language):
    html = asked(lab, language, status=422, text="a猫[MASK]")
    assert getattr(WORDS["unknown"], language).format(characters="猫") in text(html)
    html = asked(lab, language, status=422, text="[MASK]" + "a" * MOST_TOKENS)
    assert getattr(WORDS["too_many"], language).format(n=MOST_TOKENS + 3, most=MOST_TOKENS) in text(html)
