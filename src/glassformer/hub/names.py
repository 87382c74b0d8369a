"""Which weight is which: one table a family, read in both directions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

import torch
from torch import Tensor, nn

from ..errors import UserError

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Row:
    """A weight of theirs and what it is here; `{}` is the number of a block.

    Several names here lie in theirs one below the other. `transposed`: theirs is (in, out), ours (out, in).
    `flat`: theirs is (1, n), ours (n,). `gated`: only where feed-forwards have a gate, or only where they
    have none. A weight here may have several names there: the first is written.
    """

    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False
    flat: bool = False
    gated: bool | None = None

    def at(self, i: int) -> "Row":
        return replace(self, theirs=self.theirs.format(i), ours=tuple(name.format(i) for name in self.ours))

    def shape(self, ours: Sequence[Tensor]) -> tuple[int, ...]:
        """That of theirs."""
        shape = (sum(map(len, ours)), *ours[0].shape[1:])
        return (1, *shape) if self.flat else shape[::-1] if self.transposed else shape

    def inward(self, theirs: Tensor) -> Tensor:
        return theirs[0] if self.flat else theirs.T if self.transposed else theirs

    def outward(self, ours: Tensor) -> Tensor:
        return ours[None] if self.flat else ours.T if self.transposed else ours


def linear(theirs: str, *ours: str, transposed: bool = False) -> tuple[Row, Row]:
    """The rows of a matrix and its bias."""
    return (
        Row(f"{theirs}.weight", tuple(f"{name}.weight" for name in ours), transposed),
        Row(f"{theirs}.bias", tuple(f"{name}.bias" for name in ours)),
    )


@dataclass(frozen=True)
class Names:
    """A family's names.

    `prefix` may be missing from all names of a file (a model saved without its head). `unused` are patterns
    of what a file may hold beside its weights; `older` are ways in which parts of names were once spelled.
    """

    rows: tuple[Row, ...]
    prefix: str
    unused: tuple[str, ...] = ()
    older: Mapping[str, str] = field(default_factory=dict)

    def inward(self, theirs: Mapping[str, Tensor], model: nn.Module, source: Path) -> dict[str, Tensor]:
        """Their tensors under our names: views, nothing is copied.

        Raises UserError, by its name in the file, for a weight that is missing, left over, misshapen, or not
        in plain floating point.
        """
        every, once = dict(model.named_parameters(remove_duplicate=False)), dict(model.named_parameters())
        first = {id(weight): name for name, weight in once.items()}
        rows = self._rows(every)
        given = self._canonical(theirs, {row.theirs for row in rows}, source)
        ours: dict[str, Tensor] = {}
        for row in rows:
            tied_to = first[id(every[row.ours[0]])]
            if row.theirs not in given:
                if tied_to in ours:
                    continue
                raise UserError(f"{source} lacks {row.theirs}")
            tensor = given.pop(row.theirs)
            _check(row, tensor, [every[name] for name in row.ours], source)
            parts = torch.split(row.inward(tensor), [len(every[name]) for name in row.ours])
            if row.ours[0] in once and row.ours[0] not in ours:
                ours.update(zip(row.ours, parts, strict=True))
            elif not torch.equal(tensor, ours[tied_to]):
                raise UserError(
                    f"{source}: {row.theirs} differs from the embedding, though config.json ties them; "
                    "set tie_word_embeddings to false there, or leave this weight out"
                )
        if given:
            raise UserError(f"{source}: the model has no place for {next(iter(given))}")
        return ours

    def outward(self, model: nn.Module) -> dict[str, Tensor]:
        """Our tensors under their names, a tied weight once."""
        left = dict(model.named_parameters())
        theirs = {}
        for row in self._rows(left):
            if row.ours[0] in left:
                theirs[row.theirs] = row.outward(torch.cat([left.pop(name).detach() for name in row.ours]))
        return theirs

    def _rows(self, ours: Mapping[str, Tensor]) -> list[Row]:
        """The rows of the weights that a model has, a row for each block."""
        rows = [row.at(i) for row in self.rows for i in range(_n_blocks(row, ours))]
        gated = any(".ffn.gate." in name for name in ours)
        return [row for row in rows if row.ours[0] in ours and row.gated in (None, gated)]

    def _canonical(self, theirs: Mapping[str, Tensor], known: set[str], source: Path) -> dict[str, Tensor]:
        """Their tensors, each under its full and present name, without the unused."""
        given: dict[str, Tensor] = {}
        for name, tensor in theirs.items():
            full = name
            for before, now in self.older.items():
                full = full.replace(before, now)
            if full not in known and self.prefix + full in known:
                full = self.prefix + full
            spellings = (full, self.prefix + full)
            if full not in known and any(
                fnmatchcase(s, pattern) for s in spellings for pattern in self.unused
            ):
                continue
            if full in given:
                raise UserError(f"{source} holds {full} twice, once as {name}")
            given[full] = tensor
        return given


def _n_blocks(row: Row, ours: Iterable[str]) -> int:
    """How many blocks there are in the stack of a row; 1 for a row of none."""
    stack, stands, _ = row.ours[0].partition("{}")
    numbers = [int(name[len(stack) :].split(".")[0]) for name in ours if stands and name.startswith(stack)]
    return 1 + max(numbers, default=0)


def _check(row: Row, tensor: Tensor, ours: Sequence[Tensor], source: Path) -> None:
    wanted = row.shape(ours)
    if tensor.shape != wanted:
        raise UserError(
            f"{source}: {row.theirs} has shape {tuple(tensor.shape)}, config.json asks for {wanted}"
        )
    if tensor.dtype not in DTYPES:
        raise UserError(
            f"{source}: {row.theirs} is stored as {tensor.dtype}; supported: {', '.join(map(str, DTYPES))}"
        )


def rows(*groups: Row | Iterable[Row]) -> tuple[Row, ...]:
    """One table of single rows and groups of them."""
    return tuple(row for group in groups for row in ([group] if isinstance(group, Row) else group))
