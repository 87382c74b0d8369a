"""The package: torch is loaded when it is needed, names are public, imports run one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import glassformer

ROOT = Path(glassformer.__file__).parent
LAYERS = [
    {"errors", "config", "device", "output", "terminal", "threads", "texts", "axes"},
    {"nn", "sheet"},
    {"models"},
    {"data"},
    {"store"},
    {"decoding", "encoding", "hub"},
    {"glass"},
    {"training"},
    {"claims"},
    {"lessons"},
    {"lab"},
    {"cli", "demo", "__main__"},
]
HEAVY = {"torch", "numpy", "matplotlib", "fastapi", "jinja2", "uvicorn"}
PUBLIC = (
    "GPT GPTConfig Sampler Subject Trace UserError __version__ "
    "classify compare effect embed evaluate fill finetune generate generate_batch int8 lens load look resume "
    "stream trace train translate word_vectors"
)


def loaded(code, *arguments):
    """The modules loaded after some code has run in a Python of its own."""
    code += "\nimport sys; print('\\n'.join(sys.modules), file=sys.stderr)"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    return set(done.stderr.split()), done.stdout


def imports(path):
    """The modules of glassformer that a file names in its imports, as tuples of names."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module.split(".")]
        elif isinstance(node, ast.ImportFrom):
            base = ["glassformer", *package[: len(package) + 1 - node.level]]
            base += node.module.split(".") if node.module else []
            names = [base] if node.module else [[*base, alias.name] for alias in node.names]
        else:
            continue
        yield from (tuple(name[1:]) for name in names if name[0] == "glassformer")


def layer(room):
    return next(i for i, rooms in enumerate(LAYERS) if room in rooms)


FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_run_one_way(path):
    own = path.relative_to(ROOT).with_suffix("").parts[0]
    named = {name[0] for name in imports(path)} - {own, "__version__"}
    same = {room for room in named if layer(room) == layer(own)}
    assert {room for room in named if layer(room) > layer(own)} == set()
    assert same == set() or layer(own) in (0, len(LAYERS) - 1)


def test_every_file_is_read_and_imports_are_found():
    assert len(FILES) > 40
    named = {("models",), ("nn", "state"), *(("decoding", part) for part in ("pace", "prepare", "samplers"))}
    assert set(imports(ROOT / "decoding" / "loop.py")) == named
    assert {("__version__",), ("config",), ("store", "tensors")} <= set(imports(ROOT / "store" / "run.py"))


@pytest.mark.parametrize(
    "code",
    [
        "import glassformer; dir(glassformer); glassformer.__version__",
        "import glassformer; glassformer.UserError",
        "import glassformer.cli",
    ],
)
def test_importing_loads_no_torch(code):
    assert not HEAVY & loaded(code)[0]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["train"],
        ["generate"],
        ["eval"],
        ["look"],
        ["info"],
        ["demo"],
        ["lab"],
        ["neighbours"],
        ["translate"],
        ["fill"],
    ],
)
def test_help_loads_no_torch(arguments):
    code = (
        "from glassformer.__main__ import main\ntry: main()\nexcept SystemExit as end: assert end.code == 0"
    )
    modules, out = loaded(code, *arguments, "--help")
    assert not HEAVY & modules
    assert "Usage:" in out


def test_torch_is_loaded_on_first_use():
    assert "torch" in loaded("import glassformer; glassformer.GPT")[0]


def test_public_names():
    assert sorted(glassformer.__all__) == dir(glassformer) == PUBLIC.split()
    for name in glassformer.__all__:
        assert getattr(glassformer, name) is not None
    assert glassformer.generate.__module__ == "glassformer.decoding.text"
    assert glassformer.trace.__module__ == "glassformer.glass.trace"
    assert glassformer.load.__module__ == "glassformer.hub.folder"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="'glassformer' has no attribute 'Trac'"):
        glassformer.Trac  # noqa: B018
    assert not hasattr(glassformer, "torch")
