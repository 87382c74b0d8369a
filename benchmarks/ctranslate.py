"""CTranslate2 as a peer, where it is installed: the same GPT-2 weights, converted."""

import importlib.util
import tempfile
from collections.abc import Callable

from transformers import GPT2LMHeadModel


class _Numbers:
    """A vocabulary whose token i is called "i": CTranslate2 takes and gives words."""

    bos_token = eos_token = unk_token = "0"

    def __init__(self, size: int) -> None:
        self.size = size

    def get_vocab(self) -> dict[str, int]:
        return {str(i): i for i in range(self.size)}


def available() -> bool:
    return importlib.util.find_spec("ctranslate2") is not None


def work(
    model: GPT2LMHeadModel, given: list[list[int]], tokens: int, kind: str, threads: int
) -> Callable[[], object] | None:
    """What writes `tokens` after each of the prompts, or None where CTranslate2 is missing."""
    if not available():
        return None
    import ctranslate2
    from ctranslate2.converters.transformers import GPT2Loader

    spec = GPT2Loader()(model, _Numbers(model.config.vocab_size))
    spec.validate()
    spec.optimize(quantization=None)
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        generator = ctranslate2.Generator(folder, compute_type=kind, intra_threads=threads)
    words = [[str(token) for token in prompt] for prompt in given]
    return lambda: generator.generate_batch(
        words, max_length=tokens, min_length=tokens, sampling_topk=1, include_prompt_in_result=False
    )
