"""The words of the field, from glossary.toml."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Term(NamedTuple):
    """A term: its other names, what it means, terms that are near, and a command that shows it."""

    name: str
    text: str
    also: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    command: str | None = None


@cache
def terms() -> tuple[Term, ...]:
    """Return every term, in alphabetical order."""
    import tomllib

    text = (files("gpuadvise.cli.explain") / "glossary.toml").read_text(encoding="utf-8")
    glossary = (_term(record) for record in tomllib.loads(text)["term"])
    return tuple(sorted(glossary, key=lambda term: term.name.lower()))


def _term(record: dict[str, Any]) -> Term:
    return Term(
        name=record["name"],
        text=record["text"],
        also=tuple(record.get("also", ())),
        see=tuple(record.get("see", ())),
        command=record.get("command"),
    )


class KoreanTerm(NamedTuple):
    """A term in Korean: its names, the usual one first, and what it means."""

    names: tuple[str, ...]
    text: str


@cache
def korean_terms() -> dict[str, KoreanTerm]:
    """Return the terms that have Korean names, by their names in the glossary."""
    import tomllib

    text = (files("gpuadvise.cli.explain") / "korean.toml").read_text(encoding="utf-8")
    return {
        name: KoreanTerm(tuple(record["names"]), record["text"])
        for name, record in tomllib.loads(text).items()
    }


_HANGUL = range(0xAC00, 0xD7A4)


def _named_in_korean(name: str) -> Term | None:
    """Return the term that *name* names in Korean: with or without spaces, in the plural."""
    wanted = name.replace(" ", "")
    for english, korean in korean_terms().items():
        joined = [word.replace(" ", "").lower() for word in korean.names]
        if wanted in joined or wanted.removesuffix("들") in joined:
            return term_named(english)
    return None


def term_named(name: str) -> Term | None:
    """Return the term that *name* names: in any case, with hyphens or spaces, in the plural, or in Korean."""
    wanted = plain_name(name)
    if any(ord(letter) in _HANGUL for letter in wanted):
        return _named_in_korean(wanted)
    known = {plain_name(word): term for term in terms() for word in (term.name, *term.also)}
    singular = wanted.removesuffix("es"), wanted.removesuffix("s")
    return next((known[word] for word in (wanted, *reversed(singular)) if word in known), None)


def plain_name(name: str) -> str:
    """Return *name* as it is compared: small letters, spaces between words."""
    return " ".join(name.lower().replace("-", " ").replace("_", " ").split())
