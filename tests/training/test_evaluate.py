"""Loss, perplexity and bits per byte are of the text, not of how it was cut."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch

from glassformer.data.tokenizers import ByteTokenizer, CharTokenizer
from glassformer.errors import UserError
from glassformer.models import GPT, GPTConfig
from glassformer.training import evaluate as module
from glassformer.training.evaluate import Evaluation, evaluate

CONFIG = GPTConfig(257, context=8, n_layers=1, n_heads=2, d_model=8)


def written(folder: Path, text: str, name: str = "t.txt") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="\n")
    return str(path)


def test_perplexity_is_the_exponential_of_the_mean_over_all_tokens() -> None:
    total, count = 10 * 1.0 + 2 * 3.0, 12
    assert Evaluation(total / count, 0, count, 1).perplexity == pytest.approx(3.7937, abs=1e-4)
    assert Evaluation(1e4, 0, 1, 1).perplexity == math.inf


def test_a_uniform_model_needs_the_logarithm_of_its_vocabulary(tmp_path: Path) -> None:
    model = GPT(CONFIG)
    torch.nn.init.zeros_(model.head.weight)
    result = evaluate(model, ByteTokenizer(), [written(tmp_path, "春眠不覺曉\nab")])
    assert (result.n_tokens, result.n_bytes) == (18, 18)
    assert result.loss == pytest.approx(math.log(257), abs=1e-5)
    assert result.bits_per_byte == pytest.approx(math.log2(257), abs=1e-5)


def test_bits_per_byte_counts_bytes_and_not_tokens(tmp_path: Path) -> None:
    tokenizer = CharTokenizer("春眠ab")
    model = GPT(dataclasses.replace(CONFIG, vocab_size=5))
    torch.nn.init.zeros_(model.head.weight)
    result = evaluate(model, tokenizer, [written(tmp_path, "春眠")])
    assert (result.n_tokens, result.n_bytes) == (2, 6)
    assert result.bits_per_byte == pytest.approx(2 * math.log2(5) / 6, abs=1e-5)


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_the_result_does_not_depend_on_the_batch(
    tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = GPT(CONFIG)
    text = [written(tmp_path, "the cat sees the mouse " * 5), written(tmp_path, "another", "u.txt")]
    usual = evaluate(model, ByteTokenizer(), text)
    monkeypatch.setattr(module, "LOGITS", batch * CONFIG.context * CONFIG.vocab_size)
    again = evaluate(model, ByteTokenizer(), text)
    monkeypatch.setattr(module, "BATCH", batch)
    assert evaluate(model, ByteTokenizer(), text) == again
    assert again.loss == pytest.approx(usual.loss, abs=1e-6)
    assert again.n_tokens == usual.n_tokens == 23 * 5 + 7


def test_the_loss_is_that_of_each_window_read_alone(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = GPT(CONFIG).eval()
    text = "the cat sees the mouse"
    ids = torch.tensor([256, *text.encode()])
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(ids) - 1, 8):
            window = ids[start : start + 9]
            logits, _ = model(window[None, :-1])
            total += float(torch.nn.functional.cross_entropy(logits[0], window[1:], reduction="sum"))
    result = evaluate(model, ByteTokenizer(), [written(tmp_path, text)])
    assert result.loss == pytest.approx(total / len(text), abs=1e-5)


def test_what_cannot_be_measured_is_named(tmp_path: Path) -> None:
    model = GPT(CONFIG)
    with pytest.raises(UserError, match="is empty"):
        evaluate(model, ByteTokenizer(), [written(tmp_path, "")])
    with pytest.raises(UserError, match="lacks 'x'"):
        evaluate(model, CharTokenizer("ab"), [written(tmp_path, "axb")])
    with pytest.raises(UserError, match="no such file"):
        evaluate(model, ByteTokenizer(), [str(tmp_path / "none.txt")])
