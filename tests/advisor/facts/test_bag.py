from __future__ import annotations

from inspect import cleandoc
from tomllib import loads

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.facts.bag import SUPPLY


@pytest.mark.parametrize("name", SUPPLY)
def test_the_sentences_are_sentences(name: str) -> None:
    sentence = SUPPLY[name].how
    assert sentence[0].isupper()
    assert sentence.endswith((".", ".toml"))


def test_no_two_facts_have_one_key() -> None:
    keys = [supply.key for supply in SUPPLY.values() if supply.key]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", [name for name, supply in SUPPLY.items() if supply.key])
def test_what_has_a_key_has_an_example(name: str) -> None:
    assert SUPPLY[name].toml


@pytest.mark.parametrize("name", [name for name, supply in SUPPLY.items() if supply.toml])
def test_an_example_gives_the_fact(name: str) -> None:
    [kernel] = loads("[[kernel]]\n" + cleandoc(SUPPLY[name].toml))["kernel"]
    assert getattr(described(kernel, from_catalogue).facts, name) is not None
