"""Copies of a measurement with other numbers, for judges."""

from copy import deepcopy


def altered(measured, value, *path):
    """A copy with `value` at the end of a path of keys; a function is given what was there. In place of a key
    may stand ..., for all."""
    copy = deepcopy(measured)
    _alter(copy, value, path)
    return copy


def _alter(part, value, path):
    key, *rest = path
    keys = range(len(part)) if isinstance(part, list) else list(part)
    for each in keys if key is ... else [key]:
        if rest:
            _alter(part[each], value, rest)
        else:
            part[each] = value(part[each]) if callable(value) else value
