from __future__ import annotations

from dataclasses import fields

from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.supply import HOW


def test_every_fact_says_how_to_supply_it() -> None:
    assert list(HOW) == [field.name for field in fields(Facts)]


def test_the_sentences_are_sentences() -> None:
    for sentence in HOW.values():
        assert sentence[0].isupper()
        assert sentence.endswith((".", ".toml"))
