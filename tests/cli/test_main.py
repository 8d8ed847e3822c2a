from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gpuadvise.cli import main

PROGRAM = "from gpuadvise.cli.main import program; "


def test_no_arguments_show_the_help(cli) -> None:
    ran = cli()
    assert ran.code == 0
    assert ran.out.startswith("Usage: gpuadvise [OPTIONS] COMMAND [ARGS]...")
    assert ran.err == ""


def test_the_help_fits_a_screen_and_shows_examples(cli) -> None:
    ran = cli("--help")
    lines = ran.out.splitlines()
    assert len(lines) <= 58
    assert max(map(len, lines)) <= 100
    assert "Examples:" in ran.out


def test_version(cli) -> None:
    from gpuadvise import __version__

    assert cli("--version").out == f"gpuadvise {__version__}\n"


@pytest.mark.parametrize("args", [["complation"], ["--nope"], ["x" * 10_000_000], ["completion"]])
def test_a_mistake_is_one_sentence(cli, args: list[str]) -> None:
    ran = cli(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert len(ran.err) < 600


def test_a_near_miss_is_named(cli) -> None:
    assert "Did you mean completion" in cli("complation").err


def test_arguments_that_are_no_text(process) -> None:
    ran = process(b"\xff\xfe")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == 'error: "\\udcff\\udcfe" is not a command.'


def test_a_closed_pipe_is_quiet() -> None:
    command = f"{sys.executable} -m gpuadvise completion bash | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.strip() in {"0", "141"}


def test_memory_that_ends_is_said(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: list[str]) -> int:
        raise MemoryError

    monkeypatch.setattr(main, "_run", fail)
    ran = cli("gpus")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines() == [
        "error: No memory is left.",
        "hint: Free some, or raise its limit (ulimit -v).",
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell", "pwsh"])
def test_completion_scripts(cli, shell: str) -> None:
    ran = cli("completion", shell)
    assert ran.code == 0
    assert "_GPUADVISE_COMPLETE" in ran.out


def test_an_unknown_shell(cli) -> None:
    assert cli("completion", "tcsh").code == 2


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("gpuadvise comp", {"compat", "completion"}),
        ("gpuadvise occupancy --re", {"--regs"}),
        ("gpuadvise occupancy --gpu h200", {"h200-sxm", "h200-nvl"}),
        ("gpuadvise schema occ", {"occupancy"}),
        ("gpuadvise completion z", {"zsh"}),
    ],
)
def test_the_shell_gets_its_completions(process, words: str, offered: set[str]) -> None:
    place = str(len(words.split()) - 1)
    ran = process(_GPUADVISE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=place)
    assert set(ran.out.split()) == offered


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("occupancy --blocks 256", "--block takes the threads of one."),
        ("occupancy --output x", "Into a file: > FILE."),
        ("help occ", "Did you mean occupancy?"),
        ("ban", "Did you mean bandwidth or banks?"),
        ("rules coalesc", "Did you mean uncoalesced-access?"),
        ("rules zz", "`gpuadvise rules` lists them, with --select those of a topic or priority."),
    ],
)
def test_part_of_a_name_and_what_else_it_means_are_said(cli, line: str, hint: str) -> None:
    ran = cli(*line.split())
    assert ran.code == 2
    assert ran.err.splitlines()[-1].endswith(hint)


@pytest.mark.parametrize("command", ["lint", "advise", "timeline", "kernels"])
def test_a_name_that_is_too_long_is_bad_input(cli, command: str) -> None:
    ran = cli(command, f"{'a' * 5000}.cu")
    assert ran.code == 2
    assert "please report" not in ran.err
    assert len(ran.err) < 400


@pytest.mark.parametrize(
    "line",
    [
        "--version",
        "occupancy --regs 32 --block 256 --gpu h100 --format json",
        "occupancy --regs 32 --block 256 --gpu h100 --fail-under 101%",
        "occupancy --regs -1",
        "bandwidth --read 1GB --write 1GB --time 1ms --gpu h100",
    ],
)
def test_the_console_script_says_and_returns_what_the_module_does(line: str) -> None:
    script, module = (
        subprocess.run([sys.executable, *start, *line.split()], capture_output=True)
        for start in (["-c", f"{PROGRAM}program()"], ["-m", "gpuadvise"])
    )
    assert (script.returncode, script.stdout, script.stderr) == (
        module.returncode, module.stdout, module.stderr,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("import atexit; atexit.register(print, 'last words')", "last words"),
        (
            "import threading, time;"
            "threading.Thread(target=lambda: (time.sleep(0.5), print('late'))).start()",
            "late",
        ),
    ],
)
def test_the_end_of_the_console_script_waits_for_what_is_left_to_do(before: str, said: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", f"{before}; {PROGRAM}program()", "--version"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[1:] == [said]


def _unread(*start: str) -> tuple[int, bytes]:
    """Return the exit code and the errors of a program whose output nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run([sys.executable, *start], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    return ran.returncode, ran.stderr


def test_the_console_script_says_that_nobody_reads() -> None:
    assert _unread("-c", f"{PROGRAM}program()", "--help") == _unread("-m", "gpuadvise", "--help")
