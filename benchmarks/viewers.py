"""The two best-known ways to see attention weights, where they can be imported: TransformerLens records,
BertViz draws. What is given to them is made outside of what is timed."""

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import GPT2LMHeadModel


def available(package: str) -> bool:
    """Whether a peer is there; says so where it is not."""
    found = importlib.util.find_spec(package) is not None
    if not found:
        print(f"{package}: not installed, skipped")
    return found


def transformer_lens_weights(
    layers: int, width: int, heads: int, vocabulary: int, ids: Tensor
) -> Callable[[], Any]:
    """Recording every attention weight of a model of this shape with random weights."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    model = HookedTransformer(
        HookedTransformerConfig(
            n_layers=layers,
            d_model=width,
            d_head=width // heads,
            n_heads=heads,
            d_mlp=4 * width,
            d_vocab=vocabulary,
            n_ctx=1024,
            act_fn="gelu_new",
            normalization_type="LN",
            device="cpu",
        )
    ).eval()

    @torch.no_grad()
    def work() -> Any:
        return model.run_with_cache(ids, names_filter=lambda name: name.endswith("hook_pattern"))

    return work


def bertviz_page(model: GPT2LMHeadModel, ids: Tensor, tokens: list[str]) -> Callable[[], str]:
    """The view of all heads, as HTML, from weights that are already there."""
    from bertviz import model_view

    with torch.no_grad():
        weights = model(ids, output_attentions=True).attentions

    def work() -> str:
        page: str = model_view(weights, tokens, html_action="return").data
        return page

    return work
