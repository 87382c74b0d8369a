"""Filling masks: what the model says, as text; and the verb."""

import json

import pytest
import torch

from conftest import Silent
from glassformer.data.library import LibraryTokenizer
from glassformer.data.tokenizers import ENCODING, BPETokenizer, ByteTokenizer, CharTokenizer
from glassformer.encoding.fill import fill, fill_together
from glassformer.hub.folder import open_folder
from glassformer.models import Bert, BertConfig
from glassformer.training import masked
from glassformer.training.loop import fit
from published import WORDPIECE_ROLES, bert, save, wordpiece


def made(tokenizer, **changes):
    torch.manual_seed(1)
    shape = {"context": 24, "n_layers": 1, "n_heads": 2, "d_model": 16, "mlm": True, **changes}
    return Bert(BertConfig(tokenizer.vocab_size, **shape)).eval()


def saying(model, token):
    """The model, always sure of one token."""
    with torch.no_grad():
        model.head.output.bias.zero_()[token] = 50
    return model


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fill")
    (folder / "text.txt").write_text("猫追老鼠。" * 160, encoding="utf-8")
    shape = ["context=16", "d_model=32", "n_layers=2", "n_heads=2", "batch_size=64", "short_share=0.2"]
    said = [*shape, "steps=200", "eval_every=200", "lr=1e-2", "warmup=10"]
    with masked.begun([str(folder / "text.txt")], folder / "run", assignments=said) as training:
        fit(training, Silent())
    return folder / "run"


def test_probabilities_are_those_of_the_model():
    tokenizer = CharTokenizer("abcdef", ENCODING)
    model = made(tokenizer)
    [ends, starts] = fill(model, tokenizer, "ab[MASK]d[MASK]", n=100)
    row = torch.tensor([[7, 0, 1, 8, 3, 8, 6]])
    expected = model.token_logits(model(row))[0].softmax(-1)
    for best, at in ((ends, 3), (starts, 5)):
        assert len(best) == 6  # no special token
        assert [c.probability for c in best] == sorted((c.probability for c in best), reverse=True)
        for c in best:
            assert c.probability == pytest.approx(
                float(expected[at, "abcdef".index(c.token)].detach()), rel=1e-4
            )
    assert ends[0].text == f"ab{ends[0].token}d[MASK]"
    assert starts[0].text == f"ab[MASK]d{starts[0].token}"


def test_a_word_has_its_space_with_it():
    tokenizer = BPETokenizer.train(iter(["the cat sat on the mat"] * 9), 272, ENCODING)
    [cat] = tokenizer.encode(" cat").tolist()
    [the] = tokenizer.encode("the").tolist()
    for text, token, whole in [
        ("the [MASK] sat", cat, "the cat sat"),
        ("the[MASK] sat", cat, "the cat sat"),
        ("[MASK] sat", cat, "cat sat"),
        ("[MASK] cat", the, "the cat"),
    ]:
        [[best]] = fill(saying(made(tokenizer), token), tokenizer, text, n=1)
        assert best.text == whole
    assert tokenizer.labels([cat]) == [best.token] or best.token == "the"


def test_a_byte_that_is_no_character_is_told_as_one():
    tokenizer = ByteTokenizer(ENCODING)
    model = saying(made(tokenizer), "猫".encode()[1])
    [[best]] = fill(model, tokenizer, "a[MASK]", n=1)
    assert (best.token, best.text) == ("0x8C", None)
    assert fill(saying(made(tokenizer), ord(" ")), tokenizer, "a [MASK]", n=1)[0][0].text == "a  "


def test_word_pieces():
    roles = {"cls": [2], "sep": [3], "pad": [0], "unk": [1], "mask": [4]}
    tokenizer = LibraryTokenizer(wordpiece().to_str(), roles, opens=False)
    word = next(t for t in range(5, tokenizer.vocab_size) if tokenizer.token_bytes(t) == b" the")
    [[best]] = fill(saying(made(tokenizer), word), tokenizer, "see [MASK] cat", n=1)
    assert best.text == "see the cat"


