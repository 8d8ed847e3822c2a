"""Short and older ways to write a command line, as the options that they stand for."""

from __future__ import annotations

from gpuadvise.advisor.errors import BadInput

# (command, older name) -> name: what was written before keeps its meaning, with a note.
RENAMED = {("compat", "--matrix"): "--all-gpus"}
# The unit of bare numbers that were written before every share and time had one.
_UNITS = {"--carveout": "%", "--watch": "s"}


def current(command: str, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return *arguments* of *command* as its options are spelled, and notes on what changed.

    Raises BadInput for ``--json`` beside another format.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words, notes = list(arguments[:end]), list[str]()
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else None
        if (command, word) in RENAMED:
            words[place] = RENAMED[command, word]
            notes.append(f"{word} is now called {words[place]}.")
        elif word == "--plot" and (following is None or following.startswith("-")):
            words[place] = "--show"
            notes.append("--plot without a FILE draws in the terminal: write --show.")
        elif word in _UNITS and _is_number(following):
            words[place + 1] = f"{following}{_UNITS[word]}"
            notes.append(f"{word} {following} is read as {words[place + 1]}: write it so.")
        elif (command, word) == ("advise", "--offset") and _is_number(following):
            notes.append(f"--offset {following} counts elements: write {following}B for bytes.")
    return _with_format(words) + arguments[end:], notes


def _is_number(text: str | None) -> bool:
    """Return whether *text* is a bare whole number; 0 is the same in any unit."""
    return text is not None and text.isascii() and text.isdigit() and text.strip("0") != ""


def _with_format(words: list[str]) -> list[str]:
    """Return *words* with ``--format json`` for ``--json``."""
    rest = [word for word in words if word != "--json"]
    if len(rest) == len(words):
        return words
    if any(word.startswith(("--format", "-f")) for word in rest):
        raise BadInput("--json and --format do not go together.", hint="--json is --format json.")
    return [*rest, "--format", "json"]
