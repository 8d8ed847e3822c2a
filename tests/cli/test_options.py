"""The table of options: each is defined once, and read alike wherever it is written."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from gpuadvise.advisor import values as v
from gpuadvise.advisor.description.keys import LAUNCH
from gpuadvise.advisor.description.tables import LateTable, ListOf
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.bag import SUPPLY
from gpuadvise.cli import options
from gpuadvise.cli.app import COMMANDS, SETTINGS, _loaded
from gpuadvise.cli.exits import Exit, fails_under
from gpuadvise.cli.spellings import current

TABLES = {it.key: it.read for it in SUPPLY.values() if it.key}


def _key(path: tuple[str, ...]) -> object:
    *table, name = path
    if not table:
        return {**LAUNCH, **TABLES}[name]
    keys = TABLES[table[0]]
    table_of = keys.table if isinstance(keys, ListOf) else keys
    loaded = table_of.load() if isinstance(table_of, LateTable) else table_of
    return loaded.keys[name]  # type: ignore[union-attr]


def _commands() -> list[str]:
    return [row.name for row in COMMANDS]


@pytest.mark.parametrize("name", _commands())
def test_every_option_of_a_command_stands_in_the_table(name: str) -> None:
    row = next(row for row in COMMANDS if row.name == name)
    known = {options.flag(key) for key in options.OPTIONS}
    known |= {s for o in options.OPTIONS.values() for many in o.spellings for s in many.split("/")}
    for parameter in _loaded(row).params:
        flags = {flag for flag in parameter.opts if flag.startswith("-")}
        assert flags <= known | {"--json", "--color"}
        assert not flags or getattr(parameter, "help", None)
    assert SETTINGS


def test_no_option_is_without_a_command() -> None:
    used = {flag for row in COMMANDS for p in _loaded(row).params for flag in p.opts}
    switches = {many.split("/")[0] for o in options.OPTIONS.values() for many in o.spellings}
    assert {options.flag(name) for name in options.OPTIONS} <= used | switches


@pytest.mark.parametrize("name", [n for n, option in options.OPTIONS.items() if option.key])
def test_every_place_in_a_description_is_a_key(name: str) -> None:
    path = options.OPTIONS[name].key
    assert _key(path)


# Where one idea is written: an option of two commands, a key of a description, a batch column.
SAME = [
    ("regs", "abc", '"abc" is not a whole number from 1 to 65536.'),
    ("regs", "0", '"0" is not a whole number from 1 to 65536.'),
    ("block", "33x99x", '"33x99x" is not a size in threads or blocks.'),
    ("smem", "48KB", '"48KB" can mean 1000 or 1024 bytes.'),
    ("carveout", "900%", '"900%" is not a share.'),
    ("launch_bounds", "x", '"x" are not launch bounds.'),
    ("cluster", "0", '"0" is not a size in threads or blocks.'),
]


@pytest.mark.parametrize(("name", "text", "sentence"), SAME)
def test_one_sentence_wherever_it_is_written(cli, tmp_path, name, text, sentence) -> None:
    given = {"regs": "32", "block": "256", name: text}
    arguments = [word for key, value in given.items() for word in (options.flag(key), value)]
    for command in ("occupancy", "advise"):
        ran = cli(command, *arguments, "--gpu", "h200")
        assert (ran.code, ran.err.splitlines()[0]) == (
            2,
            f"error: {options.flag(name)}: {sentence}",
        )
    batch = tmp_path / "batch.ndjson"
    batch.write_text(json.dumps({"regs": 32, "block": 256}) + "\n" + json.dumps(given))
    assert f"line 2: {name}: {sentence}" in cli("occupancy", "--batch", str(batch)).err
    toml = tmp_path / "kernel.toml"
    toml.write_text("[[kernel]]\n" + "".join(f'{k} = "{value}"\n' for k, value in given.items()))
    assert f"{name}: {sentence}" in cli("advise", str(toml)).err


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (("--carveout", "50%", "--regs", "40", "--block", "256"), "carveout", 50),
        (("--carveout", "0.5", "--regs", "40", "--block", "256"), "carveout", 50),
        (("--flops", "2TFLOP", "--bytes", "3GB"), "flops", 2e12),
        (("--word", "4", "--stride", "12B"), "stride", "12B"),
        (("--h2d", "256MiB", "--kernel", "4ms"), "h2d", "256MiB"),
        (("--parallel", "3/4", "--processors", "8"), "processors", 8),
        (("--static-smem", "8K", "--regs", "40", "--block", "256"), "smem", "8K"),
    ],
)
def test_advise_takes_what_the_other_commands_take(cli, arguments, field, value) -> None:
    if "flops" in field:
        arguments = (*arguments, "--dtype", "bf16", "--tensor")
    ran = cli("advise", *arguments, "--gpu", "h200", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["input"][field] == value


def test_a_type_may_name_its_unit_or_leave_it_to_an_option(cli) -> None:
    work = ("--flops", "2e12", "--bytes", "3GB", "--time", "5ms", "--gpu", "h200")
    for command in ("roofline", "advise"):
        named = cli(command, *work, "--dtype", "fp64_tensor", "--json")
        option = cli(command, *work, "--dtype", "fp64", "--tensor", "--json")
        assert named.code == option.code == 0
        first, second = json.loads(named.out), json.loads(option.out)
        assert first["result"] == second["result"]


def test_a_copy_of_a_size_takes_the_time_of_the_link(cli) -> None:
    pipeline = ("--kernel-time", "4ms", "--gpu", "h200", "--json")
    copied = json.loads(cli("advise", "--h2d", "256MiB", *pipeline).out)
    serial = next(f for f in copied["findings"] if f["rule"] == "serial-transfers")
    assert serial["gain"]["upper_bound"] > 1.5


@pytest.mark.parametrize("command", ["overlap", "advise"])
def test_a_copy_without_a_unit_is_refused(cli, command: str) -> None:
    ran = cli(command, "--h2d", "3", "--kernel", "5ms", "--gpu", "h200")
    assert (ran.code, ran.err.splitlines()[0]) == (2, 'error: --h2d: "3" has no unit.')


def test_an_offset_counts_elements_unless_it_has_a_unit(cli) -> None:
    def sectors(command: str, offset: str) -> object:
        ran = cli(
            command, "--word", "4", "--stride", "2", "--offset", offset, "--cc", "9.0", "--json"
        )
        document = json.loads(ran.out)
        if command == "access":
            return document["result"]["sectors"]
        return document["findings"][0]["evidence"][0]["value"]

    for offset in ("4", "16B", "4B"):
        assert sectors("access", offset) == sectors("advise", offset)
    assert sectors("access", "4") != sectors("access", "4B")


def test_a_share_without_its_sign_is_shown_both_ways() -> None:
    with pytest.raises(BadInput) as caught:
        options.read("fail_under", "80")
    assert caught.value.message == '--fail-under: "80" is not a share.'
    assert caught.value.hint == "Write 80% or 0.8."


@pytest.mark.parametrize(
    ("command", "typed", "meant", "note"),
    [
        ("compat", ["x", "--matrix"], ["x", "--all-gpus"], "--matrix is now called --all-gpus."),
        ("bandwidth", ["--matrix", "2x2"], ["--matrix", "2x2"], None),
        ("occupancy", ["--plot"], ["--show"], "write --show"),
        ("occupancy", ["--plot", "--cc", "9.0"], ["--show", "--cc", "9.0"], "write --show"),
        ("occupancy", ["--plot", "x.svg"], ["--plot", "x.svg"], None),
        ("occupancy", ["--carveout", "50"], ["--carveout", "50%"], "is read as 50%"),
        ("occupancy", ["--carveout", "0"], ["--carveout", "0"], None),
        ("occupancy", ["--carveout", "100"], ["--carveout", "100%"], "is read as 100%"),
        ("occupancy", ["--carveout", "101"], ["--carveout", "101"], None),
        ("doctor", ["--watch", "2"], ["--watch", "2s"], "is read as 2s"),
        ("doctor", ["--watch", "86401"], ["--watch", "86401"], None),
        ("advise", ["--offset", "4"], ["--offset", "4"], "write 4B for bytes"),
        ("gpus", ["--json"], ["--format", "json"], None),
        ("gpus", ["--", "--json"], ["--", "--json"], None),
    ],
)
def test_older_spellings(
    command: str, typed: list[str], meant: list[str], note: str | None
) -> None:
    words, notes = current(command, typed)
    assert words == meant
    assert len(notes) == (note is not None)
    assert not note or note in notes[0]


def test_json_beside_another_format_is_refused(cli) -> None:
    assert cli("gpus", "h200", "--json").out == cli("gpus", "h200", "--format", "json").out
    ran = cli("gpus", "h200", "--json", "-f", "csv")
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        "error: --json and --format do not go together.",
    )


@pytest.mark.parametrize(
    "line",
    [
        "occupancy --regs 96 --block 256 --cc 9.0 --sweep regs",
        "occupancy --regs 96 --block 256 --cc 9.0 --sweep smem",
        "access --cc 9.0 --stride 2",
        "banks --cc 9.0 --stride 32",
        "overlap --gpu h200 --h2d 3ms --kernel 5ms --d2h 3ms",
        "roofline --gpu h200 --flops 2e12 --bytes 1GB",
    ],
)
def test_what_can_be_drawn_is_drawn_and_written(cli, tmp_path, line: str) -> None:
    pytest.importorskip("matplotlib")
    plain = cli(*line.split())
    assert len(cli(*line.split(), "--show").out) > 0
    for suffix in ("svg", "png"):
        path = tmp_path / f"chart.{suffix}"
        ran = cli(*line.split(), "--plot", str(path))
        assert (ran.code, ran.out) == (0, plain.out)
        assert path.stat().st_size > 1000
    assert cli(*line.split(), "--plot", "chart.gif").code == 2


def test_limits_of_the_table_are_those_of_the_models() -> None:
    most = import_module("gpuadvise.advisor.transfers.pipeline").MOST_PIECES
    element = import_module("gpuadvise.advisor.memory.word_size").LARGEST_ELEMENT
    for name, limit in (("streams", most), ("chunks", most), ("word", element)):
        assert options.read(name, str(limit)) == limit
        with pytest.raises(BadInput):
            options.read(name, str(limit + 1))


def test_a_reader_names_its_option_or_its_column() -> None:
    with pytest.raises(BadInput, match=r'^--smem: "1XB" is not a size') as caught:
        options.named("--smem", v.size, "1XB")
    assert caught.value.hint
    assert options.named("--smem", v.size, "1K") == 1024


def test_a_threshold_needs_something_to_compare() -> None:
    assert fails_under("occupancy", 0.5, 0.5) == (Exit.RAN, ())
    assert fails_under("occupancy", 0.4, 0.5)[0] is Exit.THRESHOLD
    with pytest.raises(BadInput):
        fails_under("occupancy", None, 0.5)


def test_an_option_that_stands_there_twice_is_said(cli) -> None:
    call = [
        "occupancy",
        "--regs",
        "32",
        "--block",
        "256",
        "--get",
        "occupancy",
        "--get",
        "occupancy",
    ]
    twice = cli(*call, "--gpu", "a100", "--gpu", "l4")
    assert twice.err == "note: --gpu is given 2 times: the last counts.\n"
    once = cli(*call, "--gpu", "l4")
    assert (once.out, once.err) == (twice.out, "")
