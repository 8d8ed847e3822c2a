"""The calculator in a terminal, driven by Textual's own pilot: it says what the command says."""

from __future__ import annotations

import asyncio
import shlex
import sys

import pytest

pytest.importorskip("textual")

from textual.widgets import Input, Select, Static

from gpuadvise.servers.tui import calculator
from gpuadvise.servers.tui.calculator import Calculator, command_line


def shown(app: Calculator, place: str) -> str:
    return str(app.query_one(place, Static).content)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calculator, "live_text", lambda: None)


@pytest.mark.usefixtures("no_gpu")
def test_each_change_is_answered_as_the_command_answers(cli) -> None:
    async def drive() -> list[tuple[str, str]]:
        app, seen = Calculator("v100"), []
        async with app.run_test(size=(120, 50)) as pilot:
            seen.append((shown(app, "#line"), shown(app, "#answer")))
            app.query_one("#regs", Input).focus()
            await pilot.press("end", "backspace", "backspace", "3", "7")
            app.query_one("#block", Input).value = "320"
            app.query_one("#grid", Input).value = "500"
            await pilot.pause()
            seen.append((shown(app, "#line"), shown(app, "#answer")))
            app.query_one("#gpu", Select).value = "rtx-4090"
            app.query_one("#dynamic_smem", Input).value = "48K"
            await pilot.pause()
            seen.append((shown(app, "#line"), shown(app, "#answer")))
            await pilot.press("escape")
        return seen

    seen = asyncio.run(drive())
    assert "--regs 37 --block 320 --grid 500 --gpu v100" in seen[1][0]
    assert "62.5 % occupancy" in seen[1][1]
    assert "--gpu rtx-4090" in seen[2][0]
    for line, said in seen:
        assert said.rstrip() == cli(*shlex.split(line)[1:]).out.rstrip()


@pytest.mark.usefixtures("no_gpu")
def test_what_no_launch_can_have_is_said(cli) -> None:
    async def drive() -> str:
        app = Calculator(None)
        async with app.run_test() as pilot:
            app.query_one("#block", Input).value = "many"
            await pilot.pause()
            return shown(app, "#answer")

    assert "many" in asyncio.run(drive())


def test_a_live_gpu_is_offered_and_its_values_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calculator, "live_text", lambda: "SM clock 1,980 MHz")

    async def drive() -> tuple[str, bool]:
        app = Calculator("l4")
        async with app.run_test() as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            picker = app.query_one("#gpu", Select)
            assert picker.value == app.chosen
            picker.value = calculator.LIVE
            await pilot.pause()
            app.look_again()
            await app.workers.wait_for_complete()
            return shown(app, "#live"), "--device 0" in shown(app, "#line")

    assert asyncio.run(drive()) == ("SM clock 1,980 MHz", True)


def test_live_values_are_those_of_device(monkeypatch: pytest.MonkeyPatch, cli) -> None:
    said = calculator.live_text()
    assert (said is None) == (cli("device", "--device", "0").code != 0)


def test_the_command_of_what_is_typed() -> None:
    assert command_line("l4", {"regs": " 40 ", "dynamic_smem": "1K", "grid": ""}) == (
        "gpuadvise occupancy --regs 40 --dynamic-smem 1K --gpu l4"
    )


def test_without_a_terminal_and_without_textual(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("tui")
    assert (done.code, "needs a terminal" in done.err) == (3, True)
    monkeypatch.setitem(sys.modules, "textual", None)
    done = cli("tui")
    assert (done.code, "pip install textual" in done.err) == (3, True)
