"""Frozen dataclasses to and from JSON and `key=value`. An unknown key is an error that names the nearest.

JSON files are read here and nowhere else: a damaged one is an error that names it, as is a wrong value in it.
"""

import dataclasses
import json
import math
import re
import reprlib
import types
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import UserError, unknown

C = TypeVar("C")

LIMIT = 4 << 20  # bytes of a JSON file, unless its reader says otherwise
_DEEPEST = 64  # objects and lists within one another
BEYOND = 1 << 63  # the first whole number that a tensor has no place for
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Object(dict[str, Any]):
    """A JSON object that remembers which file it is from, for what is found wrong with it later."""

    source: Path | None = None


def read_object(path: Path, limit: int = LIMIT) -> Object:
    """The object that a JSON file holds. Raises UserError as `read_text` and `parse_object` do."""
    return parse_object(read_text(path, limit), path)


def read_text(path: Path, limit: int = LIMIT) -> str:
    """The text of a small file. Raises UserError, naming it, for one that cannot be read, is longer than
    `limit` bytes, or no UTF-8."""
    try:
        if path.exists() and not path.is_file():  # a pipe may never end
            raise UserError(f"{path} is no file")
        with path.open("rb") as file:
            raw = file.read(limit + 1)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except ValueError:  # a name with a zero in it
        raise UserError(f"{str(path)!r} is no name of a file") from None
    if len(raw) > limit:
        raise UserError(f"{path} is damaged: it has more than {limit} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is damaged: not UTF-8 at byte {error.start}") from None


def parse_object(text: str, path: Path) -> Object:
    """The object that a JSON text holds. Raises UserError, naming the file, for what is no JSON: cut short,
    a key twice, NaN or Infinity, half a surrogate pair; and for what is no object, or nested without end."""

    def made(pairs: list[tuple[str, Any]]) -> Object:
        values = Object(pairs)
        if len(values) < len(pairs):
            [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
            raise ValueError(f"{reprlib.repr(twice)} stands there twice")
        values.source = path
        return values

    try:
        values = json.loads(text, object_pairs_hook=made, parse_constant=_finite, parse_float=_finite)
        if _SURROGATE.search(text):
            _require_whole_characters(values)
    except RecursionError:
        raise UserError(f"{path} is damaged: it is nested too deep") from None
    except ValueError as error:
        raise UserError(f"{path} is damaged: it is no JSON text: {error}") from None
    if not isinstance(values, Object):
        raise UserError(f"{path} is damaged: it holds no JSON object")
    if not _is_shallow(values):
        raise UserError(f"{path} is damaged: it is nested too deep")
    return values


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is no number that can be used")
    return number


def _require_whole_characters(values: Any) -> None:
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"\\u{ord(error.object[error.start]):x} is half a character") from None


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        inside = (node.values() if isinstance(node, dict) else node for node in level)
        level = [child for children in inside for child in children if isinstance(child, dict | list)]
    return not level


def to_dict(config: Any) -> dict[str, Any]:
    """A config as plain JSON values."""
    return dataclasses.asdict(config)


def from_dict(cls: type[C], values: Mapping[str, Any] | None) -> C:
    """The config that `to_dict` wrote. Raises UserError for a key it does not have or that it lacks, and for
    a wrong value; it names the file, if the values are an `Object`."""
    try:
        return _made(cls, values)
    except UserError as error:
        if isinstance(values, Object) and values.source:
            raise UserError(f"{values.source}: {error}") from None
        raise


def _made(cls: type[C], values: Any) -> C:
    hints = get_type_hints(cls)
    if not isinstance(values, Mapping):
        raise UserError(f"the settings of {cls.__name__} are no object but {reprlib.repr(values)}")
    for key in values:
        if key not in hints:
            raise unknown(f"key in {cls.__name__}", key[:80], hints)
    checked = {key: _checked(key, value, hints[key]) for key, value in values.items()}
    if lacking := [name for name in _needed(cls) if name not in checked]:
        raise UserError(f"{cls.__name__} lacks {', '.join(lacking)}")
    try:
        return cls(**checked)
    except ValueError as error:
        raise UserError(f"{cls.__name__}: {error}") from None


