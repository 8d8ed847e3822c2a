"""The server: tools, resources and prompts of the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp_types import ToolAnnotations
from pydantic import ValidationError

from gpuadvise import __version__
from gpuadvise.advisor.errors import GpuAdviseError
from gpuadvise.advisor.prose import SHOWN, and_list, inert, quoted
from gpuadvise.servers.mcp.root import allowed
from gpuadvise.servers.mcp.tools import FILES, TOOLS
from gpuadvise.servers.mcp.worker import answered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from anyio.abc import Process

    from gpuadvise.cli.answer import Answer

INSTRUCTIONS = (
    "What limits CUDA kernels and runs, from recordings, binaries and sources; nothing is run or changed. "
    "Slow and recorded: judge. Nothing recorded: next_command, or lint and kernels on what there is. After a "
    "change: compare. A claimed time: plausible. null is not known: do not guess it."
)
# Readers at a time: each is a process of its own.
_READERS = max(2, os.cpu_count() or 1)
# A reader that takes longer hangs: 1 GB of device code takes some ten seconds.
_LONGEST_SECONDS = 300
_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def serve(root: Path) -> None:
    """Answer a client on standard input and output until it closes them; files below *root* alone."""
    server(root).run("stdio")


def server(root: Path) -> MCPServer[Any]:
    """Return a server whose tools read files below *root*."""
    readers = anyio.Semaphore(_READERS)
    served: MCPServer[Any] = MCPServer(
        "gpuadvise",
        version=__version__,
        instructions=INSTRUCTIONS,
        tools=[_tool(function, root, readers) for function in TOOLS],
        log_level="CRITICAL",
    )
    _add_resources(served)
    _add_prompts(served)
    return served


def _tool(function: Callable[..., str], root: Path, readers: anyio.Semaphore) -> Tool:
    """Return *function* as a tool whose files are checked and read in a process of their own."""
    name = function.__name__

    async def call(**arguments: Any) -> str:
        return await _answer(name, arguments, root, readers)

    vars(call)["__signature__"] = inspect.signature(function, eval_str=True)
    tool = _Tool.from_function(
        call,
        name=name,
        description=function.__doc__,
        annotations=_READ_ONLY,
        structured_output=False,
    )
    tool.parameters = _short(tool.parameters)
    return tool


class _Tool(Tool):
    """A tool that takes what models write for its types, and says in a sentence what it does not take."""

    async def run(self, arguments: dict[str, Any], *further: Any, **options: Any) -> Any:
        """Return what the tool answers to *arguments*; raises ToolError."""
        known = self.parameters["properties"]
        for name in arguments.keys() - known.keys():
            raise self._refused(f"{self.name} takes no {quoted(name)}.")
        given = {name: _as_type(known[name]["type"], value) for name, value in arguments.items()}
        try:
            return await super().run(given, *further, **options)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            first = error.__cause__.errors()[0]
            name = str(first["loc"][0])
            if first["type"] == "missing":
                raise self._refused(f"{name} is missing.") from None
            wanted = _WANTED.get(known[name]["type"], "one of its words")
            shown = quoted(str(first["input"])[:SHOWN])
            raise self._refused(f"{name}: {shown} is not {wanted}.") from None

    def _refused(self, sentence: str) -> ToolError:
        names = and_list(list(self.parameters["properties"]))
        return ToolError(f"Error executing tool {self.name}: {inert(sentence)}\nIt takes {names}.")


_WANTED = {"array": "a list of texts", "integer": "a whole number", "string": "a text"}


def _as_type(wanted: str, value: Any) -> Any:
    """Return *value* as *wanted* where it says the same: one file for a list, 256 for "256", [16, 16] for "16x16"."""
    if wanted == "array" and isinstance(value, str) and not value.startswith("["):
        return [value]
    if wanted == "string" and isinstance(value, list):
        numbers = all(isinstance(each, int) for each in value)
        return ("x" if numbers else " ").join(map(str, value))
    if wanted == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _short(schema: Any) -> Any:
    """Return a JSON Schema without titles and empty defaults, which a model pays for at each start."""
    if isinstance(schema, list):
        return [_short(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _short(each) for name, each in value.items()}
        if key == "properties"
        else _short(value)
        for key, value in schema.items()
        if key not in ("title", "description") and not (key == "default" and not value)
    }


async def _answer(
    tool: str, arguments: Mapping[str, Any], root: Path, readers: anyio.Semaphore
) -> str:
    """Return the answer of *tool*; raises ToolError with the sentence and its hint."""
    given = dict(arguments)
    named = [name for name in given if name in FILES and given[name]]
    try:
        for name in named:
            one = isinstance(given[name], str)
            paths = [given[name]] if one else given[name]
            inside = await anyio.to_thread.run_sync(allowed, root, paths, abandon_on_cancel=True)
            given[name] = inside[0] if one else inside
    except GpuAdviseError as error:
        raise _refusal(error.message, error.hint) from None
    if named:
        async with readers:
            said = await _read(tool, given, root)
    else:
        said = await anyio.to_thread.run_sync(answered, tool, given, abandon_on_cancel=True)
    text = said.get("text")
    if text is None:
        raise _refusal(said.get("message") or "", said.get("hint"))
    return text


def _refusal(message: str, hint: str | None) -> ToolError:
    return ToolError(inert(message) + (f"\n{inert(hint)}" if hint else ""))


async def _read(tool: str, arguments: Mapping[str, Any], root: Path) -> dict[str, str | None]:
    """Return what a process of its own answers; it is killed, with its children, when nobody waits."""
    question = json.dumps({"tool": tool, "arguments": arguments}).encode()
    # -P: nothing of the root is taken for a module.
    process = await anyio.open_process(
        [sys.executable, "-P", "-m", "gpuadvise.servers.mcp.worker"],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        with anyio.move_on_after(_LONGEST_SECONDS) as waited:
            out = await _exchange(process, question)
    finally:
        _kill(process)
        with anyio.CancelScope(shield=True):
            await process.wait()
    if waited.cancelled_caught:
        return {"message": f"The files take longer than {_LONGEST_SECONDS} s to read."}
    try:
        said: dict[str, str | None] = json.loads(out)
    except ValueError:
        return {
            "message": "The process that read the files ended early.",
            "hint": "One of them may be damaged, or memory ran out: give fewer, or one.",
        }
    return said


async def _exchange(process: Process, question: bytes) -> bytes:
    """Return all that *process* writes after it was sent *question*."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(anyio.BrokenResourceError, BrokenPipeError):
        await process.stdin.send(question)
    await process.stdin.aclose()
    return b"".join([chunk async for chunk in process.stdout])


