"""The code before and after each rule compiles, parses or is read by its language."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from gpuadvise.advisor.backends.cuda_sources import _toolkit_folders
from gpuadvise.advisor.backends.nvrtc import Program, compiled, library
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.cli.rules.text import code_of
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.source.model import BeforeAfter

CODE = {rule.id: code for rule in RULES if (code := code_of(rule.id))}
PIECES = [
    pytest.param(code.language, text, id=f"{name}-{when}")
    for name, code in CODE.items()
    for when, text in (("before", code.before), ("after", code.after))
]
TARGET = "sm_90"


def test_every_rule_has_code_and_nothing_else_has() -> None:
    assert set(CODE) == {rule.id for rule in RULES}


@pytest.mark.parametrize("name", CODE)
def test_the_two_differ_and_are_short(name: str) -> None:
    code = CODE[name]
    assert code.before != code.after
    assert code.language in {"cuda", "host", "python", "sh"}
    for text in (code.before, code.after):
        lines = text.split("\n")
        assert len(lines) <= 20
        assert max(map(len, lines)) <= 130
        assert all(line == line.rstrip() for line in lines)


def with_compiler() -> bool:
    try:
        library()
    except Unavailable:
        return False
    return True


@pytest.mark.parametrize(("language", "text"), PIECES)
def test_the_code_is_right(language: str, text: str) -> None:
    match language:
        case "cuda":
            if not with_compiler():
                pytest.skip("pip install nvidia-cuda-nvrtc")
            compile_device_code(text)
        case "host":
            parse(text)
        case "python":
            compile(text, "rule.py", "exec")
        case _:
            subprocess.run(["sh", "-n", "-c", text], check=True)


def compile_device_code(text: str) -> None:
    options = [*_toolkit_folders()]
    if "#include" in text and not options:
        pytest.skip("no headers of CUDA are installed here")
    program = Program(text=text.encode(), name="rule.cu")
    assert compiled(program, TARGET, options).cubin.startswith(b"\x7fELF")


def parse(text: str) -> None:
    import tree_sitter
    import tree_sitter_cuda

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    assert not parser.parse(text.encode()).root_node.has_error


def test_python_and_shell_are_checked_by_what_reads_them() -> None:
    with pytest.raises(SyntaxError):
        compile("for", "rule.py", "exec")
    assert shutil.which("sh")
    assert isinstance(CODE["bank-conflicts"], BeforeAfter)
