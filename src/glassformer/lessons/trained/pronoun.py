"""A small GPT for the lesson `two-heads` that has learned whom a pronoun means: where its heads look in one
sentence, and what its answer loses without each edge."""

from typing import Any

from ...claims.pronouns import accuracy, taught, untrained, words
from ...config import to_dict
from ...glass.effect import effect
from ...glass.trace import trace
from .rounding import rounded

SEED = 0
SHAPE = {"context": 20, "n_layers": 2, "n_heads": 2, "d_model": 64}
"""As many heads in a layer as the lesson has by hand."""
SENTENCE = "猫 追 老鼠 ， 因为 它 饿了 。 谁 饿了 ？"
ENGLISH = "cat chases mouse , because it hungry . who hungry ?"
TWIN = SENTENCE.replace("因为", "所以")
ANIMALS = ("猫", "老鼠")


def read(model: Any, text: str) -> dict[str, Any]:
    """Of a sentence: all heads' weights (layers × heads, n, n), the chances of both animals as the answer,
    and for each edge from the place of the answer what the log-probability of the likeliest answer gains when
    it is cut and when it is zeroed (layers × heads, n), in nats."""
    tokenizer = words()
    ids = [tokenizer.start, *tokenizer.encode(text).tolist()]
    seen = trace(model, ids, ("blocks.*.attention.weights", "logits"))
    chances = seen["logits"][0, -1].double().softmax(-1)
    layers, heads = (range(count) for count in (model.config.n_layers, model.config.n_heads))
    edges = effect(model, ids, layers=layers, heads=heads)
    return {
        "words": tokenizer.labels(ids),
        "weights": [rounded(seen.weights(layer, head)) for layer in layers for head in heads],
        "answer": tokenizer.labels([edges.target])[0],
        "chances": rounded([float(chances[int(tokenizer.encode(animal)[0])]) for animal in ANIMALS]),
        "cut": rounded(edges.cut.reshape(-1, len(ids))),
        "zeroed": rounded(edges.zeroed.reshape(-1, len(ids))),
    }


def train() -> dict[str, Any]:
    """What the trained model makes of the sentence of the cat and the mouse and of its twin, neither of which
    it has learned from."""
    model = untrained("gpt", SEED, SHAPE)
    steps = taught(model, SEED)
    return {
        "settings": {"seed": SEED, "shape": to_dict(model.config)},
        "steps": steps,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "accuracy": rounded(accuracy(model)),
        "english": ["START", *ENGLISH.split(" ")],
        "sentence": read(model, SENTENCE),
        "twin": read(model, TWIN),
    }
