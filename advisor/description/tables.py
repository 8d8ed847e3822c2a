"""The shape of a kernel description: which keys, what they mean, which are required."""

from __future__ import annotations

import difflib
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpuadvise.advisor.values import Reader

Path = tuple[str | int, ...]


class DescriptionFault(BadInput):
    """A value of a description that cannot be used, and the *path* of keys to it."""

    def __init__(
        self, path: Path, message: str, *, hint: str | None = None, missing: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.missing = missing  # the key that the table at *path* lacks


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the field of the value it fills and the reader of what is written there."""

    field: str
    read: Reader


@dataclass(frozen=True, slots=True)
class KeyTable:
    """A table of keys that becomes one value of *build*; fields without default are required.

    *settle* turns what the keys gave into the fields of *build*, where one key needs another.
    """

    build: Callable[..., Any]
    keys: Mapping[str, Key]
    settle: Callable[[dict[str, Any]], dict[str, Any]] = dict

    def value(self, raw: object, path: Path) -> Any:
        """Return the value that *raw* describes; raises DescriptionFault."""
        values = self.fields(raw, path)
        for key in self.required():
            if self.keys[key].field not in values:
                message = f"The key {quoted(key)} is missing."
                raise DescriptionFault(path, message, hint=f"Keys: {self.listed()}.", missing=key)
        try:
            return self.build(**self.settle(values))
        except BadInput as error:
            raise DescriptionFault(path, error.message, hint=error.hint) from None

    def fields(self, raw: object, path: Path) -> dict[str, Any]:
        """Return the fields that *raw* gives; raises DescriptionFault for an unknown key or a bad value."""
        if not isinstance(raw, dict):
            raise DescriptionFault(
                path, "A table of keys belongs here.", hint=f"Keys: {self.listed()}."
            )
        return {self._key(key, path).field: self._read(key, raw[key], path) for key in raw}

    def _key(self, key: str, path: Path) -> Key:
        if key in self.keys:
            return self.keys[key]
        raise unknown_key(key, self.keys, path)

    def _read(self, key: str, value: object, path: Path) -> Any:
        try:
            return self.keys[key].read(value)
        except BadInput as error:
            raise DescriptionFault((*path, key), error.message, hint=error.hint) from None

    def required(self) -> list[str]:
        """Return the keys that must be given."""
        needed = _without_default(self.build)
        return [key for key, entry in self.keys.items() if entry.field in needed]

    def listed(self) -> str:
        """Return the keys as a list in words."""
        return and_list(list(self.keys))


@cache
def _without_default(build: Callable[..., Any]) -> frozenset[str]:
    """Return the fields of the class *build* that must be given."""
    return frozenset(
        item.name
        for item in fields(build)  # type: ignore[arg-type]
        if item.default is MISSING and item.default_factory is MISSING
    )


@dataclass(frozen=True, slots=True)
class LateTable:
    """The *table* of a *module* of this folder, whose classes are made when a description has it.

    Few descriptions have it, and all start.
    """

    module: str
    table: str

    def load(self) -> KeyTable:
        """Return the table."""
        module = import_module(f"gpuadvise.advisor.description.{self.module}")
        return cast("KeyTable", getattr(module, self.table))

    def value(self, raw: object, path: Path) -> Any:
        """Return the value that *raw* describes; raises DescriptionFault."""
        return self.load().value(raw, path)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of tables, ``[[kernel.accesses]]``, each with the keys of *table*."""

    table: KeyTable | LateTable

    def value(self, raw: object, path: Path) -> tuple[Any, ...]:
        """Return the values that *raw* describes; raises DescriptionFault."""
        if not isinstance(raw, list) or not raw:
            raise DescriptionFault(path, "A list of tables belongs here.")
        return tuple(self.table.value(item, (*path, i)) for i, item in enumerate(raw))


Table = KeyTable | ListOf | LateTable


def nested(table: KeyTable) -> Reader:
    """Return a reader of a key that holds a *table*; its faults name no path below the key."""
    return lambda raw: table.value(raw, ())


def one_or_more(table: KeyTable) -> Reader:
    """Return a reader of a key that holds a *table* or a list of them, as a tuple."""

    def read(raw: object) -> tuple[Any, ...]:
        rows = raw if isinstance(raw, list) else [raw]
        return tuple(table.value(row, ()) for row in rows)

    return read


# What compilers, profilers and launch calls name what a key here is for.
_ELSEWHERE = {
    "regs": "reg registers num_regs registers_per_thread maxrregcount",
    "block": "threads block_size block_dim blockdim threads_per_block num_threads num_warps",
    "grid": "blocks grid_size grid_dim griddim num_blocks",
    "smem": "shared shared_mem shared_memory static_smem static_shared static_shared_memory",
    "dynamic_smem": "dynamic_shared dynamic_shared_mem dynamic_shared_memory",
    "syncs": "barrier syncthreads synchronizes",
    "total_time": "run_time runtime total",
    "time": "seconds duration elapsed",
}
# Keys of inner tables that are looked for in the kernel itself, and where they stand.
_INSIDE = {
    "time": ("traffic", "work", "profile"),
    "seconds": ("traffic", "work", "profile"),
    "duration": ("traffic", "work", "profile"),
    "read": ("traffic",),
    "write": ("traffic",),
    "bytes": ("work", "transfers"),
    "flops": ("work",),
    "dtype": ("work",),
    "tensor": ("work",),
    "h2d": ("pipeline",),
    "d2h": ("pipeline",),
    "streams": ("pipeline",),
    "stride": ("accesses",),
    "word": ("accesses",),
}


def unknown_key(key: str, keys: Mapping[str, object], path: Path) -> DescriptionFault:
    """Return the fault of a *key* that is none of *keys*, with the one that may be meant."""
    return DescriptionFault(
        (*path, key), f"{quoted(str(key))} is not a key of this table.", hint=_meant(key, keys)
    )


def _meant(key: str, keys: Mapping[str, object]) -> str:
    name = str(key)[:60].lower().replace("-", "_")
    tables = [table for table in _INSIDE.get(name, ()) if table in keys]
    if tables:
        return f"It stands in {and_list(tables, 'or')}."
    same = [ours for ours, theirs in _ELSEWHERE.items() if ours in keys and name in theirs.split()]
    near = same or difflib.get_close_matches(name, list(keys), n=1, cutoff=0.6)
    return f"Did you mean {near[0]}?" if near else f"Keys: {and_list(list(keys))}."
