"""``gpuadvise lsp``: a language server for CUDA and PyTorch sources, on standard input and output.

What ``lint`` finds are diagnostics, what it can mend are quick fixes, and a hover over a kernel says
what its build took, where the build is named.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpuadvise import __version__
from gpuadvise.advisor.errors import GpuAdviseError, Unavailable
from gpuadvise.advisor.prose import inert, plural
from gpuadvise.advisor.source.observations import CUDA_SUFFIXES, SUFFIXES
from gpuadvise.advisor.source.text import source_text
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.lint.file_rules import FileRules, names_in
from gpuadvise.cli.lint.gather import linted_source
from gpuadvise.cli.options import Gpu, Text, pick
from gpuadvise.rules.guide import rule_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsprotocol.types import CodeAction, Diagnostic, Hover, Position, Range, TextEdit
    from pygls.lsp.server import LanguageServer
    from pygls.workspace import TextDocument

    from gpuadvise.advisor.source.diagnostic import Diagnostic as Finding
    from gpuadvise.advisor.source.diagnostic import SourceRange
    from gpuadvise.api.answers.kernels import KernelRecord

EXAMPLES = """\
  gpuadvise lsp
  gpuadvise lsp --build build/libkernels.so --gpu h100"""
_SOURCE = "gpuadvise"


def command(
    build: Annotated[
        list[str] | None, pick("build", "What `kernels` reads, for hovers; may repeat.")
    ] = None,
    gpu: Gpu = None,
    select: Annotated[Text, pick("select", "Only these rules, separated by commas.")] = None,
    ignore: Annotated[Text, pick("ignore", "Not these rules, separated by commas.")] = None,
) -> Exit:
    """Serve an editor until it closes the connection; raises Unavailable without pygls."""
    try:
        import pygls  # noqa: F401
    except ImportError:
        raise Unavailable("lsp needs the package pygls.", hint="pip install pygls.") from None
    logging.disable(logging.CRITICAL)  # pygls would write tracebacks into the editor's log
    rules = partial(FileRules, select=names_in(select), ignore=names_in(ignore))
    desk = Desk(rules=rules, builds=tuple(build or ()), gpu=gpu)
    server(desk).start_io()
    return Exit.RAN


@dataclass(slots=True, kw_only=True)
class Desk:
    """What the server holds open: the findings of each document, and the kernels of the builds."""

    rules: partial[FileRules]
    builds: tuple[str, ...] = ()
    gpu: str | None = None
    findings: dict[str, Sequence[Finding]] = field(default_factory=dict)
    _kernels: Sequence[KernelRecord] = ()
    _stamps: tuple[float, ...] = ()

    def judge(self, document: TextDocument) -> str | None:
        """Keep the findings of *document*; returns why it could not be judged, or None."""
        self.findings[document.uri] = ()
        path = document.path
        rules = self.rules()  # read anew: settings change while an editor is open
        try:
            if not path.lower().endswith((*SUFFIXES, *CUDA_SUFFIXES)) or rules.excludes(path):
                return None
            python = path.lower().endswith(".py")
            data = document.source.encode("utf-8", "replace")
            linted = linted_source(path, data, rules.of(path), python=python).linted
        except GpuAdviseError as error:
            return error.message
        self.findings[document.uri] = linted.diagnostics
        return None

    def kernels(self) -> Sequence[KernelRecord]:
        """Return the kernels of the builds, read again when one of the files has changed."""
        from gpuadvise.api.calls import kernels

        stamps = tuple(
            Path(name).stat().st_mtime if Path(name).exists() else 0.0 for name in self.builds
        )
        if stamps != self._stamps:
            self._stamps, self._kernels = stamps, ()
            there = [name for name, stamp in zip(self.builds, stamps, strict=True) if stamp]
            if there:
                self._kernels = kernels(*there, gpu=self.gpu).result.kernels or ()
        return self._kernels


def server(desk: Desk) -> LanguageServer:
    """Return a language server that answers from *desk*."""
    from lsprotocol import types as lsp
    from pygls.lsp.server import LanguageServer

    served = LanguageServer(
        _SOURCE, __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
    )

    def publish(uri: str) -> None:
        document = served.workspace.get_text_document(uri)
        fault = desk.judge(document)
        if fault:
            served.window_log_message(
                lsp.LogMessageParams(type=lsp.MessageType.Warning, message=inert(fault))
            )
        shown = [_diagnostic(finding, document) for finding in desk.findings[uri]]
        served.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, version=document.version, diagnostics=shown)
        )

    @served.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @served.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @served.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        desk.findings.pop(params.text_document.uri, None)

    @served.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )
    def actions(params: lsp.CodeActionParams) -> list[CodeAction]:
        uri = params.text_document.uri
        document = served.workspace.get_text_document(uri)
        offered = []
        for finding in desk.findings.get(uri, ()):
            shown = _diagnostic(finding, document)
            if _touch(shown.range, params.range):
                offered += _actions(finding, shown, document)
        return offered

    @served.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> Hover | None:
        document = served.workspace.get_text_document(params.text_document.uri)
        word = document.word_at_position(params.position)
        texts = [
            *_of_rules(desk.findings.get(document.uri, ()), params.position, document),
            *_of_kernels(word, desk),
        ]
        if not texts:
            return None
        value = "\n\n---\n\n".join(texts)
        return lsp.Hover(contents=lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=value))

    return served


def _range(where: SourceRange, document: TextDocument) -> Range:
    """Return *where* in the units of the client."""
    from lsprotocol import types as lsp

    whole = lsp.Range(
        start=lsp.Position(line=where.line - 1, character=where.column - 1),
        end=lsp.Position(line=where.end_line - 1, character=where.end_column - 1),
    )
    return document.position_codec.range_to_client_units(document.lines, whole)


def _diagnostic(finding: Finding, document: TextDocument) -> Diagnostic:
    from lsprotocol import types as lsp

    severities = {
        "high": lsp.DiagnosticSeverity.Error,
        "medium": lsp.DiagnosticSeverity.Warning,
        "low": lsp.DiagnosticSeverity.Information,
    }
    rule = rule_of(finding.rule)
    return lsp.Diagnostic(
        range=_range(finding.where, document),
        severity=severities[str(rule.priority)],
        code=finding.rule,
        code_description=lsp.CodeDescription(href=rule.citations[0].url),
        source=_SOURCE,
        message=inert(f"{finding.message} {finding.action}"),
    )


def _actions(finding: Finding, shown: Diagnostic, document: TextDocument) -> list[CodeAction]:
    """Return the fix, where it is mechanical, and the comment that accepts the finding."""
    from lsprotocol import types as lsp

    text = source_text(document.source.encode("utf-8", "replace"), document.path)
    edits = [
        lsp.TextEdit(range=_range(text.where(edit.start, edit.end), document), new_text=edit.text)
        for edit in finding.edits
    ]
    fixes = [(inert(finding.action), edits, True)] if edits and not text.transcoded else []
    comment = _acceptance(finding, document)
    return [
        lsp.CodeAction(
            title=title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[shown],
            is_preferred=preferred,
            edit=lsp.WorkspaceEdit(changes={document.uri: changes}),
        )
        for title, changes, preferred in (
            *fixes,
            (f"Accept {finding.rule} here, in a comment", [comment], False),
        )
    ]


def _acceptance(finding: Finding, document: TextDocument) -> TextEdit:
    """Return the edit that puts a comment on the line above the finding."""
    from lsprotocol import types as lsp

    line = finding.where.line - 1
    code = document.lines[line] if line < len(document.lines) else ""
    indent = code[: len(code) - len(code.lstrip())]
    mark = "#" if document.path.lower().endswith(".py") else "//"
    start = lsp.Position(line=line, character=0)
    comment = f"{indent}{mark} gpuadvise: ignore[{finding.rule}]\n"
    return lsp.TextEdit(range=lsp.Range(start=start, end=start), new_text=comment)


def _touch(one: Range, other: Range) -> bool:
    return _before(one.start, other.end) and _before(other.start, one.end)


def _before(one: Position, other: Position) -> bool:
    return (one.line, one.character) <= (other.line, other.character)


def _of_rules(findings: Sequence[Finding], position: Position, document: TextDocument) -> list[str]:
    """Return why each rule speaks that found something at *position*."""
    from lsprotocol import types as lsp

    here = lsp.Range(start=position, end=position)
    texts = []
    for finding in findings:
        if _touch(_range(finding.where, document), here):
            rule = rule_of(finding.rule)
            url = rule.citations[0].url
            texts.append(
                f"**{rule.title}** ({rule.id}, {rule.priority})\n\n{rule.why}\n\n[Source]({url})"
            )
    return texts


def _of_kernels(word: str, desk: Desk) -> list[str]:
    """Return registers, spills and occupancy of each kernel named *word* in the builds."""
    if not word or not desk.builds:
        return []
    try:
        kernels = desk.kernels()
    except GpuAdviseError as error:
        return [inert(error.message)]
    named = [
        kernel
        for kernel in kernels
        if kernel.entry and _base_name(kernel.demangled or kernel.name) == word
    ]
    return ["  \n".join(inert(_said(kernel)) for kernel in named)] if named else []


def _base_name(name: str) -> str:
    """Return the name of a function without namespaces, template arguments and parameters."""
    from gpuadvise.advisor.facts.library_kernels import base_name

    return base_name(name)


def _said(kernel: KernelRecord) -> str:
    parts = [f"{kernel.demangled or kernel.name} for {kernel.arch}:"]
    if kernel.registers is not None:
        parts.append(f"{plural(kernel.registers, 'register')} per thread,")
    parts.append(f"{kernel.static_smem or 0:,} bytes of static shared memory,")
    spilled = (kernel.spill_stores or 0) + (kernel.spill_loads or 0)
    parts.append(f"{spilled} bytes spilled" if spilled else "no spills")
    at = kernel.block_threads
    if kernel.occupancy is not None and at is not None:
        parts[-1] += f"; {kernel.occupancy:.0%} occupancy in blocks of {at} threads"
    return f"{' '.join(parts)}."
