"""The lessons with learned numbers: what sheets make of them is what torch and `nn` make, in float64."""

from importlib import import_module

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from glassformer.lessons.trained import learned
from glassformer.models import Seq2Seq, Seq2SeqConfig
from glassformer.models.word2vec import Groups, Word2Vec, Word2VecConfig
from glassformer.nn.additive import AdditiveAttention
from glassformer.nn.recurrent import Weights, gru_step

# The package gives these names to the lessons themselves.
alignment, bottleneck, word_vectors = (
    import_module(f"glassformer.lessons.{name}") for name in ("alignment", "bottleneck", "word_vectors")
)
CLOSE = 1e-12
MASKS = {
    "real": alignment.REAL,
    "without": alignment.WITHOUT,
    "only": alignment.ONLY,
    "nothing": [[0.0] * alignment.PLACES],
}


def near(sheet, torch_value):
    theirs = torch.as_tensor(torch_value).detach().numpy().reshape(sheet.shape)
    return np.all(np.abs(sheet - theirs) <= CLOSE * np.maximum(1, np.abs(theirs)))


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def attention(parameters):
    made = AdditiveAttention(12, 12).double()
    for module, name in ((made.of_state, "W"), (made.of_memory, "U"), (made.v, "v")):
        module.weight.data = double(parameters[name]).T.contiguous()
    return made


# Word vectors


def test_cosines_and_analogies_are_those_of_torch():
    values = word_vectors.SHEET.evaluate()
    x = torch.tensor(values["X"])
    assert near(values["C"], F.cosine_similarity(x[:, None], x[None], dim=-1))
    d = F.normalize(x)
    q = d[0] - d[2] + d[3]
    assert near(values["cosines"], F.cosine_similarity(q[None], d))
    assert np.array_equal(values["products_I"], np.eye(10))


@pytest.mark.parametrize("y", [[1.0, 0.0], [0.0, 1.0]])
def test_the_step_is_that_of_our_word2vec(y):
    values = word_vectors.SHEET.evaluate({"y": [y]})
    model = Word2Vec(Word2VecConfig(vocab_size=3, d_model=6)).double()
    model.embedding.weight.data[0] = torch.tensor(values["u"][0])
    model.contexts.weight.data[1:] = torch.tensor(values["V"])
    groups = Groups(torch.tensor([[0]]), torch.tensor([[1, 2]]), double([[y]]), torch.ones(1, 1, 2).double())
    scores, du, dv = model.gradients(groups)
    assert near(values["s"], scores)
    assert near(values["du"], du)
    assert near(values["dV"], dv)
    assert near(values["L"], model(groups))
    model.step(groups, 0.5, 1)
    assert near(values["u_new"], model.embedding.weight[0])
    assert near(values["V_new"], model.contexts.weight[1:])
    assert near(values["L_new"], model(groups))
    assert values["L_new"] < values["L"]


# The bottleneck


@pytest.mark.parametrize("text", learned("bottleneck")["states"])
def test_the_last_state_is_the_models_whatever_the_length(text):
    state = learned("bottleneck")["states"][text]
    values = bottleneck.SHEET.evaluate({"H": state["memory"]})
    assert values["H"].shape == (len(text), 32)
    assert np.array_equal(values["s_0"], state["last"])
    model = Seq2Seq(Seq2SeqConfig(vocab_size=9, d_model=32, attention="none", context=20))
    made = model.encode(torch.randint(8, (1, len(text))))
    end, begin = made.memory[0, -1, :16], made.memory[0, 0, 16:]
    assert torch.equal(made.hidden.hidden[-1, 0], torch.cat((end, begin)))


def test_the_intervals_are_wilsons():
    values, z = bottleneck.SHEET.evaluate(), 1.96
    for which in ("none", "additive"):
        for end, share in zip(
            (values[f"low_{which}"], values[f"high_{which}"]), 2 * (values[f"share_{which}"],), strict=True
        ):  # where the distance from the share is z standard deviations at that end
            assert (share - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / 200, abs=1e-12)
    assert values["bits"] == 36


def test_parameters_are_those_of_the_models():
    for attention_, count in learned("bottleneck")["parameters"].items():
        shape = Seq2SeqConfig(vocab_size=9, d_model=32, attention=attention_, context=20)
        assert sum(p.numel() for p in Seq2Seq(shape).parameters()) == count


# The alignment


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("t", range(1, alignment.N + 1))
def test_a_step_is_that_of_our_decoder(mask, t):
    values = alignment.SHEET.evaluate({"t": [[t]], "M": MASKS[mask]})
    found = learned("alignment")
    s, h = double(found["sentences"][0]["before"])[t - 1 : t], double(found["sentences"][0]["memory"])[None]
    c, a = attention(found["bank"])(s, h, double(MASKS[mask]).bool())
    assert near(values["a"], a)
    assert near(values["c"], c)
    of = {name: double(value) for name, value in found["bank"].items()}
    weights = Weights(of["W_x"].T, of["W_h"].T, of["b_x"][0], of["b_h"][0])
    y = double(found["sentences"][0]["inputs"])[t - 1 : t]
    after = gru_step(torch.cat((y, c), -1), s, weights)
    assert near(values["s_t"], after)
    logits = torch.tanh(torch.cat((after, c), -1) @ of["W_r"] + of["b_r"]) @ of["W_o"]
    assert near(values["p_all"], logits.softmax(-1))


def test_all_steps_are_those_of_our_attention():
    values, found = alignment.SHEET.evaluate(), learned("alignment")
    for name, example, parameters in (
        ("bank", found["sentences"][0], "bank"),
        ("river", found["sentences"][1], "bank"),
        ("back", found["string"], "backwards"),
    ):
        s, h = double(example["before"]), double(example["memory"])
        real = torch.arange(len(h)) < len(example["source"])
        shared = h.expand(len(s), -1, -1)
        a = attention(found[parameters])(s, shared, real.expand(len(s), -1))[1]
        assert near(values[f"A_{name}"], a[:, : values[f"A_{name}"].shape[1]])


def test_the_step_after_is_the_state_that_the_model_had():
    found = learned("alignment")["sentences"][0]
    for t in range(1, alignment.N):
        values = alignment.SHEET.evaluate({"t": [[t]]})
        assert values["s_t"] == pytest.approx(np.array([found["before"][t]]), abs=2e-5)
        assert alignment.WORDS[int(values["p_all"].argmax())] == found["target"][t - 1]


def test_what_the_texts_say_of_the_models_is_what_was_measured():
    values = alignment.SHEET.evaluate({"t": [[alignment.AT_SENSE + 1]]})
    assert f"{values['p'][0, 0]:.2f}" == "0.94"  # in the question about "money"
    assert learned("bottleneck")["right"]["none"][0] == 199
    assert learned("bottleneck")["right"]["additive"] == [200] * 9
