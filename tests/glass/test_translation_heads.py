"""The look page of a Transformer that translates: every number on it is the trace's."""

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from glass.reading import LETTERS, Reader, text_of
from glass.test_translation import tell
from glassformer import UserError, look, trace
from glassformer.decoding.translate import translate
from glassformer.glass.check import check_pair
from glassformer.models import Transformer, TransformerConfig

DEPTH = {"encoder": 1, "decoder": 2, "cross": 2}


def make():
    torch.manual_seed(0)
    shape = {"context": 8, "n_layers": 1, "n_decoder_layers": 2, "n_heads": 2, "d_model": 8}
    model = Transformer(TransformerConfig(LETTERS.vocab_size, **shape))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model.eval()


def ids(text):
    return [int(i) for i in LETTERS.encode(text)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_three_attentions_with_their_own_queries_and_keys(language):
    model, source, target = make(), "abcdef", "fed"
    root = Reader(look(model, LETTERS, source, target=target, language=language)).root
    read = [LETTERS.start, *ids(target)]
    told = trace(model, ids(source), target=read)
    tables = root.findall(".//table[@class='weights']")
    assert len(tables) == 3
    pictures = [image.get("alt") for image in root.iter("img")]
    for table, (of, depth) in zip(tables, DEPTH.items(), strict=True):
        assert [alt for alt in pictures if alt.startswith(of)] == [
            f"{of} L{layer} H{head}" for layer in range(depth) for head in range(2)
        ]
        chosen = [
            figure.find("img").get("alt").split()
            for figure in root.iter("figure")
            if figure.get("class") == "chosen" and figure.find("img").get("alt").startswith(of)
        ]
        [(_, layer, head)] = chosen
        weights = told.weights(int(layer[1:]), int(head[1:]), of)
        shown = [[text_of(cell) for cell in row.iter("td")] for row in table.find("tbody").iter("tr")]
        assert (len(shown), len(shown[0])) == weights.shape
        for row, expected in zip(shown, weights.tolist(), strict=True):
            for text, weight in zip(row, expected, strict=True):
                number = float(text.replace("·", "0") or 0)
                assert number == pytest.approx(weight, abs=0.00501)
        rows = [text_of(row.find("th")) for row in table.find("tbody").iter("tr")]
        names = {"encoder": ids(source), "decoder": read, "cross": [*ids(target), LETTERS.end]}[of]
        assert rows == [f"{i} {name}" for i, name in enumerate(LETTERS.labels(names))]
        hidden = [cell.get("class") for cell in table.iter("td") if not text_of(cell)]
        n = len(read)
        assert hidden == ["masked"] * (n * (n - 1) // 2 if of == "decoder" else 0)
    assert tell("note_cross") in text_of(root)
    assert "--head" not in text_of(root)  # which cannot be chosen here


def test_its_own_translation_is_shown():
    model = make()
    root = Reader(look(model, LETTERS, "abc")).root
    assert [text_of(quoted) for quoted in root.iter("blockquote")][1] == translate(model, LETTERS, "abc")


def test_a_damaged_model_is_refused():
    model = make()
    assert set(check_pair(model, ids("abc"), [LETTERS.start])) >= {"logits", "decoder.blocks.1.cross.weights"}
    with torch.no_grad():
        model.encoder.blocks[0].attention.key.weight[0] = torch.nan
    with pytest.raises(UserError, match="no numbers"):
        check_pair(model, ids("abc"), [LETTERS.start])


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_serious_for_axe(chromium, tmp_path, scheme, language):
    """The page of three attentions, wide and narrow, of a text with marks and special tokens."""
    path, heard = tmp_path / "look.html", []
    path.write_text(look(make(), LETTERS, "abcdefgh" * 3, target="hgfedcba", language=language), "utf-8")
    for width in (1200, 360):
        view = {"width": width, "height": 900}
        with chromium.new_context(color_scheme=scheme, viewport=view, offline=True) as context:
            opened = context.new_page()
            opened.on("console", lambda said: heard.append(said.text))
            opened.on("pageerror", lambda error: heard.append(str(error)))
            opened.goto(path.as_uri())
            found = Axe().run(opened).response["violations"]
            assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
            assert opened.evaluate("document.documentElement.scrollWidth") <= width
            pictures = opened.locator("img").evaluate_all("all => all.map(i => i.complete && i.naturalWidth)")
            assert len(pictures) == 2 * sum(DEPTH.values())
            assert all(pictures)
            hatched = opened.locator("td.masked").first
            assert "gradient" in hatched.evaluate("td => getComputedStyle(td).backgroundImage")
    assert heard == []
