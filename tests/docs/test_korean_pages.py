"""The pages in Korean: their code and figures are those of the English ones, their words those of `explain`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpuadvise.cli.explain.glossary import korean_terms, term_named

DOCS = Path(__file__).parents[2] / "docs"
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"\d[\d,.]* (?:µs|MB|%)")


def test_the_tutorial_shows_the_code_the_answers_and_the_times_of_the_english_one() -> None:
    english, korean = (
        (DOCS / page).read_text(encoding="utf-8")
        for page in ("tutorials/transpose.md", "ko/transpose.md")
    )
    assert FENCED.findall(korean) == FENCED.findall(english)
    assert set(FIGURE.findall(korean)) == set(FIGURE.findall(english))


@pytest.mark.parametrize("name", korean_terms())
def test_a_term_is_explained_by_each_of_its_korean_names(name: str, cli) -> None:
    english = term_named(name)
    assert english is not None
    assert english.name == name
    for word in korean_terms()[name].names:
        for spelling in (word, word.replace(" ", ""), f"{word}들"):
            assert term_named(spelling) is english
    assert cli("explain", *korean_terms()[name].names[0].split()) == cli("explain", name)


def test_no_two_terms_share_a_name() -> None:
    names = [word.replace(" ", "") for term in korean_terms().values() for word in term.names]
    assert len(names) == len(set(names))


def test_a_word_that_is_no_term(cli) -> None:
    done = cli("explain", "고양이")
    assert (done.code, "is not a term" in done.err) == (2, True)


def test_every_command_on_the_page_is_one() -> None:
    from gpuadvise.cli.app import COMMANDS

    known = {row.name for row in COMMANDS}
    table = (DOCS / "ko" / "README.md").read_text(encoding="utf-8").split("| --- |")[1]
    named = set(re.findall(r"`([a-z]+)`", table.split("\n\n")[0]))
    assert named
    assert named <= known
