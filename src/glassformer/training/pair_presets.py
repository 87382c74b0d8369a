"""What can be set for a training on pairs, and the presets of both kinds of translators."""

from dataclasses import replace
from typing import Any

from ..data.parallel import PairsConfig
from ..errors import unknown
from ..models.presets import SEQ2SEQ_PRESETS, TRANSFORMER_PRESETS
from .settings import TrainConfig

TRAIN = TrainConfig(batch_size=2048, lr=3e-3, warmup=50, weight_decay=0.01, sample=0)
"""Here `batch_size` counts tokens: rows times the longest source or target among them."""

_RECURRENT = {
    "tiny": (TRAIN, PairsConfig()),
    "small": (
        replace(TRAIN, steps=6000, batch_size=4096, lr=1e-3, warmup=200, eval_every=500),
        PairsConfig(label_smoothing=0.1),
    ),
    "base": (
        replace(TRAIN, steps=30_000, batch_size=16_384, lr=5e-4, warmup=1000, eval_every=1000),
        PairsConfig(bpe_vocab_size=16_000, label_smoothing=0.1),
    ),
}

_FAST = replace(TRAIN, optimiser="muon", muon_lr=0.02, lr=2e-3, warmup=20)
_TRANSFORMER = {
    "tiny": (_FAST, PairsConfig()),
    "small": (replace(_FAST, steps=2700), PairsConfig("bpe", bpe_vocab_size=6000, label_smoothing=0.1)),
    "base": (
        replace(TRAIN, steps=30_000, batch_size=16_384, lr=7e-4, warmup=2000, eval_every=1000),
        PairsConfig("bpe", bpe_vocab_size=16_000, label_smoothing=0.1),
    ),
}

_PRESETS: dict[str, tuple[dict[str, Any], dict[str, tuple[TrainConfig, PairsConfig]]]] = {
    "seq2seq": (SEQ2SEQ_PRESETS, _RECURRENT),
    "transformer": (TRANSFORMER_PRESETS, _TRANSFORMER),
}
"""By family: the shapes, and how each is trained."""

RECIPES = {
    # Vaswani et al. 2017; for its rate of d^-½ warmup^-½, the warmup of a training of some thousand steps.
    "2017": (
        *("norm=layernorm", "norm_order=post", "positions=sinusoidal", "activation=relu", "bias=true"),
        *("scale_embeddings=true", "tie_embeddings=true", "label_smoothing=0.1", "optimiser=adamw"),
        *("lr=1e-3", "beta2=0.98", "decay=inverse_sqrt", "min_lr=0", "warmup=400", "weight_decay=0"),
    ),
}
"""Settings that go together, as their papers have them; the size is that of the preset."""


def settings(preset_name: str = "tiny", family: str = "seq2seq") -> dict[str, Any]:
    """The named parts of a run's settings; the model's vocabulary is still to be filled in."""
    shapes, trained = _PRESETS[family]
    if preset_name not in shapes:
        raise unknown("preset", preset_name, shapes)
    train, data = trained[preset_name]
    return {"model": shapes[preset_name], "train": train, "data": data}
