"""What can be set for a run, and the presets."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..config import require_literals
from ..errors import unknown
from ..models.presets import PRESETS, RECURRENT_PRESETS


@dataclass(frozen=True)
class DataConfig:
    """How text becomes tokens. The last `valid_fraction` of them is held out."""

    tokenizer: Literal["auto", "chars", "bytes", "bpe"] = "auto"
    bpe_vocab_size: int = 4096
    valid_fraction: float = 0.1

    def __post_init__(self) -> None:
        require_literals(self)
        if not 0 <= self.valid_fraction < 1:
            raise ValueError(f"valid_fraction must lie in [0, 1), not {self.valid_fraction}")


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained.

    A step sees `batch_size` x `accumulate` windows of the model's context. `optimiser` "adamw" takes all
    parameters at the rate `lr`; "muon" takes the blocks' matrices at `muon_lr` and leaves the rest to AdamW.
    Rates rise over `warmup` steps, then fall along a cosine, or a line, to `min_lr` times themselves at the
    last step; "inverse_sqrt": as 1/√step, down to that at the lowest. "sgd", steps along the gradient as it
    is, is for word vectors.
    Every `eval_every` steps up to `eval_tokens` held-out tokens are measured and a checkpoint is saved;
    `patience` such measurements without a new best end the training (0: never). `sample` tokens are written
    then, to show the state of things. precision "auto": bf16 on GPUs that compute it, and for
    Transformers of 256 units and more on CPUs that do (AVX-512 BF16, AMX); else fp32, for most CPUs only
    emulate bf16, 100 times slower. compile "auto": on for GPUs; on a CPU it takes a C++ compiler and
    pays off only in long runs.
    """

    steps: int = 2000
    batch_size: int = 32
    accumulate: int = 1
    optimiser: Literal["adamw", "muon", "sgd"] = "adamw"
    lr: float = 1e-3
    muon_lr: float = 0.02
    min_lr: float = 0.1
    warmup: int = 100
    decay: Literal["cosine", "linear", "inverse_sqrt"] = "cosine"
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.99
    clip: float = 1.0
    seed: int = 0
    eval_every: int = 250
    eval_tokens: int = 32_768
    patience: int = 0
    sample: int = 80
    device: str = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    compile: Literal["auto", "on", "off"] = "auto"

    def __post_init__(self) -> None:
        require_literals(self)
        for name in ("batch_size", "accumulate", "eval_every", "eval_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in (
            "steps",
            "warmup",
            "weight_decay",
            "clip",
            "patience",
            "sample",
            "seed",
            "lr",
            "muon_lr",
            "min_lr",
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}")
        if self.seed >= 1 << 63:
            raise ValueError(f"seed must be below 2^63, not {self.seed}")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must lie in [0, 1), not {getattr(self, name)}")


ModelName = Literal["gpt", "rnn", "lstm", "gru"]
"""What can be trained from nothing."""


def spoken_rates(config: TrainConfig) -> str:
    """The rates that a training uses, by name."""
    muon = f" and muon_lr={config.muon_lr:g}" if config.optimiser == "muon" else ""
    return f"lr={config.lr:g}{muon}"


RECIPES = {
    # Radford et al. 2019; Brown et al. 2020 for the decay.
    "gpt2": (
        *("positions=learned", "norm=layernorm", "activation=gelu_tanh", "bias=true"),
        *("optimiser=adamw", "lr=1e-3", "warmup=100"),
    ),
    # Vaswani et al. 2017.
    "2017": (
        *("positions=sinusoidal", "norm=layernorm", "norm_order=post", "activation=relu", "bias=true"),
        *("optimiser=adamw", "lr=7e-4", "beta2=0.98", "warmup=400", "weight_decay=0"),
    ),
}
"""Settings that go together, as their papers have them; the size is that of the preset."""


def preset(name: str, model: ModelName = "gpt") -> dict[str, Any]:
    """The named parts of a run's settings; the model's vocabulary is still to be filled in."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    if model not in get_args(ModelName):
        raise unknown("model", model, get_args(ModelName))
    # Of all that was tried, this came to nanoGPT's loss soonest: benchmarks/time_to_loss.py.
    fast = TrainConfig(batch_size=16, optimiser="muon", lr=6e-3, muon_lr=0.04, warmup=20)
    train = {"tiny": fast, "small": fast, "base": TrainConfig(batch_size=8, accumulate=8, lr=6e-4)}
    shape = PRESETS[name](1) if model == "gpt" else RECURRENT_PRESETS[name](1, model)
    return {"model": shape, "train": train[name], "data": DataConfig()}
