"""Frozen dataclasses to and from JSON and `key=value`. An unknown key is an error that names the nearest."""

import dataclasses
import math
import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import UserError, unknown

C = TypeVar("C")


def to_dict(config: Any) -> dict[str, Any]:
    """A config as plain JSON values."""
    return dataclasses.asdict(config)


def from_dict(cls: type[C], values: Mapping[str, Any] | None) -> C:
    """The config that `to_dict` wrote. Raises UserError for a key it does not have, or a wrong value."""
    hints = get_type_hints(cls)
    if not isinstance(values, Mapping):
        raise UserError(f"the settings of {cls.__name__} are no object but {values!r}")
    for key in values:
        if key not in hints:
            raise unknown(f"key in {cls.__name__}", key, hints)
    checked = {key: _checked(key, value, hints[key]) for key, value in values.items()}
    try:
        return cls(**checked)
    except (TypeError, ValueError) as error:
        raise UserError(f"{cls.__name__}: {error}") from None


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
    every = [name for names in fields.values() for name in names]
    every += [f"{part}.{name}" for part, names in fields.items() for name in names]
    raise unknown("setting", key, every)


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
            return from_dict(option, value)
    raise UserError(f"{key} = {value!r}: expected {_spoken(hint)}")


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
