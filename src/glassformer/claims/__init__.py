"""The claims of the two chapters, each measured: question, experiment, judge and figure in one small file."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import UserError, unknown
from .claim import Claim

MODULES = {
    "C1": "c01_meaning",
    "C2": "c02_rnn_gradients",
    "C3": "c03_gradient_paths",
    "C4": "c04_bottleneck",
    "C5": "c05_alignment",
    "C6": "c06_serial_steps",
    "C7": "c07_variance_of_products",
    "C8": "c08_saturation",
    "C9": "c09_many_heads_one_price",
    "C10": "c10_order",
    "C11": "c11_rotation",
    "C12": "c12_beyond_the_length",
    "C13": "c13_share_of_the_ffn",
    "C14": "c14_norms",
    "C15": "c15_cost_of_a_layer",
    "C18": "c18_what_lets_stacks_train",
    "C19": "c19_weight_and_effect",
    "C20": "c20_one_vector_or_many",
    "C21": "c21_robust_heads",
    "C22": "c22_roles_of_heads",
}
"""Where each claim is, in the order in which they are told."""

UNMEASURED = {
    "C16": "what windowed, linear and fused attention cost",
    "C17": "a CNN against a ViT, by the amount of data",
}
"""Claims of the chapters that this version does not measure: it has neither windowed nor linear attention,
and no images."""


def claim(name: str) -> Claim:
    """The claim of this name, as "C7". Raises UserError for one that there is not, or not yet."""
    if name.upper() in UNMEASURED:
        raise UserError(f"{name.upper()} ({UNMEASURED[name.upper()]}) is not measured in this version")
    if name.upper() not in MODULES:
        raise unknown("claim", name, list(MODULES))
    found: Claim = import_module(f"{__name__}.{MODULES[name.upper()]}").CLAIM
    return found


def measured(name: str) -> dict[str, Any]:
    """What the full run of a claim measured, as it is kept with the package."""
    path = Path(__file__).with_name("measured") / f"{name}.json"
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept
