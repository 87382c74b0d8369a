"""Measured effects as text, CSV and npz, and a trace as it shows itself in a notebook."""

import csv

import numpy as np
import pytest
import torch

from glassformer import UserError, effect, trace
from glassformer.data.tokenizers import ByteTokenizer, CharTokenizer
from glassformer.glass import edits
from glassformer.glass.report import Names, summary, target_id, write_csv, write_npz
from glassformer.models import GPT, GPTConfig
from glassformer.nn.blocks import initialise

TEXT = "猫追老鼠,猫"
CHARACTERS = CharTokenizer(TEXT)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    made = GPT(GPTConfig(CHARACTERS.vocab_size, 16, 2, 2, d_model=16))
    initialise(made, 1, std=0.3)
    return made.eval()


def test_a_target_is_exactly_one_token():
    assert target_id(CHARACTERS, "猫") == int(CHARACTERS.encode("猫")[0])
    with pytest.raises(UserError, match=r"^the target '猫追' is 2 tokens \(猫 追\); it must be one$"):
        target_id(CHARACTERS, "猫追")
    with pytest.raises(UserError, match=r"is 3 tokens \(字 1/3 字 2/3 字 3/3\)"):
        target_id(ByteTokenizer(), "字")
    with pytest.raises(UserError, match=r"^the target is empty"):
        target_id(CHARACTERS, "")


def test_the_summary_tells_the_target_the_tables_and_the_agreement(model):
    ids = CHARACTERS.encode(TEXT)
    effects = effect(model, ids, target=target_id(CHARACTERS, "鼠"), baseline="mean")
    labels = CHARACTERS.labels([int(i) for i in ids])
    text = summary(effects, CHARACTERS, Names(labels, labels, labels), rows=3)
    assert text.startswith(f"target 鼠 after token 5 (猫): log-probability {effects.log_probability:.4f}")
    assert "\nzeroed: the mean of the values" in text
    assert f"over {len(effects)} edges: cut {effects.agreement('cut'):+.3f}" in text
    rows = [line for line in text.splitlines() if "→" in line]
    assert len(rows) == 6
    strongest = effects.strongest(1)[0]
    key = int(effects.key[strongest])
    assert rows[0].endswith(f"5 猫 → {key} {labels[key]}")
    assert f"{effects.cut[strongest]:+.4f}" in rows[0]


def test_a_csv_holds_every_edge_exactly(model, tmp_path):
    ids = CHARACTERS.encode(TEXT)
    effects = effect(model, ids, queries=[2, 5])
    labels = CHARACTERS.labels([int(i) for i in ids])
    write_csv(effects, Names(labels, labels, labels), tmp_path / "edges.csv")
    with (tmp_path / "edges.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(effects) == 2 * 2 * (3 + 6)
    for name in ("layer", "head", "query", "key", "weight", "moved", "cut", "zeroed"):
        assert [float(row[name]) for row in rows] == getattr(effects, name).tolist()
    assert {row["key_token"] for row in rows} == set(TEXT)


def test_an_npz_holds_the_weights_of_the_trace(model, tmp_path):
    write_npz(model, CHARACTERS, TEXT, tmp_path / "w.npz")
    saved = np.load(tmp_path / "w.npz")
    traced = trace(model, CHARACTERS.encode(TEXT), "blocks.*.attention.weights")
    assert saved["weights"].shape == (2, 2, 6, 6)
    assert (saved["weights"][1, 0] == traced.weights(1, 0).numpy()).all()
    assert "".join(saved["labels"]) == TEXT


def test_a_trace_measures_its_own_text(model):
    ids = CHARACTERS.encode(TEXT)
    ours, theirs = trace(model, ids, "logits").effect(queries=[3]), effect(model, ids, queries=[3])
    assert (ours.cut == theirs.cut).all()
    edited = trace(model, ids, "logits", edits=[edits.silence(0, 0)])
    with pytest.raises(ValueError, match="this trace has edits"):
        edited.effect()


def test_traces_on_one_page_share_nothing(model):
    ids = CHARACTERS.encode(TEXT)
    html = trace(model, ids, "blocks.*", edits=[edits.cut(0, 1, edges=[(3, 1)])])._repr_html_()
    assert html.count("<img") == 4
    assert "cut 3→1 in layer 0, head 1" in html
    assert "blocks.1.ffn.inner" in html
    for shared in (" id=", "<script", "<style", " class="):
        assert shared not in html
    assert trace(model, ids, "logits")._repr_html_().count("<img") == 0
