"""Code before and after the advice of a rule, from before_after.toml."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple


class BeforeAfter(NamedTuple):
    """Two pieces of code: *language* is cuda (device code), host (a part of a program), python or sh."""

    language: str
    before: str
    after: str


@cache
def code_of_rules() -> dict[str, BeforeAfter]:
    """Return the code of every rule that ships with the program, by the rule's id."""
    import tomllib

    text = (files("gpuadvise.cli.rules") / "before_after.toml").read_text(encoding="utf-8")
    return {name: BeforeAfter(**record) for name, record in tomllib.loads(text).items()}
