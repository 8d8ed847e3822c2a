"""What the shell offers for the values of options; nothing is loaded until it asks."""

from __future__ import annotations


def gpus(incomplete: str) -> list[str]:
    """Return the catalogue's ids that begin with *incomplete*."""
    from gpuadvise.advisor.catalogue import entries

    return _beginning(incomplete, [entry.id for entry in entries()])


def schemas(incomplete: str) -> list[str]:
    """Return the names of schemas that begin with *incomplete*."""
    from gpuadvise.cli.commands.schema import names

    return _beginning(incomplete, names())


def shells(incomplete: str) -> list[str]:
    """Return the shells that begin with *incomplete*."""
    from gpuadvise.cli.commands.completion import SHELLS

    return _beginning(incomplete, list(SHELLS))


def rules(incomplete: str) -> list[str]:
    """Return the ids of rules that begin with *incomplete*."""
    from gpuadvise.rules.guide import RULES

    return _beginning(incomplete, [rule.id for rule in RULES])


def selections(incomplete: str) -> list[str]:
    """Return the priorities, topics and ids of rules that begin with *incomplete*."""
    from gpuadvise.rules.model import Priority, Topic

    return _beginning(incomplete, [*Priority, *Topic]) + rules(incomplete)


def priorities(incomplete: str) -> list[str]:
    """Return the priorities that begin with *incomplete*."""
    from gpuadvise.rules.model import Priority

    return _beginning(incomplete, list(Priority))


def _beginning(incomplete: str, words: list[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete.lower())]
