"""The language server, asked by pygls' own client over a real connection."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

RECORDED = Path(__file__).parents[1] / "cli" / "recorded"
KERNEL = """\
__global__ void scale(float *a, float x) {
  /* \U0001f642 */ a[0] = x * 0.3;
  if (threadIdx.x == 0) __syncthreads();
}
"""


class Editor(LanguageClient):
    """What an editor keeps of a server."""

    def __init__(self) -> None:
        super().__init__("editor", "1")
        self.shown: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.said: list[str] = []

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.shown.put_nowait(params)

        @self.feature(lsp.WINDOW_LOG_MESSAGE)
        def logged(params: lsp.LogMessageParams) -> None:
            self.said.append(params.message)

    async def diagnostics(self) -> list[lsp.Diagnostic]:
        return list((await asyncio.wait_for(self.shown.get(), 60)).diagnostics)

    def open(self, path: Path, text: str) -> str:
        item = lsp.TextDocumentItem(uri=path.as_uri(), language_id="cuda", version=1, text=text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
        return item.uri


def talk(folder: Path, *arguments: str) -> Callable[[Callable[[Editor], Awaitable[None]]], None]:
    async def over(conversation: Callable[[Editor], Awaitable[None]]) -> None:
        editor = Editor()
        await editor.start_io(sys.executable, "-m", "gpuadvise", "lsp", *arguments, cwd=folder)
        await editor.initialize_async(
            lsp.InitializeParams(
                capabilities=lsp.ClientCapabilities(),
                root_uri=folder.as_uri(),
                process_id=os.getpid(),
            )
        )
        editor.initialized(lsp.InitializedParams())
        try:
            await conversation(editor)
        finally:
            await editor.shutdown_async(None)
            editor.exit(None)
            await editor.stop()

    return lambda conversation: asyncio.run(over(conversation))


def applied(text: str, edits: Any) -> str:
    lines = text.splitlines(keepends=True)
    (edit,) = edits
    start, end = edit.range.start, edit.range.end
    units = lines[start.line].encode("utf-16-le")
    before, after = units[: 2 * start.character], units[2 * end.character :]
    lines[start.line] = before.decode("utf-16-le") + edit.new_text + after.decode("utf-16-le")
    return "".join(lines)


def test_findings_fixes_and_hovers(tmp_path: Path) -> None:
    (tmp_path / "gpuadvise.toml").write_text('ignore = ["unrestricted-pointers"]')

    async def conversation(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.cu", KERNEL)
        first, second = await editor.diagnostics()
        assert (first.code, first.source) == ("implicit-double", "gpuadvise")
        # In UTF-16, as every editor counts: the face takes two units.
        assert (first.range.start.line, first.range.start.character) == (1, 22)
        assert (second.code, second.severity) == (
            "divergent-barriers",
            lsp.DiagnosticSeverity.Error,
        )
        asked = lsp.CodeActionParams(
            text_document=lsp.TextDocumentIdentifier(uri),
            range=first.range,
            context=lsp.CodeActionContext(diagnostics=[first]),
        )
        fix, accept = await editor.text_document_code_action_async(asked)
        assert applied(KERNEL, fix.edit.changes[uri]) == KERNEL.replace("0.3", "0.3f")
        accepted = applied(KERNEL, accept.edit.changes[uri])
        assert "  // gpuadvise: ignore[implicit-double]\n  /*" in accepted
        change = lsp.TextDocumentContentChangeWholeDocument(text=accepted)
        editor.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                text_document=lsp.VersionedTextDocumentIdentifier(uri=uri, version=2),
                content_changes=[change],
            )
        )
        assert [shown.code for shown in await editor.diagnostics()] == ["divergent-barriers"]
        hover = lsp.HoverParams(
            text_document=lsp.TextDocumentIdentifier(uri), position=lsp.Position(0, 18)
        )
        said = await editor.text_document_hover_async(hover)
        assert "scale(float*, int) for sm_90a: 10 registers per thread" in said.contents.value
        assert "occupancy in blocks of 256 threads" in said.contents.value

    talk(tmp_path, "--build", str(RECORDED / "90a.cubin"), "--gpu", "h100")(conversation)


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    async def conversation(editor: Editor) -> None:
        editor.open(tmp_path / "k.txt", KERNEL)
        assert await editor.diagnostics() == []
        editor.open(tmp_path / "broken.py", "import torch\ndef f(:\n")
        assert await editor.diagnostics() == []
        editor.open(tmp_path / "zero.cu", "a\0b")
        assert await editor.diagnostics() == []
        assert any("zero bytes" in line for line in editor.said)
        (tmp_path / "gpuadvise.toml").write_text("ignore = 7")
        editor.open(tmp_path / "k.cu", KERNEL)
        assert await editor.diagnostics() == []
        assert any("gpuadvise.toml: ignore" in line for line in editor.said)

    talk(tmp_path)(conversation)


@pytest.mark.skipif(not shutil.which("nvim"), reason="no Neovim")
def test_an_editor_shows_findings(tmp_path: Path) -> None:
    """Neovim without a screen; from 0.8 on `vim.lsp.start` does both steps at once."""
    (tmp_path / "k.cu").write_text(KERNEL)
    script = tmp_path / "ask.lua"
    script.write_text(
        "local id = vim.lsp.start_client({name='gpuadvise', root_dir=vim.fn.getcwd(),"
        " cmd={vim.env.PYTHON, '-m', 'gpuadvise', 'lsp'}})\n"
        "vim.lsp.buf_attach_client(0, id)\n"
        "vim.wait(30000, function() return #vim.diagnostic.get(0) > 1 end)\n"
        "for _, d in ipairs(vim.diagnostic.get(0)) do io.stdout:write(d.lnum, ' ', d.code, '\\n') end\n"
        "vim.cmd('qa!')\n"
    )
    ran = subprocess.run(
        ["nvim", "--headless", "--clean", "k.cu", "-c", "luafile ask.lua"],
        cwd=tmp_path, env={**os.environ, "PYTHON": sys.executable},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert ran.stdout.splitlines() == ["1 implicit-double", "2 divergent-barriers"]


def test_without_pygls_it_says_what_to_install(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    ran = cli("lsp")
    assert (ran.code, ran.err) == (
        3,
        "error: lsp needs the package pygls.\nhint: pip install pygls.\n",
    )