def test_together_each_sees_those_before_it():
    tokenizer = CharTokenizer("abcdef", ENCODING)
    model = made(tokenizer)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.dim() > 1 else 1)
    text = "a[MASK]c[MASK]e[MASK]"
    filled = fill_together(model, tokenizer, text)
    alone = fill(model, tokenizer, text, n=1)
    first = max(range(3), key=lambda i: alone[i][0].probability)
    assert filled.probabilities[first] == pytest.approx(alone[first][0].probability)
    assert filled.text == "a{}c{}e{}".format(*filled.tokens)
    parts = text.split("[MASK]")
    for last in range(3):  # the one that was filled last was told from the two others
        others = [token if i != last else "[MASK]" for i, token in enumerate(filled.tokens)]
        [[again]] = fill(model, tokenizer, "".join(map("".join, zip(parts, others, strict=False))), n=1)
        if again.probability == pytest.approx(filled.probabilities[last], rel=1e-4):
            break
    else:
        pytest.fail("none was filled last")


def test_what_was_learned(run, glassformer):
    code, out, _ = glassformer("fill", run, "猫追[MASK]鼠")
    assert code == 0
    assert out.splitlines()[0].split()[1:] == ["老", "猫追老鼠"]
    assert len(out.splitlines()) == 5
    code, out, err = glassformer("fill", run, "[MASK]追[MASK]鼠。", "-n", 1)
    assert [line.split()[-1] for line in out.splitlines()] == ["1", "猫", "2", "老"]
    assert "each mask is told for itself" in err
    code, out, err = glassformer("fill", run, "[MASK]追[MASK]鼠。", "--together")
    assert out == "猫追老鼠。\n"
    assert [line.split()[1] for line in err.splitlines()] == ["猫", "老"]
    code, out, _ = glassformer("fill", run, "猫追[MASK]鼠", "--json", "-n", 2)
    [told] = json.loads(out)
    assert told["mask"] == 1
    assert told["completions"][0]["token"] == "老"
    code, out, _ = glassformer("fill", run, "猫追[MASK]鼠", "--json", "--together")
    assert json.loads(out)["text"] == "猫追老鼠"


def test_a_published_folder_fills_as_transformers_does(tmp_path):
    theirs = bert("ForMaskedLM", vocab_size=320)
    folder = save(theirs, tmp_path / "bert", wordpiece())
    (folder / "tokenizer_config.json").write_text(json.dumps(WORDPIECE_ROLES), encoding="utf-8")
    opened = open_folder(folder)
    model, tokenizer = opened.encoder(), opened.tokenizer()
    [best] = fill(model, tokenizer, "the [MASK] jumps over", n=5)
    ids = [2, *tokenizer.encode("the"), 4, *tokenizer.encode("jumps over"), 3]
    expected = theirs(torch.tensor([ids])).logits[0, ids.index(4), : tokenizer.vocab_size]
    p = expected.softmax(-1)
    ranked = [i for i in expected.argsort(descending=True).tolist() if i not in tokenizer.special][:5]
    assert [c.token for c in best] == [tokenizer.labels([i])[0] for i in ranked]
    whole = theirs(torch.tensor([ids])).logits[0, ids.index(4)].softmax(-1)
    assert [c.probability for c in best] == pytest.approx([float(whole[i]) for i in ranked], abs=1e-5)
    assert p.shape == (tokenizer.vocab_size,)


def test_mistakes_are_one_line(run, run_folder, tmp_path, glassformer):
    save(bert(), tmp_path / "headless", wordpiece())
    (tmp_path / "headless" / "tokenizer_config.json").write_text(
        json.dumps(WORDPIECE_ROLES), encoding="utf-8"
    )
    for words, said in (
        ((run, "猫追老鼠"), "the text hides nothing; write [MASK]"),
        ((run, "cat [MASK]"), "lacks ' ', 'a', 'c', 't'"),
        ((run, "[MASK]" * 15), "the text has 17 tokens, special ones included; this encoder sees at most 16"),
        ((run_folder, "[MASK]"), "is no encoder; train --model bert makes one"),
        ((tmp_path / "headless", "[MASK]"), "no head that tells hidden tokens"),
        ((tmp_path / "none", "[MASK]"), "no such run folder"),
    ):
        code, out, err = glassformer("fill", *words)
        assert (code, out) == (2, ""), words
        assert said in err
        assert err.count("\n") == 1
