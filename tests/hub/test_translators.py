"""T5 and Marian against `transformers`, on random weights: logits, what is written, and the way back."""

import json
import sys
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from conftest import Silent
from glassformer.__main__ import main
from glassformer.config import to_dict
from glassformer.data.tokenizers import ByteTokenizer
from glassformer.decoding.translate import search, translate
from glassformer.errors import UserError
from glassformer.glass.trace import Recorder
from glassformer.hub.export import export, import_folder
from glassformer.hub.folder import load, open_folder
from glassformer.models import T5, Transformer, TransformerConfig
from glassformer.store.run import Run
from glassformer.training import pairs
from glassformer.training.loop import fit
from published import CLOSE, CORPUS, SCRIPTS, configure, scatter

V = 120
LENGTHS = [9, 3, 6]


def t5(**changes):
    shape = {"vocab_size": V, "d_model": 32, "d_kv": 6, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    ends = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    return scatter(transformers.T5ForConditionalGeneration(transformers.T5Config(**shape | ends | changes)))


def marian(**changes):
    sizes = {"attention_heads": 4, "ffn_dim": 48, "layers": 2}
    shape = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()}
    shape |= {"vocab_size": V, "d_model": 32, "max_position_embeddings": 64, "scale_embedding": True}
    ends = {"decoder_start_token_id": V - 1, "pad_token_id": V - 1, "eos_token_id": 1}
    config = transformers.MarianConfig(**shape | ends | {"forced_eos_token_id": 1} | changes)
    model = scatter(transformers.MarianMTModel(config))
    model.final_logits_bias.copy_(torch.randn(1, V, generator=torch.Generator().manual_seed(3)))
    for stack in (model.model.encoder, model.model.decoder):  # computed, not learned
        stack.embed_positions.weight.data.copy_(stack.embed_positions.create_weight())
    return model


KINDS = {
    "t5": lambda: t5(),
    "t5-1.1": lambda: t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "t5-deep": lambda: t5(
        num_decoder_layers=3,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=10,
        feed_forward_proj="gated-silu",
        layer_norm_epsilon=1e-3,
    ),
    "marian": lambda: marian(activation_function="swish"),
    "marian-deep": lambda: marian(encoder_layers=1, decoder_layers=3, activation_function="relu"),
    "marian-plain": lambda: marian(scale_embedding=False, activation_function="gelu", d_model=36),
}
EACH = pytest.mark.parametrize("kind", KINDS)


def unigram():
    """As T5 has it: pieces of a unigram model after ▁, and </s> after the text."""
    library = Tokenizer(models.Unigram())
    library.normalizer = normalizers.NFKC()
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=V - 1,
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
        initial_alphabet=[],
    )
    library.train_from_iterator([text for text in CORPUS if text.isascii()], trainer)
    library.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", library.token_to_id("</s>"))]
    )
    return library


@pytest.fixture(params=KINDS)
def both(request, tmp_path):
    """A folder, and the model of transformers in it."""
    theirs = KINDS[request.param]()
    theirs.save_pretrained(tmp_path / "theirs")
    return tmp_path / "theirs", theirs


def sources(lengths=LENGTHS, seed=1):
    ids = torch.randint(2, V - 1, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(seed))
    return ids, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def test_logits_are_theirs_with_padding_and_unequal_lengths(both):
    folder, theirs = both
    model = open_folder(folder).translator()
    source, valid = sources()
    target = torch.randint(2, V - 1, (3, 7), generator=torch.Generator().manual_seed(2))
    logits = model(source, valid, target)
    wanted = theirs(source, attention_mask=valid.long(), decoder_input_ids=target).logits
    assert wanted.abs().max() > 0.3
    torch.testing.assert_close(logits, wanted, **CLOSE)
    long = torch.randint(2, V - 1, (1, 60), generator=torch.Generator().manual_seed(4))
    torch.testing.assert_close(
        model(long, None, long[:, :50]), theirs(long, decoder_input_ids=long[:, :50]).logits, **CLOSE
    )
    model.requires_grad_(False)
    state, pieces = model.encode(source, valid), []
    for part in target.split([3, 1, 1, 2], 1):
        logits, state = model.decode(part, state)
        pieces.append(logits)
    torch.testing.assert_close(torch.cat(pieces, 1), wanted, **CLOSE)


