"""A translation step by step on a translator's page: the token being written, what is read of the source for
it, and what the model's state holds by then."""

import re
from html import unescape

import pytest
import torch

from glass.reading import LETTERS
from glass.test_translation import make as recurrent
from glassformer.decoding.translate import search
from glassformer.glass import writing
from glassformer.glass.trace import trace
from glassformer.lab.words_run import WORDS
from glassformer.models import EncoderDecoder, Transformer, TransformerConfig
from glassformer.texts import LANGUAGES, number
from lab.reading import elements
from lab.serving import address, client, save, text
from lab.test_other_runs import rows

EACH = pytest.mark.parametrize("language", LANGUAGES)
SOURCE = "abcde"
IDS = [int(i) for i in LETTERS.encode(SOURCE)]
LAYERS, HEADS, WIDTH = 2, 4, 3


def transformer():
    torch.manual_seed(5)
    shape = {"context": 8, "n_layers": 1, "n_decoder_layers": LAYERS, "n_heads": HEADS}
    model = Transformer(TransformerConfig(LETTERS.vocab_size, d_model=HEADS * WIDTH, dropout=0.0, **shape))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model.eval()


MODELS = {"transformer": transformer, "pairs": recurrent, "plain": lambda: recurrent("none")}
EVERY = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    for name, model in MODELS.items():
        save(folder / name, model(), LETTERS, family="transformer" if name == "transformer" else "seq2seq")
    return client(folder)


def asked(lab, name="transformer", language="en", status=200, **query):
    answer = lab.get(address(name, language, text=SOURCE, **query))
    assert answer.status_code == status
    return answer.text


def written(model):
    return search(model, [IDS], LETTERS.start, LETTERS.end)[0][0].ids


@EVERY
def test_steps_are_the_pass_over_all_at_once(name):
    model = MODELS[name]()
    ids = written(model)
    assert len(ids) > 2
    taken = writing.steps(model, LETTERS, IDS, ids)
    traced = trace(model, IDS, target=[LETTERS.start, *ids])
    p = traced["logits"][0].softmax(-1)
    for t, (step, then) in enumerate(zip(taken, [*ids, LETTERS.end], strict=True)):
        assert step.written.text == LETTERS.labels([then])[0]
        best = p[t].topk(5).indices.tolist()
        best += [] if then in best else [then]
        assert [g.label.text for g in step.guesses] == LETTERS.labels(best)
        assert [g.probability for g in step.guesses] == pytest.approx(p[t, best].tolist(), abs=1e-5)
        assert [g.label.text for g in step.guesses if g.actual] == [step.written.text]
        if name == "plain":
            assert step.weights_Lhm is None
            continue
        if isinstance(model, EncoderDecoder):
            layers = [traced[f"decoder.blocks.{i}.cross.weights"][0, :, t] for i in range(LAYERS)]
            expected = torch.stack(layers)
        else:
            expected = traced["attention.weights"][0, t][None, None]
        torch.testing.assert_close(step.weights_Lhm, expected)


def test_a_transformer_keeps_a_key_and_a_value_more_for_each_head_at_each_step():
    taken = writing.steps(transformer(), LETTERS, IDS, written(transformer()))
    each = LAYERS * 2 * HEADS * WIDTH
    for t, step in enumerate(taken, 1):
        kept = step.kept
        assert (kept.tokens, kept.target, kept.source) == (t, t * each, len(IDS) * each)
        assert (kept.target_bytes, kept.source_bytes) == (4 * kept.target, 4 * kept.source)


@pytest.mark.parametrize(("name", "numbers"), [("pairs", 12), ("plain", 12)])
def test_a_recurrent_state_does_not_grow(lab, name, numbers):
    taken = writing.steps(MODELS[name](), LETTERS, IDS, written(MODELS[name]()))
    assert {step.kept.target for step in taken} == {numbers}
    html = asked(lab, name, query=2)
    assert WORDS["kept_hidden"].en.format(n=numbers) in text(html)
    assert WORDS["cache"].en not in text(html)


