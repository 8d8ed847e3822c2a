"""``gpuadvise baseline``: saved answers under names, which ``--baseline NAME`` compares with."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from gpuadvise.advisor.backends.file_replacement import replacing
from gpuadvise.advisor.backends.user_files import kept_pipes, read_small
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list, inert, plural, quoted, quoted_path
from gpuadvise.cli import completion
from gpuadvise.cli.emit import note, stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.parameters import argument
from gpuadvise.cli.saved_answer import (
    COMMANDS,
    LARGEST,
    NAMES,
    named_files,
    saved_answer,
    tagged_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = """\
  gpuadvise kernels build.log --json > before.json
  gpuadvise baseline tag main before.json    # without a file: the newest answer in this folder
  gpuadvise kernels build.log --fail-on-spills --baseline main
  gpuadvise baseline list"""

_MOST_LOOKED_AT = 1_000  # files of a folder, for the newest answer
_SNIFFED = 256  # bytes of a file in which an answer names its schema
_ANSWER = re.compile(rf'"gpuadvise\.(?:{"|".join(COMMANDS)})/'.encode())


class Tagged(NamedTuple):
    """One saved answer that has a name."""

    name: str
    command: str
    path: str


def command(
    action: Annotated[
        str,
        argument(
            "ACTION",
            "tag, list, show or delete.",
            complete=completion.words("tag", "list", "show", "delete"),
        ),
    ] = "list",
    name: Annotated[str | None, argument("[NAME]", "Such as main.")] = None,
    file: Annotated[
        str | None, argument("[FILE]", "Saved kernels or advise --json; -: stdin. [newest here]")
    ] = None,
) -> Exit:
    """Tag a saved answer with NAME, or list, show and delete what is tagged."""  # fmt: skip
    actions: dict[str, Callable[[str], Iterator[str]]] = {"show": _shown, "delete": _deleted}
    if action == "list":
        _refuse(name, "list takes no name.")
        stream(_listed())
    elif action == "tag":
        stream(_tagged(_checked(name), file))
    elif action in actions:
        _refuse(file, f"{action} takes a name alone.")
        stream(actions[action](_checked(name)))
    else:
        raise BadInput(f"{quoted(action)} is not an action.", hint="Use tag, list, show or delete.")
    return Exit.RAN


def _refuse(word: str | None, sentence: str) -> None:
    if word is not None:
        raise BadInput(f"{sentence} {quoted(word)} is too much.")


def _checked(name: str | None) -> str:
    if name is None:
        raise BadInput("A name is missing.", hint="gpuadvise baseline tag main FILE")
    if not NAMES.fullmatch(name):
        raise BadInput(
            f"{quoted(name)} is not a name of a baseline.",
            hint="Use up to 100 letters, digits, dots, dashes and underscores, as in main or v1.2.",
        )
    return name


def _tagged(name: str, file: str | None) -> Iterator[str]:
    """Keep the answer in *file* under *name*."""
    if file is None:
        file = _newest()
        note(f"The newest saved answer here is {quoted_path(file)}.")
    with kept_pipes((file,)):
        content = read_small(file, largest=LARGEST)
        command = _command_of(content, file)
        answer = saved_answer(file, command=command, option="baseline tag", named=False)
        _compared(answer, command, quoted_path(file))
    path = tagged_file(name, command)
    try:
        if file != "-" and os.path.exists(path) and os.path.samefile(path, file):
            raise BadInput(f"{quoted_path(file)} is that baseline already.")
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with replacing(path) as kept:
            kept.write(content)
    except OSError as error:
        raise Unavailable(f"{quoted_path(path)} cannot be written: {error.strerror}.") from None
    yield f"{name}: {_described(Tagged(name, command, path))}\n"
    yield f"Compare with it: gpuadvise {command} ... --baseline {name}\n"


def _command_of(content: bytes, file: str) -> str:
    """Return which command's answer *content* is; raises BadInput where it is none that is compared."""
    import json

    document = None
    with suppress(ValueError, RecursionError):
        document = json.loads(content)
    schema = document.get("schema") if isinstance(document, dict) else None
    for command in COMMANDS:
        if str(schema).startswith(f"gpuadvise.{command}/"):
            return command
    raise BadInput(
        f"{quoted_path(file)} is no saved answer of {and_list(COMMANDS, 'or')}.",
        hint="Save one with: gpuadvise kernels ... --json > FILE",
    )