def test_greedy_writes_what_generate_writes(both):
    folder, theirs = both
    model = open_folder(folder).translator()
    c = theirs.config
    source, valid = sources([9, 3, 6, 8, 2, 5], seed=5)
    start, end, n = c.decoder_start_token_id, c.eos_token_id, 14
    theirs.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=start,
        pad_token_id=c.pad_token_id,
        eos_token_id=end,
        forced_eos_token_id=end,
        suppress_tokens=[start],
        max_new_tokens=n,
        num_beams=1,
        do_sample=False,
        use_cache=False,  # theirs has room for as many layers as the encoder has, no more
    )
    written = theirs.generate(source, attention_mask=valid.long())[:, 1:]
    rows = [ids[real].tolist() for ids, real in zip(source, valid, strict=True)]
    lengths = set()
    for [best], wanted in zip(search(model, rows, start, end, limit=n), written.tolist(), strict=True):
        until = wanted.index(end) if end in wanted else len(wanted)
        assert best.ids == wanted[:until]
        lengths.add(until)
    assert max(lengths) > 3


def test_weights_of_attention_are_theirs(both):
    folder, theirs = both
    theirs.set_attn_implementation("eager")
    model = open_folder(folder).translator()
    source, valid = sources()
    target = source[:, :4]
    tap = Recorder(("*.weights",))
    model(source, valid, target, tap=tap)
    told = theirs(source, attention_mask=valid.long(), decoder_input_ids=target, output_attentions=True)
    real = valid[:, None, :, None]
    for i, weights in enumerate(told.encoder_attentions):
        ours = tap.tensors[f"encoder.blocks.{i}.attention.weights"]
        torch.testing.assert_close(ours * real, weights * real, **CLOSE)
    for i, (own, cross) in enumerate(zip(told.decoder_attentions, told.cross_attentions, strict=True)):
        torch.testing.assert_close(tap.tensors[f"decoder.blocks.{i}.attention.weights"], own, **CLOSE)
        torch.testing.assert_close(tap.tensors[f"decoder.blocks.{i}.cross.weights"], cross, **CLOSE)


def test_t5_does_not_scale_its_scores_and_shares_its_distances():
    """q = 1, k = [1, 0] over four places: e⁴ against 1; scaled it would be e² against 1."""
    model = T5(open_shape(t5()))
    attention = model.encoder.blocks[0].attention
    assert attention.scale == 1
    assert model.decoder.blocks[1].cross.scale == 1
    tables = [name for name, _ in model.named_parameters() if "positions" in name]
    assert tables == ["encoder.positions.table.weight", "decoder.positions.table.weight"]
    assert model.head_scale == 32**-0.5
    assert T5(open_shape(KINDS["t5-1.1"]())).head_scale == 1


def open_shape(theirs, folder="shape"):
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as made:
        theirs.save_pretrained(Path(made) / folder)
        return open_folder(Path(made) / folder).shape


def test_a_head_of_its_own_is_not_the_embedding(tmp_path):
    """Version 1.1 as it was published, with lm_head.weight beside shared.weight."""
    theirs = KINDS["t5-1.1"]()
    theirs.save_pretrained(tmp_path / "t5")
    path = tmp_path / "t5" / "model.safetensors"
    weights = load_file(path)
    head = torch.randn(V, 32, generator=torch.Generator().manual_seed(9)) * 0.1
    save_file(
        weights | {"lm_head.weight": head, "encoder.embed_tokens.weight": weights["shared.weight"].clone()},
        path,
    )
    model = open_folder(tmp_path / "t5").translator()
    assert torch.equal(model.head.weight, head)
    source, valid = sources()
    theirs.lm_head.weight = torch.nn.Parameter(head)
    wanted = theirs(source, attention_mask=valid.long(), decoder_input_ids=source).logits
    torch.testing.assert_close(model(source, valid, source), wanted, **CLOSE)
    save_file(weights | {"encoder.embed_tokens.weight": head}, path)
    with pytest.raises(UserError, match=r"encoder\.embed_tokens\.weight differs from the embedding"):
        open_folder(tmp_path / "t5").translator()