def _needed(cls: Any) -> list[str]:
    """The fields without a default."""
    none = dataclasses.MISSING
    return [f.name for f in dataclasses.fields(cls) if f.default is none and f.default_factory is none]


def require_literals(config: Any) -> None:
    """Raise ValueError for a field whose type is a Literal and whose value is none of its choices."""
    for name, hint in get_type_hints(type(config)).items():
        value = getattr(config, name)
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise ValueError(f"{name} must be {_spoken(hint)}, not {value!r}")


def override(configs: dict[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """Apply `key=value` or `part.key=value` to named configs; a bare key must be found in one of them."""
    values: dict[str, dict[str, Any]] = {}
    said: dict[str, list[str]] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise UserError(f"{assignment!r} is no setting; write key=value, for example n_layers=6")
        part, field = _find(configs, key)
        hint = get_type_hints(type(configs[part]))[field]
        values.setdefault(part, {})[field] = _parsed(key, text, hint)
        said.setdefault(part, []).append(assignment)
    changed = dict(configs)
    for part, fields in values.items():  # all at once: what fits together must not depend on the order
        try:
            changed[part] = dataclasses.replace(changed[part], **fields)
        except ValueError as error:
            raise UserError(f"{' '.join(said[part])}: {error}") from None
    return changed


def _find(configs: dict[str, Any], key: str) -> tuple[str, str]:
    fields = {part: [f.name for f in dataclasses.fields(config)] for part, config in configs.items()}
    part, dot, field = key.rpartition(".")
    if dot and part in fields and field in fields[part]:
        return part, field
    owners = [part for part, names in fields.items() if key in names]
    if len(owners) == 1:
        return owners[0], key
    if owners:
        raise UserError(f"{key!r} is a setting of {' and '.join(owners)}; write {owners[0]}.{key}")
    raise unknown("setting", key, [name for names in fields.values() for name in names])


def _options(hint: Any) -> list[Any]:
    """The alternatives of a union, or the type itself."""
    return list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]


def _parsed(key: str, text: str, hint: Any) -> Any:
    """`text` as None where the hint has it, else as the first of the alternatives that it can be."""
    options = _options(hint)
    if type(None) in options and text.lower() in ("none", "null"):
        return None
    for option in options:
        if option is bool and text.lower() in ("true", "false", "1", "0", "yes", "no", "on", "off"):
            return text.lower() in ("true", "1", "yes", "on")
        if get_origin(option) is Literal and text in get_args(option):
            return text
        if option in (int, float):
            try:
                number = option(text)
            except ValueError:
                continue
            if math.isfinite(number):
                return number
        if option is str:
            return text
    raise UserError(f"{key}={text}: expected {_spoken(hint)}")


def _checked(key: str, value: Any, hint: Any) -> Any:
    if type(value) in (int, float) and not abs(value) < BEYOND:
        raise UserError(f"{key} = {reprlib.repr(value)} is beyond what can be used")
    for option in _options(hint):
        if get_origin(option) is Literal:
            if value in get_args(option):
                return value
        elif option is float and type(value) in (int, float):
            return float(value)
        elif get_origin(option) is tuple and isinstance(value, list | tuple):
            return tuple(value)
        elif option in (int, bool, str, type(None)) and type(value) is option:
            return value
        elif isinstance(option, type) and isinstance(value, Mapping) and _is_kind(option, value):
            return _made(option, value)
    raise UserError(f"{key} = {reprlib.repr(value)}: expected {_spoken(hint)}")


def _is_kind(cls: type, values: Mapping[str, Any]) -> bool:
    """Whether values are of a config class, of several that tell themselves apart by their field `kind`."""
    return dataclasses.is_dataclass(cls) and values.get("kind") == getattr(cls, "kind", None)


def _spoken(hint: Any) -> str:
    words = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
        type(None): "none",
    }
    return " or ".join(
        " | ".join(map(str, get_args(option)))
        if get_origin(option) is Literal
        else words.get(option, getattr(option, "__name__", str(option)))
        for option in _options(hint)
    )
