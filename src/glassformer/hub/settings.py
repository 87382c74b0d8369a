"""Reading a `config.json` that others wrote: what is needed must be there, what is not known is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..config import BEYOND, read_object
from ..errors import UserError

T = TypeVar("T")


class Settings:
    """The values of a JSON file, or of an object in it. Every error names the file and the key."""

    def __init__(self, path: Path, values: Mapping[str, Any], within: str = "") -> None:
        self.path, self.values, self._within = path, values, within

    @classmethod
    def read(cls, path: Path) -> "Settings":
        return cls(path, read_object(path))

    def has(self, key: str) -> bool:
        """Whether a key is there with a value."""
        return self.values.get(key) is not None

    def need(self, key: str, hint: str = "") -> Any:
        if not self.has(key):
            raise UserError(f"{self.path} lacks {self._within}{key}{hint}")
        return self.values[key]

    def whole(self, key: str) -> int:
        value = self.need(key)
        if type(value) is not int or abs(value) >= BEYOND:
            raise self.wrong(key, "expected a whole number")
        return value

    def number(self, key: str, hint: str = "") -> float:
        value = self.need(key, hint)
        if type(value) not in (int, float) or abs(value) >= BEYOND:
            raise self.wrong(key, "expected a number")
        return float(value)

    def flag(self, key: str, absent: bool) -> bool:
        value = self.values.get(key)
        if value is None:
            return absent
        if type(value) is not bool:
            raise self.wrong(key, "expected true or false")
        return value

    def choice(self, key: str, known: Mapping[str, T]) -> T:
        """What one of the known words means."""
        value = self.need(key)
        if not isinstance(value, str) or value not in known:
            raise self.wrong(key, f"supported: {', '.join(known)}")
        return known[value]

    def part(self, key: str) -> "Settings | None":
        """An object among the values; None for an empty one too."""
        value = self.values.get(key)
        if value is None or value == {}:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, "expected an object")
        return Settings(self.path, value, f"{self._within}{key}.")

    def require(self, key: str, only: object) -> None:
        """Refuse a value other than the one that is supported, which an absent key means."""
        if self.has(key) and (self.values[key] != only or type(self.values[key]) is bool is not type(only)):
            raise self.wrong(key, f"only {json.dumps(only)} is supported")

    def wrong(self, key: str, instead: str) -> UserError:
        value = json.dumps(self.values.get(key), ensure_ascii=False)
        shown = value if len(value) <= 80 else f"{value[:77]}…"
        return UserError(f"{self.path}: {self._within}{key} = {shown} cannot be used; {instead}")