def _kill(process: Process) -> None:
    """End *process* and what it started, if it still runs: its number may be another's afterwards."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _add_resources(served: MCPServer[Any]) -> None:
    """Offer the rules and the glossary, as lists and one by one."""

    def page(command: str, *words: Any) -> str:
        from importlib import import_module

        from gpuadvise.cli.render import markdown

        try:
            said: Answer = import_module(f"gpuadvise.cli.{command}.command").command(*words)
        except GpuAdviseError as error:
            raise ResourceError(f"{error.message} {error.hint or ''}".strip()) from None
        return markdown.render(said.blocks())

    resource = partial(served.resource, mime_type="text/markdown")

    @resource("gpuadvise://rules", description="Every rule: id, priority, what it asks for.")
    def rules() -> str:
        return page("rules")

    @resource(
        "gpuadvise://rules/{rule}", description="One rule: when it speaks, code before and after."
    )
    def rule(rule: str) -> str:
        return page("rules", rule)

    @resource("gpuadvise://glossary", description="The terms of the field, each in a sentence.")
    def glossary() -> str:
        return page("explain")

    @resource("gpuadvise://glossary/{term}", description="One term in a few sentences.")
    def term(term: str) -> str:
        return page("explain", [term.replace("-", " ")])


def _add_prompts(served: MCPServer[Any]) -> None:
    """Offer the flows that people ask for."""

    @served.prompt(description="Find out why a kernel or a run is slow, step by step.")
    def why_is_it_slow(file: str = "", program: str = "") -> str:
        first = (
            f"Call judge with {file}."
            if file
            else f"Call next_command with program {program or './app'}, run its line, then judge the file."
        )
        return (
            f"Find out why this is slow. {first} Quote its numbers; treat null as not known. For values that "
            "are null, call next_command with the same files. Propose the first action with its expected "
            "gain and line; say what dismisses the others. Change one thing, record again, call compare."
        )

    @served.prompt(description="Check a claimed time or speed-up before it is believed.")
    def is_it_true(claim: str) -> str:
        return (
            f"Check this claim: {claim}. Work out its operations and its bytes of device memory, call "
            "plausible with the claimed time, the dtype and the GPU. Impossible means a wrong timer, "
            "skipped work or another dtype: look for that. With recordings of both, call compare."
        )
