"""Which token begins, ends or fills up a text, as the files of a folder say it."""

from pathlib import Path
from typing import Any

from ..config import parse_object, read_text
from ..data.tokenizers import LIMIT
from ..errors import UserError
from .settings import Settings

TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG, SPECIAL, GENERATION = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
)
ROLES = ("bos", "eos", "pad", "unk", "cls", "sep", "mask")


def read(folder: Path, settings: Settings, spec: dict[str, Any]) -> dict[str, list[int]]:
    """Ids by role. What generation is told counts before what the model is, that before the tokenizer."""
    generation = _optional(folder / GENERATION)
    spelled = {**_optional(folder / SPECIAL).values, **_optional(folder / TOKENIZER_CONFIG).values}
    known = _ids(spec)
    found: dict[str, list[int]] = {}
    for role in ROLES:
        name = spelled.get(f"{role}_token")
        name = name.get("content") if isinstance(name, dict) else name
        for source in (generation, settings):
            if source.has(f"{role}_token_id"):
                found[role] = _whole_numbers(source, f"{role}_token_id")
                break
        else:
            if isinstance(name, str) and name in known:
                found[role] = [known[name]]
    return found


def target_start(folder: Path, settings: Settings, roles: dict[str, list[int]]) -> int:
    """The id that a translator's target begins with: pad, unless the files say otherwise."""
    for source in (_optional(folder / GENERATION), settings):
        if source.has("decoder_start_token_id"):
            return source.whole("decoder_start_token_id")
    if "pad" not in roles:
        raise UserError(f"{settings.path} lacks decoder_start_token_id, with which a target begins")
    return roles["pad"][0]


def read_spec(folder: Path) -> tuple[str, dict[str, Any]]:
    """The text of `tokenizer.json`, and what it holds."""
    path = folder / TOKENIZER
    if not path.exists():
        raise UserError(f"{folder} holds no {TOKENIZER}; {_instead(folder)}")
    text = read_text(path, LIMIT)
    spec = parse_object(text, path)
    if not isinstance(spec.get("model"), dict):
        raise UserError(f"{path} describes no tokenizer")
    return text, spec


def _instead(folder: Path) -> str:
    """What to do without a tokenizer.json."""
    if (folder / "source.spm").exists():
        return (
            "from source.spm and target.spm none can be made. For ids instead of texts, "
            f"glassformer.hub.folder.open_folder({str(folder)!r}).translator() opens the model"
        )
    if (folder / "spiece.model").exists():
        return (
            "transformers makes it from spiece.model: AutoTokenizer.from_pretrained(folder)"
            ".save_pretrained(folder)"
        )
    return "save its tokenizer as a fast one"


def _optional(path: Path) -> Settings:
    return Settings.read(path) if path.is_file() else Settings(path, {})


def _whole_numbers(source: Settings, key: str) -> list[int]:
    value = source.values[key]
    values = value if isinstance(value, list) else [value]
    if not values or any(type(v) is not int for v in values):
        raise source.wrong(key, "expected a token id, or several")
    return values


def _ids(spec: dict[str, Any]) -> dict[str, int]:
    """The ids of the added tokens, among which all special ones are."""
    added = spec.get("added_tokens")
    entries = [entry for entry in added if isinstance(entry, dict)] if isinstance(added, list) else []
    named = [(entry.get("content"), entry.get("id")) for entry in entries]
    return {name: token for name, token in named if isinstance(name, str) and type(token) is int}
