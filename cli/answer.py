"""The answer of a command: everything any output format may show."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise import __version__
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gpuadvise.cli.blocks import Block
    from gpuadvise.cli.render.svg import Picture


class Answer(NamedTuple):
    """What a command found.

    ``result`` is the JSON contract; ``rows`` are what CSV and NDJSON list (``None``: the
    result is the only row), ``columns`` makes the header of CSV when there are none; ``blocks``
    builds the text when a person reads it, ``pictures`` what a page shows above it; ``documents`` holds formats that only this
    command offers, such as ``sarif``, by name, whole or in pieces.
    """

    command: str
    device: Mapping[str, Any] | None
    input: Mapping[str, Any]
    result: Mapping[str, Any]
    blocks: Callable[[], Sequence[Block]]
    rows: Sequence[Mapping[str, Any]] | None = None
    columns: Callable[[], Sequence[str]] = tuple
    findings: Sequence[Mapping[str, Any]] = ()
    not_evaluated: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()  # for stderr
    failed: Sequence[str] = ()  # why a gate says no: after the notes, and as annotations
    documents: Mapping[str, Callable[[], str | Iterable[str]]] = MappingProxyType({})
    exit: Exit = Exit.RAN
    pictures: Callable[[], Sequence[Picture]] = tuple  # for HTML

    def envelope(self) -> dict[str, Any]:
        """Return the JSON document of docs/json-schema.md."""
        return {
            "schema": f"gpuadvise.{self.command}/1",
            "version": __version__,
            "device": self.device,
            "input": self.input,
            "result": self.result,
            "findings": list(self.findings),
            "not_evaluated": list(self.not_evaluated),
        }