@pytest.fixture
def translator(tmp_path):
    """A T5 with a tokenizer of its own."""
    t5().save_pretrained(tmp_path / "t5")
    library = unigram()
    assert library.get_vocab_size() <= V
    library.save(str(tmp_path / "t5" / "tokenizer.json"))
    roles = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    (tmp_path / "t5" / "tokenizer_config.json").write_text(json.dumps(roles), encoding="utf-8")
    return tmp_path / "t5"


def test_texts_are_read_and_written_as_transformers_does(translator):
    model, tokenizer = load(translator, device="cpu")
    theirs = transformers.T5ForConditionalGeneration.from_pretrained(translator).eval()
    fast = transformers.PreTrainedTokenizerFast.from_pretrained(translator)
    texts = [text for text in SCRIPTS if text.strip() and text.isascii()]
    assert [tokenizer.encode_wrapped(text).tolist() for text in texts] == fast(texts).input_ids
    assert (tokenizer.start, tokenizer.end) == (0, 1)
    model.config.__dict__["context"] = 12  # so that it ends soon
    asked = fast(texts, return_tensors="pt", padding=True)
    written = theirs.generate(
        **{name: asked[name] for name in ("input_ids", "attention_mask")},
        max_new_tokens=11,
        do_sample=False,
        suppress_tokens=[0],
    )
    for text, ids in zip(translate(model, tokenizer, texts), written, strict=True):
        wanted = fast.decode(ids, skip_special_tokens=True)
        assert text.startswith(wanted) or wanted.startswith(text)


def test_there_and_back(translator, tmp_path):
    import_folder(translator, tmp_path / "run")
    export(Run(tmp_path / "run").checkpoint(), tmp_path / "out")
    before, after = (load_file(folder / "model.safetensors") for folder in (translator, tmp_path / "out"))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    told = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert told == {"eos_token_id": 1, "decoder_start_token_id": 0, "pad_token_id": 0}
    again, tokenizer = load(tmp_path / "out", device="cpu")
    model, _ = load(translator, device="cpu")
    assert translate(again, tokenizer, ["The quick"]) == translate(model, tokenizer, ["The quick"])


def test_a_published_t5_is_tuned_on_pairs(translator, tmp_path):
    (tmp_path / "pairs.tsv").write_text("The quick\ta fox\nThe lazy\ta dog\n" * 20, encoding="utf-8")
    base, settings = open_folder(translator), ["batch_size=100", "steps=3", "valid_fraction=0", "warmup=1"]
    with pairs.begun(
        [str(tmp_path / "pairs.tsv")], tmp_path / "run", base=base, assignments=settings
    ) as tuned:
        [batch] = tuned.task.training_batches(0)
        real = batch.valid.sum(1)
        assert (batch.source.gather(1, real[:, None] - 1) == 1).all()  # </s>, as T5 reads it
        assert (batch.inputs[:, 0] == 0).all()
        losses = Silent()
        fit(tuned, losses)
    assert losses.losses[-1] < losses.losses[0]
    assert Run(tmp_path / "run").checkpoint().family == "t5"


@EACH
def test_transformers_opens_what_is_written(kind, tmp_path):
    theirs = KINDS[kind]()
    theirs.save_pretrained(tmp_path / "theirs")
    library = unigram()
    library.add_special_tokens([f"<{i}>" for i in range(library.get_vocab_size(), V)])
    library.save(str(tmp_path / "theirs" / "tokenizer.json"))
    ends = {"eos_token": "</s>", "pad_token": "<pad>"}
    (tmp_path / "theirs" / "tokenizer_config.json").write_text(json.dumps(ends), encoding="utf-8")
    export(open_folder(tmp_path / "theirs"), tmp_path / "ours")
    again = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours").eval()
    assert type(again) is type(theirs)
    source, valid = sources()
    given = {"attention_mask": valid.long(), "decoder_input_ids": source}
    torch.testing.assert_close(again(source, **given).logits, theirs(source, **given).logits, **CLOSE)
    assert again.config.decoder_start_token_id == theirs.config.decoder_start_token_id


MARIAN_SHAPED = {
    "norm": "layernorm",
    "norm_order": "post",
    "positions": "sinusoidal_halves",
    "bias": True,
    "activation": "relu",
}


