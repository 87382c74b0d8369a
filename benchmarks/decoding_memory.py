"""Memory at GPT-2's shape: 1,000 tokens read and 24 written, each way in a process of its own.

Loading has a peak of its own, which is told apart: the peak counts anew when the model is there.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from transformers import GPT2LMHeadModel, logging

from glassformer.decoding.prepare import int8
from glassformer.hub.folder import open_folder

from .decoding import SHAPES, models, our_work, prompts, their_work

READ, WRITTEN = 1000, 24


def memory(what: str) -> float:
    """VmRSS, what the process has now, or VmHWM, the most it had, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(rf"{what}:\s+(\d+)", status)[1]) / 1000


def measure(who: str, folder: str) -> None:
    """In a process of its own: print what loading and writing took."""
    given = prompts(SHAPES["12 x 768"][-1], 1, READ)
    empty = memory("VmRSS")
    if who == "Hugging Face":
        work = their_work(GPT2LMHeadModel.from_pretrained(folder).eval(), given, WRITTEN)
    else:
        model = open_folder(folder).language_model()
        work = our_work(int8(model) if who == "ours, int8" else model, given, WRITTEN, [])
        del model
    loaded, loading = memory("VmRSS") - empty, memory("VmHWM") - empty
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins anew
    work()
    print(
        f"{who}: {loaded:,.0f} MB loaded (peak {loading:,.0f}), "
        f"{memory('VmHWM') - empty:,.0f} MB at most while writing"
    )


def main() -> None:
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if not Path("/proc/self/clear_refs").exists():
        print("memory: needs Linux; skipped")
        return
    print(f"12 x 768, {READ} tokens read and {WRITTEN} written, beyond the interpreter and its libraries:")
    with tempfile.TemporaryDirectory() as folder:
        models(Path(folder), *SHAPES["12 x 768"])
        for who in ("ours", "ours, int8", "Hugging Face"):
            command = [sys.executable, "-m", "benchmarks.decoding_memory", who, folder]
            print("  " + subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(*sys.argv[1:])
    else:
        main()
