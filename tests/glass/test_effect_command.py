"""The verb effect, of a Transformer that translates: its rows are those of `effect_pairs`."""

import csv

import pytest
import torch

from glass.reading import LETTERS
from glass.test_translation import make as recurrent
from glass.test_translation_heads import make
from glassformer.decoding.translate import search
from glassformer.glass import effect_pairs
from glassformer.models import Transformer, TransformerConfig
from lab.serving import save

SOURCE, TARGET = "abcdef", "fed"
IDS = LETTERS.encode(SOURCE).tolist()
READ, FOLLOWED = [LETTERS.start, *LETTERS.encode("fe").tolist()], int(LETTERS.encode("d")[0])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("effects")
    save(folder / "transformer", make(), LETTERS, family="transformer")
    save(folder / "pairs", recurrent(), LETTERS, family="seq2seq")
    torch.manual_seed(0)
    shape = {"context": 8, "n_layers": 1, "n_heads": 2, "d_model": 8, "positions": "learned"}
    learned = Transformer(TransformerConfig(LETTERS.vocab_size, **shape))
    save(folder / "learned", learned, LETTERS, family="transformer")
    save(folder / "gpt")
    return folder


@pytest.mark.parametrize("of", ["encoder", "decoder", "cross"])
def test_every_edge_is_that_of_effect_pairs(runs, glassformer, tmp_path, of):
    words = ("--target", TARGET, "--of", of, "--csv", "e.csv", "--rows", 3)
    code, out, err = glassformer("effect", runs / "transformer", SOURCE, *words)
    assert code == 0, err
    measured = effect_pairs.effect(make(), IDS, READ, of=of, target=FOLLOWED)
    assert f"{len(measured):,} edges, each cut and zeroed" in err
    assert out.startswith(f"target d after token 2 (e): log-probability {measured.log_probability:.4f}")
    with (tmp_path / "e.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(measured)
    for name in ("layer", "head", "query", "key", "weight", "moved", "cut", "zeroed"):
        shown = [float(row[name]) for row in rows]
        assert shown == pytest.approx(getattr(measured, name).tolist(), abs=1e-6)
    asks = SOURCE if of == "encoder" else [*LETTERS.labels([LETTERS.start]), *"fe"]
    answers = asks if of == "decoder" else SOURCE
    assert all(row["query_token"] == asks[int(row["query"])] for row in rows)
    assert all(row["key_token"] == answers[int(row["key"])] for row in rows)
    assert len([line for line in out.splitlines() if "→" in line]) == 6


def test_what_is_not_said_is_its_own_translation_read_by_its_last_token(runs, glassformer):
    code, out, err = glassformer("effect", runs / "transformer", SOURCE)
    assert code == 0, err
    written = search(make(), [IDS], LETTERS.start, LETTERS.end)[0][0].ids
    *before, last = LETTERS.labels([LETTERS.start, *written])
    assert out.startswith(f"target {last} after token {len(written) - 1} ({before[-1]})")
    assert "24 edges" in err  # 2 layers, 2 heads, 6 tokens of the source
    some = ("--layer", 1, "--head", 0, "--query", "all", "--target", TARGET)
    assert "18 edges" in glassformer("effect", runs / "transformer", SOURCE, *some)[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pairs", SOURCE), "recurrent encoder-decoder: it has no heads, and so no edges to measure"),
        (("gpt", "abc", "--of", "cross"), "--of chooses an attention of a translator"),
        (("transformer", SOURCE, "--of", "self"), "'self' is not one of 'encoder', 'decoder', 'cross'"),
        (("transformer", SOURCE, "--of", "encoder", "--layer", "1"), "layer 1 is not there"),
        (("transformer", SOURCE, "--target", TARGET, "--query", "3"), "query 3 is not there"),
        (("transformer", " "), "the text is empty"),
        (("transformer", SOURCE, "--target", ""), "the target is empty"),
        (("transformer", SOURCE, "--target", "xyz"), "lacks 'x', 'y', 'z'"),
        (("transformer", "xyz"), "lacks 'x', 'y', 'z'"),
        (("learned", "a" * 9), "the text has 9 tokens; this model reads 8 at most"),
        (("learned", "a", "--target", "b" * 9), "the target has 9 tokens; this model reads 8 at most"),
    ],
)
def test_a_mistake_is_one_line(runs, glassformer, words, said):
    code, out, err = glassformer("effect", runs / words[0], *words[1:])
    assert (code, out) == (2, "")
    assert said in err
    assert len([line for line in err.splitlines() if line.startswith(("glassformer:", "Error:"))]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [(("a" * 9,), "the text has 9 tokens"), (("a", "--target", "b" * 9), "the target has 10 tokens")],
)
def test_look_refuses_what_is_too_long_in_one_line(runs, glassformer, words, said):
    code, _, err = glassformer("look", runs / "learned", *words)
    assert (code, err.count("\n")) == (2, 1)
    assert f"{said}; this model reads 8 at most" in err
