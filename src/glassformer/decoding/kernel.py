"""The compiled product of a matrix and a few vectors, and a Transformer's block made of such products, where
there is a C compiler to make them.

For one new token PyTorch's own product reads the weights at half the speed of memory on some machines, and in
a small model the calls around the products take as long as they do. `kernel.c` has neither fault; it is
compiled at first use and kept in the user's cache. Without a compiler everything goes through PyTorch, with
the same results within rounding.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("kernel.c")
# Sums of products may be reordered, so that they fill vectors; infinities and NaN stay what they are. Not
# -ffast-math: with it some compilers change how the whole process rounds the smallest numbers.
FLAGS = ["-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-fno-math-errno"]
NATIVE = "-march=native"
PATIENCE = 60  # seconds for a compiler that takes a fraction of one

Function = Callable[..., None]
POINTER, WHOLE, REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class Kernel(NamedTuple):
    """`float32` and `int8` take (w, scale, bias, x, y: addresses or None, n_out, n_in, rows); `block` takes a
    BlockStruct, a PlaceStruct, x, rows and room. All as in `kernel.c`."""

    float32: Function
    int8: Function
    block: Function


class LinearStruct(ctypes.Structure):
    _fields_ = (("w", POINTER), ("scale", POINTER), ("bias", POINTER), ("n_out", WHOLE), ("n_in", WHOLE))


class NormStruct(ctypes.Structure):
    _fields_ = (("weight", POINTER), ("bias", POINTER), ("n", WHOLE), ("centred", WHOLE), ("eps", REAL))


class BlockStruct(ctypes.Structure):
    LINEARS = ("query", "key", "value", "output", "gate", "up", "down")
    NORMS = ("attention_norm", "ffn_norm", "query_norm", "key_norm")
    _fields_ = (
        *((name, LinearStruct) for name in LINEARS),
        *((name, NormStruct) for name in NORMS),
        *((name, WHOLE) for name in ("n_heads", "n_kv_heads", "d_head", "activation", "post")),
        ("scale", REAL),
    )


class PlaceStruct(ctypes.Structure):
    _fields_ = (
        *(("k", POINTER), ("v", POINTER), ("row_apart", WHOLE), ("head_apart", WHOLE), ("m", WHOLE)),
        *(("cos", POINTER), ("sin", POINTER), ("angles_apart", WHOLE), ("interleaved", WHOLE)),
        *(("visible", POINTER), ("visible_apart", WHOLE), ("bias", POINTER), ("bias_apart", WHOLE)),
    )


@functools.cache
def kernel() -> Kernel | None:
    """The compiled functions, or None where they cannot be had. `CC` names the compiler, by default `cc`; an
    empty `CC` means none."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if os.name != "posix" or not compiler:
        return None
    try:
        return _loaded(_compiled(compiler, _cache()))
    except (OSError, AttributeError, subprocess.SubprocessError):
        return None


def _loaded(path: Path) -> Kernel:
    library = ctypes.CDLL(str(path))
    linears = library.linear_float32, library.linear_int8
    for linear in linears:
        linear.argtypes = [POINTER] * 5 + [WHOLE] * 3
    structs = [ctypes.POINTER(struct) for struct in (BlockStruct, PlaceStruct)]
    library.block.argtypes = [*structs, POINTER, WHOLE, POINTER]
    functions = Kernel(*linears, library.block)
    for function in functions:
        function.restype = None  # type: ignore[attr-defined]
    return functions


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "glassformer"


def _compiled(compiler: list[str], cache: Path) -> Path:
    """The library for this source, this compiler and this processor; made unless the cache has it. It gets
    its name when it is whole, so that two processes may make it at once."""
    recipe = "\n".join([SOURCE.read_text(encoding="utf-8"), *compiler, *FLAGS, _processor()])
    library = cache / f"kernel-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}.so"
    if library.exists():
        return library
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        made = Path(folder) / library.name
        command = [*compiler, *FLAGS, "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-lm"]
        quiet = {"capture_output": True, "timeout": PATIENCE, "stdin": subprocess.DEVNULL}
        # Not every compiler knows its own processor by that word.
        if subprocess.run([*command, NATIVE], **quiet).returncode:  # type: ignore[call-overload]
            subprocess.run(command, check=True, **quiet)  # type: ignore[call-overload]
        made.replace(library)
    return library


def _processor() -> str:
    """What tells processors apart that share a home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return f"{platform.machine()} {platform.processor()} {flags}"
