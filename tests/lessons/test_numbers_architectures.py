"""Three machines, the leak, cross-attention: what the sheets compute is what `nn` and our models compute, in
float64."""

from importlib import import_module

import numpy as np
import pytest
import torch

from glassformer.glass import Recorder
from glassformer.lessons.trained import learned
from glassformer.models import GPT, GPTConfig
from glassformer.models.encoder_decoder import TranslationState
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.nn import masks
from glassformer.nn.attention import attend
from glassformer.nn.state import KVState

leak, three_machines, cross_attention = (
    import_module(f"glassformer.lessons.{name}") for name in ("leak", "three_machines", "cross_attention")
)
LESSONS = pytest.mark.parametrize(
    "lesson",
    [leak.LESSON, three_machines.LESSON, cross_attention.LESSON],
    ids=lambda lesson: lesson.slug,
)
CLOSE = 1e-12


def near(sheet, torch_value):
    theirs = torch.as_tensor(torch_value).detach().numpy().reshape(sheet.shape)
    return np.all(np.abs(sheet - theirs) <= CLOSE * np.maximum(1, np.abs(theirs)))


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def answers(lesson):
    found = {}
    for question in (*lesson.predict, *lesson.check):
        values = lesson.sheet.evaluate(dict(question.under))
        (name, i, j), *wrong = [question.answer, *(mistake.cell for mistake in question.mistakes)]
        found[question.key] = values[name][i, j]
        assert [value for _, value in question.options].count(values[name][i, j]) == bool(question.options)
        numbers = [found[question.key], *(values[name][i, j] for name, i, j in wrong)]
        for k, number in enumerate(numbers):
            assert all(abs(number - other) > 0.5 * 10**-question.decimals for other in numbers[:k]), (
                question.key
            )
    return found


@LESSONS
def test_each_mistake_is_told_from_the_answer_and_from_the_others(lesson):
    assert len(answers(lesson)) == 6


# Three machines


@pytest.mark.parametrize("given", ["ENCODER", "DECODER", "PAIR"])
def test_the_machines_are_attention_within_and_across(given):
    edits = getattr(three_machines, given)
    values = three_machines.SHEET.evaluate(edits)
    w = {name: double(values[f"W_{name}"]) for name in "QKV"}
    x, m = double(values["X"]), double(edits["M"]).bool()

    def read(queries, memory, mask):
        return attend(queries @ w["Q"], memory @ w["K"], memory @ w["V"], mask, backend="reference")

    if given == "PAIR":  # two texts, as an encoder and a decoder have them
        n = three_machines.SOURCE
        source = x[:n] + read(x[:n], x[:n], None)
        target = x[n:] + read(x[n:], x[n:], "causal")
        target = target + read(target, source, None)
        assert near(values["after_cross"], torch.cat((source, target)))
    else:
        mask = {"ENCODER": None, "DECODER": "causal"}[given]
        assert near(values["after_cross"], x + read(x, x, mask))
        assert not values["A_cross"].any()
        assert torch.equal(m, torch.ones_like(m).tril(0 if given == "DECODER" else len(x)))


def test_who_moves_is_who_sees_directly_or_through_others():
    for edits in (three_machines.ENCODER, three_machines.DECODER, three_machines.PAIR):
        reached = np.array(edits["M"]) @ np.array(edits["M"]) > 0
        for j in range(three_machines.N):
            values = three_machines.SHEET.evaluate({**edits, "j": [[j + 1]]})
            assert np.array_equal(values["moves"][:, 0] > 0, reached[:, j]), j


def test_what_the_three_machines_answer():
    found = answers(three_machines.LESSON)
    assert (found["target"], found["decoder"], found["source"]) == (4, 0, 0)
    assert (found["pairs"], found["cats"]) == (24, 4)
    values = three_machines.SHEET.evaluate(three_machines.PAIR)
    assert values["pair_pairs"] == values["pairs"]
    assert values["n_squared"] == three_machines.SHEET.evaluate()["pairs"]
    assert values["triangle"] == three_machines.SHEET.evaluate(three_machines.DECODER)["pairs"]


# The leak


def model_of(found):
    """The model that saw the future, from the numbers of the page."""
    shape = found["settings"]["shape"]
    model = GPT(GPTConfig(vocab_size=len(found["vocabulary"]), **shape)).double().eval()
    of, block = {name: double(value) for name, value in found["open"].items()}, model.blocks[0]
    for module, name in (
        (block.attention.query, "W_Q"),
        (block.attention.key, "W_K"),
        (block.attention.value, "W_V"),
        (block.attention.output, "W_O"),
        (block.ffn.up, "W_1"),
        (block.ffn.down, "W_2"),
        (model.head, "W_out"),
    ):
        module.weight.data = of[name].T.contiguous()
    norms = (block.attention_norm, block.ffn_norm, model.final_norm)
    for norm, name in zip(norms, ("g_1", "g_2", "g_3"), strict=True):
        norm.weight.data = of[name][0]
    model.positions.table.weight.data.zero_()
    return model


@pytest.mark.parametrize("words", ["X", "X_dog"])
@pytest.mark.parametrize("opened", [True, False])
def test_the_whole_model_is_ours(words, opened):
    recipe = import_module("glassformer.lessons.trained.leak")
    found = learned("leak")
    model, x = model_of(found), double(found["open"][words])
    model.embedding.weight.data[: len(x)] = x
    with torch.no_grad():
        tap = recipe.Open() if opened else None
        logits = model(torch.arange(len(x))[None], tap=tap)[0][0]
    mask = leak.OPEN if opened else leak.CAUSAL
    values = leak.SHEET.evaluate({"M": mask, "X": found["open"][words]})
    assert near(values["P"], logits.softmax(-1))


