"""The page for agents: what it is made of, and that its words lead each prompt where it should go.

A program can only look at words: a prompt opens the page when it shares a word of the field with it and none that
it excludes, and goes where the words that few routes have are shared.
"""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gpuadvise.cli.app import COMMANDS
from gpuadvise.cli.skill.command import ROUTES, WHEN, page
from gpuadvise.servers.mcp.tools import TOOLS

PROMPTS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "skill_evaluations.toml").read_text(encoding="utf-8")
)["prompt"]
WANTED = [prompt for prompt in PROMPTS if "command" in prompt]
UNWANTED = [prompt["text"] for prompt in PROMPTS if "command" not in prompt]
# Words that say what somebody works with; those of all programs (slow, time, memory) do not.
FIELD = {
    "cuda", "gpu", "ncu", "nsy", "nvidia", "occupancy", "pytorch", "torch", "triton", "register", "spill", "wheel",
    "bound", "profiler", "profile",
}  # fmt: skip
COMMON = {
    "a", "an", "and", "any", "are", "at", "be", "by", "do", "does", "for", "from", "have", "i", "in", "is", "it", "its",
    "me", "my", "of", "on", "one", "or", "the", "their", "this", "to", "what", "which", "why", "with", "you", "how",
}  # fmt: skip


def words(text: str) -> set[str]:
    """Return the words of *text* in small letters, without their plural."""
    found = re.findall(r"[a-z][a-z_.-]*[a-z]|[a-z]", text.lower())
    return {re.sub(r"(?<=[a-z]{2}[^su])s$", "", word) for word in found} - COMMON


def opens(prompt: str) -> bool:
    """Return whether *prompt* is one for the page, by the text that a harness sees of it."""
    wanted, _, unwanted = WHEN.partition("Not for")
    inside = words(prompt)
    excluded = inside & words(unwanted) & {"amd", "apple", "cpu", "driver", "installing"}
    if excluded and not inside & (words(wanted) & {"cuda", "gpu", "wheel"}):
        return False
    return bool(inside & words(wanted) & FIELD)


def routed(prompt: str, texts: dict[str, str]) -> str:
    """Return whose text shares the rarest words with *prompt*."""
    by_name = {name: words(text) for name, text in texts.items()}
    known = list(by_name.values())
    score = {
        name: sum(
            math.log(1 + len(known) / sum(word in each for each in known))
            for word in words(prompt) & own
        )
        / math.sqrt(1 + len(own))
        for name, own in by_name.items()
    }
    return max(score, key=lambda name: score[name])


def test_the_page_names_commands_that_exist_and_is_short() -> None:
    names = {row.name for row in COMMANDS}
    assert {shlex.split(route.line)[1] for route in ROUTES} <= names
    text = page()
    assert all(f"`{name}`" in text for name in names)
    assert len(text) / 4 <= 1_000
    assert text.startswith("---\nname: gpuadvise\ndescription: ")
    assert len(WHEN) <= 1024  # what harnesses take of a description


def test_the_command_prints_the_page(cli) -> None:
    ran = cli("skill")
    assert (ran.code, ran.out, ran.err) == (0, page(), "")


@pytest.mark.parametrize("prompt", [prompt["text"] for prompt in WANTED])
def test_a_prompt_about_gpus_opens_the_page(prompt: str) -> None:
    assert opens(prompt)


@pytest.mark.parametrize("prompt", UNWANTED)
def test_other_prompts_do_not(prompt: str) -> None:
    assert not opens(prompt)


def test_prompts_lead_to_their_first_command() -> None:
    texts = {shlex.split(route.line)[1]: f"{route.when} {route.line}" for route in ROUTES}
    missed = {
        prompt["text"]: got
        for prompt in WANTED
        if (got := routed(prompt["text"], texts)) != prompt["command"]
    }
    assert len(missed) <= len(WANTED) // 10, missed


def test_prompts_lead_to_their_first_tool() -> None:
    texts = {tool.__name__: f"{tool.__name__} {tool.__doc__}" for tool in TOOLS}
    missed = {
        prompt["text"]: got
        for prompt in WANTED
        if (got := routed(prompt["text"], texts)) != prompt["tool"]
    }
    assert len(missed) <= len(WANTED) // 6, missed