def run_of(folder, **changes):
    torch.manual_seed(0)
    shape = TransformerConfig(
        257, context=32, n_heads=2, d_model=16, **MARIAN_SHAPED | {"n_layers": 1} | changes
    )
    settings = {"family": "transformer", "model": to_dict(shape)}
    Run(folder).save(1, Transformer(shape), ByteTokenizer(), settings, {}, best=True)
    return Run(folder).checkpoint()


@pytest.mark.parametrize(
    "changes", [{}, {"head_bias": True, "n_decoder_layers": 2}, {"scale_embeddings": False}]
)
def test_a_machine_of_2017_trained_here_is_a_marian(tmp_path, changes):
    opened = run_of(tmp_path / "run", **changes)
    export(opened, tmp_path / "out")
    theirs = transformers.MarianMTModel.from_pretrained(tmp_path / "out").eval()
    source, valid = sources()
    wanted = theirs(source, attention_mask=valid.long(), decoder_input_ids=source).logits
    torch.testing.assert_close(wanted, opened.translator()(source, valid, source), **CLOSE)
    model, tokenizer = load(tmp_path / "out", device="cpu")
    assert (tokenizer.start, tokenizer.end) == (256, 256)
    assert translate(model, tokenizer, ["abc"]) == translate(opened.translator(), opened.tokenizer(), ["abc"])


def test_another_machine_is_not_and_is_told_why(tmp_path):
    opened = run_of(tmp_path / "run", positions="rotary", norm="rmsnorm")
    with pytest.raises(UserError, match=r"norm=rmsnorm \(needs layernorm\), positions=rotary \(needs sinu"):
        export(opened, tmp_path / "out")
    assert not (tmp_path / "out").exists()


REFUSED = [
    (t5, {"feed_forward_proj": "gated-relu"}, 'feed_forward_proj = "gated-relu" .*supported: relu, gelu'),
    (t5, {"layer_norm_epsilon": None}, "lacks layer_norm_epsilon"),
    (t5, {"is_encoder_decoder": False}, "is_encoder_decoder = false .*only true"),
    (t5, {"relative_attention_num_buckets": 6}, "n_buckets must be a multiple of 4, not 6"),
    (t5, {"d_kv": 5}, r"SelfAttention\.q\.weight has shape \(24, 32\), config\.json asks for \(20, 32\)"),
    (marian, {"tie_word_embeddings": False}, "tie_word_embeddings = false .*only true"),
    (marian, {"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings = false"),
    (marian, {"decoder_attention_heads": 2}, "decoder_attention_heads = 2 .*only 4"),
    (marian, {"decoder_vocab_size": 60}, "decoder_vocab_size = 60 .*only 120"),
    (marian, {"normalize_before": True}, "normalize_before = true .*only false"),
    (marian, {"activation_function": "tanh"}, 'activation_function = "tanh"'),
]


@pytest.mark.parametrize(("make", "changes", "message"), REFUSED, ids=[message for *_, message in REFUSED])
def test_settings_that_are_not_supported_are_named(make, changes, message, tmp_path):
    make().save_pretrained(tmp_path / "theirs")
    with pytest.raises(UserError, match=message) as error:
        open_folder(configure(tmp_path / "theirs", **changes)).translator()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("source.spm", r"from source\.spm and target\.spm none can be made"),
        ("spiece.model", r"AutoTokenizer\.from_pretrained\(folder\)\.save_pretrained\(folder\)"),
        ("other", "save its tokenizer as a fast one"),
    ],
)
def test_without_a_tokenizer_it_is_said_what_to_do(translator, file, message, monkeypatch, capsys):
    (translator / "tokenizer.json").unlink()
    (translator / file).write_bytes(b"")
    monkeypatch.setattr(sys, "argv", ["glassformer", "translate", str(translator), "a text"])
    with pytest.raises(SystemExit):
        main()
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    with pytest.raises(UserError, match=rf"t5 holds no tokenizer\.json; .*{message}"):
        open_folder(translator).tokenizer()
    assert open_folder(translator).translator()


def test_verbs_take_the_folder_as_it_is(translator, monkeypatch, capsys):
    for words, said in (
        (["translate", translator, "The quick", "--beam", "2", "--n-best", "2"], "1\t"),
        (["info", translator], "family t5, tokenizer library"),
    ):
        monkeypatch.setattr(sys, "argv", ["glassformer", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        assert said in out
