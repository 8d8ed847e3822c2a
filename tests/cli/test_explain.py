"""``gpuadvise explain``."""

from __future__ import annotations

import json
import shlex

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.explain.glossary import plain_name, term_named, terms
from gpuadvise.cli.schema import bundled

TERMS = terms()


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_is_short_and_its_command_runs(cli, monkeypatch, term) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert 40 < len(term.text) < 420
    assert term.text.endswith(".")
    assert all(term_named(near) not in (None, term) for near in term.see)
    if term.command is not None:
        program, *arguments = shlex.split(term.command)
        assert program == "gpuadvise"
        ran = cli(*arguments)
        assert (ran.code, ran.err) == (0, "")


def test_no_name_means_two_things() -> None:
    names = [plain_name(name) for term in TERMS for name in (term.name, *term.also)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("wave", "wave"),
        ("WAVES", "wave"),
        ("bank conflict", "bank conflict"),
        ("bank-conflicts", "bank conflict"),
        ("cta", "block"),
        ("patches", None),
        ("l2", "L2 cache"),
    ],
)
def test_a_term_is_found_as_people_write_it(cli, words: str, name: str | None) -> None:
    ran = cli("explain", *words.split())
    assert (ran.code == 0) is (name is not None)
    assert not name or ran.out.startswith(name)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("wavee", "hint: Did you mean wave"),
        ("low-occupancy", "hint: It is a rule: gpuadvise rules low-occupancy."),
        ("efect", "hint: Did you mean"),
        ("zzzz", "hint: gpuadvise explain lists the terms; gpuadvise rules the rules."),
    ],
)
def test_what_is_no_term(cli, words: str, hint: str) -> None:
    ran = cli("explain", words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[1].startswith(hint)


def test_the_page_of_a_term(cli, golden) -> None:
    golden("explain-wave.text", cli("explain", "wave").out)


@pytest.mark.parametrize("words", [["wave"], []])
def test_json(cli, words: list[str]) -> None:
    answer = json.loads(cli("explain", *words, "--json").out)
    Draft202012Validator(json.loads(bundled("explain"))).validate(answer)
    if words:
        assert cli("explain", *words, "--get", "text").out.strip() == answer["result"]["text"]
    else:
        assert [it["term"] for it in answer["result"]["terms"]] == [it.name for it in TERMS]


def test_every_term_is_listed(cli) -> None:
    lines = cli("explain").out.splitlines()
    assert [term for term in TERMS if not any(line.startswith(term.name) for line in lines)] == []
    assert len(cli("explain", "--format", "csv").out.splitlines()) == len(TERMS) + 1
