"""A small encoder-decoder Transformer for the lesson `cross-attention`: it translates the sentences of
`alignment`, word by word."""

from typing import Any

import torch

from ...data.tokenizers import Tokenizer
from ...decoding.translate import translate
from ...glass import Recorder
from ...training.quiet import translator
from .alignment import HELD_OUT, SEED, SENSES, chances, held_out, sentences
from .rounding import rounded

SETTINGS = (
    *("tokenizer=words", "d_model=16", "n_heads=1", "n_layers=1", "d_inner=32", "context=24"),
    *("norm=layernorm", "positions=sinusoidal", "activation=relu", "dropout=0", "tie_embeddings=false"),
    *("optimiser=adamw", "steps=600", "batch_size=768", "lr=0.01", "warmup=30", "weight_decay=0"),
    *(f"valid_fraction={HELD_OUT}", f"seed={SEED}", "eval_every=600"),
)
SENTENCE = "they borrowed money from the bank"


@torch.inference_mode()
def seen(model: Any, tokenizer: Tokenizer, source: str, target: str) -> dict[str, Any]:
    """What the decoder gets while the target is written, teacher forcing: the memory (m, D), and its inputs,
    embedding and position, START and the target's words (n + 1, D)."""
    read, write = tokenizer.encode(source).tolist(), tokenizer.encode(target).tolist()
    tap = Recorder(("encoder.final", "decoder.embedding"))
    model(torch.tensor([read]), None, torch.tensor([[tokenizer.start, *write]]), tap=tap)
    return {
        "source": tokenizer.labels(read),
        "target": tokenizer.labels([*write, tokenizer.end]),
        "memory": rounded(tap.tensors["encoder.final"][0]),
        "inputs": rounded(tap.tensors["decoder.embedding"][0]),
    }


def parameters(model: Any) -> dict[str, Any]:
    """The decoder's, for rows."""
    block = model.decoder.blocks[0]
    norms = block.attention_norm, block.cross_norm, block.ffn_norm, model.decoder.final_norm
    found = {f"g_{k}": norm.weight[None] for k, norm in enumerate(norms, 1)}
    for part, attention in (("self", block.attention), ("cross", block.cross)):
        for name in ("query", "key", "value", "output"):
            found[f"W_{name[0].upper()}_{part}"] = getattr(attention, name).weight.T
    found |= {"W_1": block.ffn.up.weight.T, "W_2": block.ffn.down.weight.T, "W_out": model.head.weight.T}
    return {name: rounded(value.detach()) for name, value in found.items()}


@torch.inference_mode()
def weights(model: Any, tokenizer: Tokenizer, source: str, target: str) -> torch.Tensor:
    """The cross-attention's: a row for each token of the target and END, a column for each of the source."""
    read, write = tokenizer.encode(source).tolist(), tokenizer.encode(target).tolist()
    tap = Recorder(("decoder.blocks.0.cross.weights",))
    model(torch.tensor([read]), None, torch.tensor([[tokenizer.start, *write]]), tap=tap)
    found: torch.Tensor = tap.tensors["decoder.blocks.0.cross.weights"][0, 0]
    return found


def train() -> dict[str, Any]:
    """What the decoder sees in one example and what it computes with; and what was measured on many."""
    model, tokenizer = translator(sentences(), SETTINGS, "transformer")
    kept = held_out(sentences(), tokenizer)
    written = translate(model, tokenizer, [source for source, _ in kept])
    measured: dict[str, Any] = {
        "held_out": [sum(a == b for a, (_, b) in zip(written, kept, strict=True)), len(kept)]
    }
    for sense in SENSES:
        theirs = [(a, b) for a, b in sentences() if sense in b.split(" ")]
        rows = [weights(model, tokenizer, a, b)[b.split(" ").index(sense)] for a, b in theirs]
        cut = [chances(model, tokenizer, a, b, sense) for a, b in theirs]
        measured[sense] = {
            "sentences": len(theirs),
            "weight": rounded(sum(float(row[-1]) for row in rows) / len(rows)),
            "largest_on_bank": sum(int(row.argmax()) == len(row) - 1 for row in rows),
            "chances": rounded([sum(column) / len(cut) for column in zip(*cut, strict=True)]),
        }
    return {
        "settings": {"seed": SEED, "train": list(SETTINGS)},
        "vocabulary": tokenizer.labels(range(tokenizer.vocab_size)),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "measured": measured,
        "sentence": seen(model, tokenizer, SENTENCE, dict(sentences())[SENTENCE]),
        "decoder": parameters(model),
    }
