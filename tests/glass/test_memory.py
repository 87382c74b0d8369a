"""What tracing costs in memory, beside transformers at the same work."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

MEASURE = """
import ctypes, pathlib, re, torch
ctypes.CDLL(None).mallopt(-3, 65536)  # tensors go back at once: the peak is what is in use
torch.set_num_threads(1)
torch.manual_seed(0)
{make}
ids = torch.arange(512)[None]

def peak():
    status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])

with torch.no_grad():
    model(ids[:, :8])
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins anew
    before = peak()
    result = {work}
    print(peak() - before)
"""

OURS = {
    "make": (
        "from glassformer import GPT, GPTConfig, trace\n"
        "model = GPT(GPTConfig(50257, 1024, 12, 12, d_model=768, norm='layernorm', positions='learned',"
        " bias=True, activation='gelu_tanh')).eval()"
    ),
    "work": "trace(model, ids, 'blocks.*.attention.weights')",
}
THEIRS = {
    "make": (
        "from transformers import GPT2Config, GPT2LMHeadModel\n"
        "model = GPT2LMHeadModel(GPT2Config(attn_implementation='eager')).eval()"
    ),
    "work": "model(ids, output_attentions=True)",
}


def extra_kilobytes(pieces):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEASURE.format(**pieces)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return int(done.stdout.split()[-1])


def test_a_trace_of_all_weights_takes_less_than_output_attentions():
    weights = 12 * 12 * 512 * 512 * 4 / 1024
    ours, theirs = extra_kilobytes(OURS), extra_kilobytes(THEIRS)
    assert weights < ours < theirs