def test_what_the_sheet_makes_of_the_weights_is_what_the_model_said_in_training():
    chances = learned("leak")["chances"]
    for key, mask in (("open", leak.OPEN), ("open, closed", leak.CAUSAL)):
        p = leak.SHEET.evaluate({"M": mask})["p"][:, 0]
        assert p == pytest.approx(np.array(chances[key]), rel=1e-3, abs=1e-4)


def test_another_word_in_the_future_is_copied():
    values = leak.SHEET.evaluate({"X": learned("leak")["open"]["X_dog"]})
    before, dog = leak.BEFORE, leak.CHOICES.index("dog")
    assert values["p_animals"][before, dog] > 0.9 > 0.1 > values["p_animals"][before, 0]
    assert leak.SHEET.evaluate()["p_animals"][before, 0] > 0.9


def test_the_languages_entropy_is_that_of_its_sentences():
    recipe = import_module("glassformer.lessons.trained.leak")
    sentences = recipe.language()
    assert sum(sentences.values()) == pytest.approx(1)
    assert recipe.rounded(recipe.entropy(sentences)) == learned("leak")["entropy"]
    made = {tuple(english for english, _ in sentence) for sentence in recipe.vectors.sentences()[:2000]}
    assert made <= sentences.keys()
    # An open mask sees each word of a window but the one after its last.
    assert leak.SHEET.evaluate()["floor"] == learned("leak")["entropy"] / leak.CONTEXT


# Cross-attention


@pytest.fixture(scope="module")
def decoder():
    """The decoder of the page, from its numbers, in float64; inputs are given to it as they are."""
    found = learned("cross_attention")
    shape = dict(setting.split("=") for setting in found["settings"]["train"])
    config = TransformerConfig(
        vocab_size=len(found["vocabulary"]),
        **{name: int(shape[name]) for name in ("context", "n_layers", "n_heads", "d_model", "d_inner")},
        **{name: shape[name] for name in ("norm", "activation")},
        positions="none",
        tie_embeddings=False,
        scale_embeddings=False,
        dropout=0.0,
    )
    model = Transformer(config).double().eval()
    of, block = {name: double(value) for name, value in found["decoder"].items()}, model.decoder.blocks[0]
    for part, attention in (("self", block.attention), ("cross", block.cross)):
        for name in ("query", "key", "value", "output"):
            getattr(attention, name).weight.data = of[f"W_{name[0].upper()}_{part}"].T.contiguous()
    for module, name in ((block.ffn.up, "W_1"), (block.ffn.down, "W_2"), (model.head, "W_out")):
        module.weight.data = of[name].T.contiguous()
    norms = block.attention_norm, block.cross_norm, block.ffn_norm, model.decoder.final_norm
    for k, norm in enumerate(norms, 1):
        norm.weight.data = of[f"g_{k}"][0]
    x = double(found["sentence"]["inputs"])
    model.embedding.weight.data[: len(x)] = x
    return model, double(found["sentence"]["memory"])[None]


def state_of(model, memory, mask):
    cross, own = model.decoder.blocks[0].cross, model.decoder.blocks[0].attention
    cache = KVState.empty(1, 1, own.n_kv_heads, own.d_head, 16, dtype=torch.float64)
    return TranslationState(cache, (cross.keys_values(memory),), double(mask).bool())


@pytest.mark.parametrize("mask", ["ALL", "WITHOUT", "ONLY"])
def test_each_step_is_that_of_our_decoder_with_its_cache(decoder, mask):
    model, memory = decoder
    allowed = getattr(cross_attention, mask)
    with torch.inference_mode():
        state = state_of(model, memory, allowed)
        for t in range(1, cross_attention.N + 1):
            logits, state = model.decode(torch.tensor([[t - 1]]), state)
            values = cross_attention.SHEET.evaluate({"t": [[t]], "M": allowed})
            assert near(values["p_all"], logits[0].softmax(-1))
            layer = state.cache.layer(0)
            assert values["K_self"].shape == (t, cross_attention.D)
            assert near(values["K_self"], layer.k[0, 0, :t])
            assert near(values["V_self"], layer.v[0, 0, :t])
            assert near(values["K_cross"], state.memory[0].k)


def test_all_steps_at_once_are_the_steps_one_by_one(decoder):
    model, memory = decoder
    tap = Recorder(("blocks.0.*weights",))
    inputs = model.embedding(torch.arange(cross_attention.N))[None]
    places = masks.causal_places(cross_attention.N, cross_attention.N)
    with torch.inference_mode():
        model.decoder(inputs, places, [memory], tap=tap)
    whole = cross_attention.SHEET.evaluate()
    assert near(whole["A_all"], tap.tensors["blocks.0.attention.weights"])
    assert near(whole["A_cross_all"], tap.tensors["blocks.0.cross.weights"])
    for t in range(1, cross_attention.N + 1):
        values = cross_attention.SHEET.evaluate({"t": [[t]]})
        assert values["A_cross"][0] == pytest.approx(whole["A_cross_all"][t - 1], abs=1e-12)
        assert values["a_self"][0] == pytest.approx(whole["A_all"][t - 1, :t], abs=1e-12)
        assert cross_attention.WORDS[int(values["p_all"].argmax())] == cross_attention.TARGET[t - 1]