@EACH
def test_a_step_shows_its_token_its_reading_and_the_cache_so_far(lab, language):
    model, t = transformer(), 2
    ids = written(model)
    steps = writing.steps(model, LETTERS, IDS, ids)
    html = asked(lab, language=language, query=t, head="1.3")
    assert unescape(re.search(r'class="so-far">(.*?)</bdi>', html)[1]) == LETTERS.decode(ids[:t])
    guesses, reading, cache, alignment, _ = rows(html)
    assert [row[1] for row in guesses[1:]] == [
        f"{number(100 * g.probability, 1)} %" for g in steps[t].guesses
    ]
    heads = steps[t].weights_Lhm
    for row, expected in zip(reading[1:], (heads[1, 3], heads.mean((0, 1))), strict=True):
        shown = [float(cell.replace("·", "0")) for cell in row[1:]]
        assert shown == pytest.approx(expected.tolist(), abs=0.00501)
    assert alignment[1 + t][1:] == reading[1][1:]
    assert [row[1:] for row in cache[1:]] == [
        [
            f"{n:,}"
            for n in (
                *(s.kept.tokens, s.kept.target, s.kept.target_bytes),
                *(s.kept.source, s.kept.source_bytes),
            )
        ]
        for s in steps[: t + 1]
    ]
    assert re.search(r'<a class="map"[^>]*head=1\.3[^>]*aria-current', html)


@EVERY
def test_links_lead_through_the_steps_without_a_script(lab, name):
    html = asked(lab, name)
    n = len(written(MODELS[name]())) + 1
    seen = []
    while link := re.search(rf'<a href="([^"]*)">{WORDS["step_after"].en}</a>', html):
        seen.append(re.search(r'aria-current="step"><small>(\d+)</small>', html)[1])
        html = lab.get(address(name) + unescape(link[1])).text
    assert seen == [str(i) for i in range(n - 1)]
    strip = re.findall(r'<a class="token" href="([^"]*)"', html)
    assert len(strip) == n
    assert lab.get(address(name) + unescape(strip[1])).text == asked(lab, name, query=1)
    assert (WORDS["step_reads"].en in text(html)) == (name != "plain")


def test_a_head_stays_chosen_from_step_to_step_and_for_another_text(lab):
    html = asked(lab, head="0.2")
    assert '<input type="hidden" name="head" value="0.2">' in html
    assert all("head=0.2" in link for link in re.findall(r'<a class="token" href="([^"]*)"', html))
    heads = re.findall(r'<a class="map" href="([^"]*)"', asked(lab, head="0.2", query=1))
    assert len(heads) == LAYERS * HEADS
    assert all("query=1" in link for link in heads)


@EACH
@pytest.mark.parametrize(
    ("query", "key", "given"),
    [
        ({"query": 99}, "no_query", {"value": "99"}),
        ({"head": "7.0"}, "no_layer", {"value": "7", "last": "1"}),
        ({"head": "0.7"}, "no_head", {"value": "7", "last": "3"}),
    ],
)
def test_what_is_not_there_is_said(lab, language, query, key, given):
    html = asked(lab, language=language, status=422, **query)
    last = str(len(written(transformer())))
    assert getattr(WORDS[key], language).format(**{"last": last} | given) in text(html)


def test_a_text_is_translated_once(lab, monkeypatch):
    asked(lab)
    monkeypatch.setattr(writing, "steps", lambda *arguments: pytest.fail("written twice"))
    asked(lab, language="zh", query=1, head="1.1")


def test_hostile_tokens_are_shown_as_text(tmp_path):
    from glassformer.data.tokenizers import CharTokenizer

    signs = CharTokenizer("<b>&\"'")
    save(tmp_path / "signs", recurrent(vocab_size=signs.vocab_size), signs, family="seq2seq")
    html = client(tmp_path).get(address("signs", text="<b>&\"'", query=1)).text
    assert [tag for tag, _ in elements(html)].count("b") == 0
    assert 'class="token"' in html
