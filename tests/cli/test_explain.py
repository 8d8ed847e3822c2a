"""``gpuadvise explain``."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.xids import XidKind, kind_of
from gpuadvise.cli.explain.error_texts import error_in, error_texts, xid_text
from gpuadvise.cli.explain.glossary import plain_name, term_named, terms
from gpuadvise.cli.schema import bundled
from gpuadvise.rules.guide.device_state.xid_errors import ACTIONS

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


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    """Return the options of each command."""
    asked = subprocess.check_output([sys.executable, "-m", "gpuadvise", "help", "--json"])
    return {
        command["name"]: {name for option in command["options"] for name in option["names"]}
        for command in json.loads(asked)["commands"]
    }


@pytest.mark.parametrize("error", error_texts(), ids=lambda error: error.name)
def test_the_commands_of_an_error_are_there(error, options) -> None:
    assert error.text.endswith(".")
    assert error.causes
    assert all(cause.endswith(".") for cause in error.causes)
    lines = [*re.findall(r"`(gpuadvise [^`]*)`", " ".join(error.causes)), error.command]
    for line in lines:
        _, command, *rest = line.split()
        assert {word for word in rest if word.startswith("--")} <= options[command], line


def test_no_phrase_tells_of_two_errors() -> None:
    for error in error_texts():
        assert term_named(error.name) is None
        assert all(error_in(phrase) is error for phrase in (error.name, *error.said))


@pytest.mark.parametrize(
    ("pasted", "name"),
    [
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "no kernel image is available for execution on the device",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB",
            "out of memory",
        ),
        ("RuntimeError: CUDA error: something new", "RuntimeError: CUDA error"),
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_120'",
            "nvcc fatal: Unsupported gpu architecture",
        ),
        ("CUDA error 700: CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
        ("NVRM: Xid (PCI:0000:06:00): 79, pid=1, GPU has fallen off the bus.", "Xid 79"),
        ("xid 31", "Xid 31"),
    ],
)
def test_a_pasted_error_is_explained(cli, pasted: str, name: str) -> None:
    ran = cli("explain", *pasted.split(), "--json")
    answer = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("explain"))).validate(answer)
    assert (ran.code, answer["result"]["term"]) == (0, name)
    assert answer["result"]["causes"]


def test_the_page_of_an_error(cli, golden) -> None:
    golden("explain-error.text", cli("explain", "cudaErrorLaunchOutOfResources").out)


@pytest.mark.parametrize("code", [13, 31, 43, 45, 48, 63, 64, 74, 79, 94, 95, 119, 14, 9999])
def test_an_xid_says_what_to_do(code: int) -> None:
    error = xid_text(code)
    assert error.name == f"Xid {code}"
    harmless = kind_of(code) is XidKind.HARMLESS
    assert (error.causes[0] == ACTIONS.get(kind_of(code))) is not harmless


def test_the_word_alone_is_a_term() -> None:
    assert error_in("Xid") is None
    assert term_named("Xid") is not None
