"""The two best-known ways to see attention weights, where they can be imported: TransformerLens records,
BertViz draws. What is given to them is made outside of what is timed."""

import importlib.util
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from tokenizers import Tokenizer as Words
from tokenizers import models
from torch import Tensor
from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast


def available(package: str) -> bool:
    """Whether a peer is there; says so where it is not."""
    found = importlib.util.find_spec(package) is not None
    if not found:
        print(f"{package}: not installed, skipped")
    return found


def transformer_lens_weights(model: GPT2LMHeadModel, ids: Tensor) -> Callable[[], Any]:
    """Recording every attention weight of Hugging Face's model."""
    from transformer_lens.model_bridge import TransformerBridge

    words = Words(models.WordLevel({"a": 0, "<end>": 1}, unk_token="a"))  # asked for, and never used
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        name_or_path="words",
        add_bos_token=True,
        bos_token="<end>",
        eos_token="<end>",
        pad_token="<end>",
    )
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        bridge = TransformerBridge.boot_transformers(folder, hf_model=model, tokenizer=tokenizer)

    @torch.no_grad()
    def work() -> Any:
        return bridge.run_with_cache(ids, names_filter=lambda name: name.endswith("hook_pattern"))

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