def _newest() -> str:
    """Return the newest file of this folder that is an answer which can be compared."""
    with os.scandir() as listing:
        files = [each for each in listing if each.name.endswith(".json") and each.is_file()]
    files.sort(key=lambda each: each.stat().st_mtime_ns, reverse=True)
    for each in files[:_MOST_LOOKED_AT]:
        with suppress(OSError), open(each.path, "rb") as file:
            if _ANSWER.search(file.read(_SNIFFED)):
                return each.name
    raise BadInput(
        f"This folder holds no saved answer of {and_list(COMMANDS, 'or')}.",
        hint="Save one with: gpuadvise kernels ... --json > FILE",
    )


def _all() -> list[Tagged]:
    return [Tagged(name, command, path) for name, command, path in named_files()]


def _listed() -> Iterator[str]:
    tagged = _all()
    if not tagged:
        yield "No baseline has a name here. gpuadvise baseline tag main FILE gives it one.\n"
    width = max((len(each.name) for each in tagged), default=0)
    for each in tagged:
        yield f"{inert(each.name):{width}}  {each.command:7}  {_described(each)}\n"


def _of(name: str) -> list[Tagged]:
    """Return the baselines that are called *name*; raises BadInput where there is none."""
    tagged = _all()
    if called := [each for each in tagged if each.name == name]:
        return called
    names = and_list([quoted(each) for each in dict.fromkeys(each.name for each in tagged)])
    raise BadInput(
        f"No baseline here is called {quoted(name)}.",
        hint=f"There are {names}." if names else "gpuadvise baseline tag NAME FILE makes one.",
    )


def _shown(name: str) -> Iterator[str]:
    for each in _of(name):
        yield f"{each.command}: {_described(each)}\n"
        if os.path.exists(each.path):
            answer = saved_answer(each.path, command=each.command, option=name, named=False)
            _compared(answer, each.command, quoted_path(each.path))
            yield from (f"  {line}\n" for line in _content(answer))


def _compared(answer: dict[str, Any], command: str, name: str) -> list[Any]:
    """Return what gates compare with in an answer of *command*; raises BadInput where it has none."""
    holder: object = answer
    key = "findings"
    if command == "kernels":
        holder, key = answer.get("result"), "kernels"
    records = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(records, list):
        raise BadInput(
            f"{name} is no whole answer of `gpuadvise {command} --json`: it has no {key}.",
            hint=f"Save it again with: gpuadvise {command} ... --json > FILE",
        )
    return records


def _content(answer: dict[str, Any]) -> Iterator[str]:
    """Yield what a saved answer is about, in lines."""
    asked, result = answer.get("input"), answer.get("result")
    if isinstance(asked, dict):
        given = {key: value for key, value in asked.items() if value not in (None, False, [], 0)}
        said = [f"{key} {value}" for key, value in given.items() if not isinstance(value, dict)]
        yield inert(f"asked: {', '.join(said) or 'nothing'}")[:200]
    kernels = result.get("kernels") if isinstance(result, dict) else None
    if isinstance(kernels, list):
        yield plural(len(kernels), "kernel")
    if isinstance(findings := answer.get("findings"), list) and findings:
        yield plural(len(findings), "finding")


def _deleted(name: str) -> Iterator[str]:
    called = [each for each in _of(name) if os.path.exists(each.path)]
    if not called:
        raise BadInput(
            f"The file of {quoted(name)} is not there.", hint="Take it off the settings."
        )
    for each in called:
        try:
            os.unlink(each.path)
        except OSError as error:
            raise Unavailable(f"{quoted_path(each.path)}: {error.strerror}.") from None
        yield f"{name}: {inert(each.path)} is deleted.\n"


def _described(tagged: Tagged) -> str:
    try:
        status = os.stat(tagged.path)
    except OSError:
        return f"{inert(tagged.path)}, which is not there"
    when = datetime.fromtimestamp(status.st_mtime, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{inert(tagged.path)}, {status.st_size:,} bytes, {when}"
