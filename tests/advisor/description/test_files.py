"""Kernel descriptions in files and streams: every fault with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.files import (
    BadLine,
    from_json,
    from_lines,
    from_toml,
    in_json,
    in_toml,
)
from gpuadvise.advisor.description.reader import Described, described
from gpuadvise.advisor.errors import BadInput

TOML = """\
[defaults]
gpu = "h200"

[[kernel]]
name = "a"
regs = 32
block = [16, 16]

[[kernel]]
name = "b"
block = 100

[kernel.traffic]
read = "1GB"
write = 0
time = "1ms"

[[kernel.transfers]]
direction = "h2d"
bytes = "1MiB"

[[kernel.transfers]]
direction = "d2h"
bytes = "2MiB"
"""


def toml(text: str) -> tuple[Described, ...]:
    return from_toml(text, "kernel.toml", from_catalogue)


def message(text: str) -> str:
    with pytest.raises(BadInput) as caught:
        toml(text)
    return caught.value.message


def test_a_document_of_two_kernels() -> None:
    first, second = toml(TOML)
    assert first.facts.launch is not None
    assert first.facts.launch.threads == 256
    assert first.facts.occupancy is not None
    assert first.facts.device is not None
    assert first.facts.device.name == "NVIDIA H200 SXM 141 GB"
    assert second.facts.occupancy is None  # no registers given
    assert second.facts.traffic is not None
    assert second.facts.traffic.rate == 1e12
    assert second.facts.transfers is not None
    assert [copy.bytes for copy in second.facts.transfers] == [2**20, 2**21]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ('gpu = "h200"', 'gpu = "h2000"', 'kernel.toml:2:1: defaults.gpu: "h2000" is no GPU'),
        ("regs = 32", "regs = 0", 'kernel.toml:6:1: kernel.0.regs: "0" is not a whole number'),
        ("regs = 32", "regs = true", 'kernel.toml:6:1: kernel.0.regs: "true" is not a whole'),
        ("regs = 32", "reg = 32", 'kernel.toml:6:1: kernel.0.reg: "reg" is not a key'),
        ("[16, 16]", "[16, 0]", 'kernel.toml:7:1: kernel.0.block: "a list" is not a size'),
        (
            'name = "b"',
            'name = "a"',
            'kernel.toml:10:1: kernel.1.name: The kernel "a" is described',
        ),
        ('time = "1ms"', "time = nan", 'kernel.toml:16:1: kernel.1.traffic.time: "nan" is not'),
        ('time = "1ms"', "time = -1", 'kernel.toml:16:1: kernel.1.traffic.time: "-1" is not'),
        ('time = "1ms"\n', "", 'kernel.toml:13:1: kernel.1.traffic: The key "time" is missing.'),
        (
            '"d2h"',
            '"d2hh"',
            'kernel.toml:23:1: kernel.1.transfers.1.direction: "d2hh" is not known',
        ),
        ("[kernel.traffic]", "[kernel.trafic]", "kernel.toml:13:1: kernel.1.trafic: "),
        ("[defaults]", "[default]", 'kernel.toml:1:1: default: "default" is not a key'),
        ("[[kernel]]\nname", "[kernel]\nname", "kernel.toml: not TOML: Cannot"),
        ("[defaults]", "[defaults", "kernel.toml: not TOML: Expected ']' at the end of a table"),
        ("block = 100", "block = 1e400", 'kernel.toml:11:1: kernel.1.block: "inf" is not a size'),
        ("block = 100", 'block = "1x2x3x4"', 'kernel.toml:11:1: kernel.1.block: "1x2x3x4" is not'),
        ("block = 100", "smem = 5", "kernel.toml:9:1: kernel.1: A launch is described without its"),
        ("block = 100", 'block = 100\ncc = "9.0"', "kernel.toml:2:1: defaults.gpu: Give gpu or cc"),
    ],
)
def test_a_fault_is_named_with_its_place(old: str, new: str, wanted: str) -> None:
    assert message(TOML.replace(old, new, 1)).startswith(wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "kernel.toml:1:1: No kernel is described."),
        ("kernel = 3", "kernel.toml:1:1: No kernel is described."),
        ("kernel = [3]", "kernel.toml:1:1: kernel.0: A table of keys belongs here."),
        ("defaults = 3", "kernel.toml:1:1: defaults: A table of keys belongs here."),
        ('[[kernel]]\ntransfers = "x"', "kernel.toml:2:1: kernel.0.transfers: A list of tables"),
        ("[[kernel]]\ntransfers = []", "kernel.toml:2:1: kernel.0.transfers: A list of tables"),
        ("[[kernel]]\ntraffic = 3", "kernel.toml:2:1: kernel.0.traffic: A table of keys"),
        ("a = " + "[" * 100_000, "kernel.toml: n"),
    ],
)
def test_shapes_that_are_none(text: str, wanted: str) -> None:
    assert message(text).startswith(wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"kernel": [{"regs": 0, "block": 1}]}', 'k.json:1:22: kernel.0.regs: "0" is not'),
        ('[\n {"block": 1},\n {"block": "x"}\n]', 'k.json:3:12: kernel.1.block: "x" is not'),
        ('{\n "block": 0\n}', 'k.json:2:11: kernel.0.block: "0" is not'),
        ('{"block": NaN}', "k.json: not JSON that can be used: NaN is not a number."),
        ('{"block": 1, "block": 2}', 'k.json: not JSON that can be used: the key "block" is given'),
        ("what a profiler wrote", "k.json is no evidence: neither a report, page or recording"),
        ('{"block": }', "k.json: not JSON: Expecting value (line 1, column 11)."),
        ("[" * 100_000, "k.json: not JSON that can be used: nested too deeply."),
        ('{"block": ' + "9" * 5000 + "}", "k.json: not JSON that can be used: "),
        ("3", "k.json:1:1: A table with the key kernel belongs here."),
        ('{"kernel": []}', "k.json:1:1: No kernel is described."),
    ],
)
def test_json_faults(text: str, wanted: str) -> None:
    with pytest.raises(BadInput) as caught:
        from_json(text, "k.json", from_catalogue)
    assert caught.value.message.startswith(wanted)


def test_json_documents() -> None:
    for text in ('{"block": 32}', '[{"block": 32}]', '{"kernel": [{"block": 32}]}'):
        [kernel] = from_json(text, "k.json", from_catalogue)
        assert kernel.facts.launch is not None


def test_lines_come_one_by_one_and_bad_ones_are_told() -> None:
    lines = ['{"block": 32}', "", "{", '{"block": 32, "name": "a"}', '{"block": 32, "name": "a"}']
    found = list(from_lines(lines, "stdin", from_catalogue))
    assert [isinstance(each, BadLine) for each in found] == [False, True, False, False]
    [bad] = [each for each in found if isinstance(each, BadLine)]
    assert bad.line == 3
    assert bad.error.message.startswith("stdin:3: not JSON")


def test_a_line_of_a_megabyte_is_refused_unread() -> None:
    [bad] = from_lines(['{"name": "' + "x" * 2**20 + '"}'], "stdin", from_catalogue)
    assert isinstance(bad, BadLine)
    assert bad.error.message == "stdin:1: a line longer than 1,048,576 characters."


def test_a_selection_of_rules_per_kernel() -> None:
    kernel = described({"block": 32, "select": "high", "ignore": ["a", "b"]}, from_catalogue)
    assert (kernel.select, kernel.ignore) == (("high",), ("a", "b"))


def test_a_list_of_devices() -> None:
    facts = described({"devices": ["h200", "t4"]}, from_catalogue).facts
    assert facts.devices is not None
    assert [device.id for device in facts.devices] == ["h200-sxm", "t4"]
    with pytest.raises(BadInput):
        described({"devices": ["h201"]}, from_catalogue)


def test_places_in_toml() -> None:
    assert in_toml(TOML, ("kernel", 1, "transfers", 1, "bytes")) == (24, 1)
    assert in_toml(TOML, ("kernel", 0, "nothing")) == (4, 1)
    assert in_toml("a = { b = 1, c = 2 }", ("a", "c")) == (1, 14)
    assert in_toml("", ("a",)) == (1, 1)


names = st.text(st.characters(codec="utf-8"), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_places_in_json_are_where_the_value_is(value: object) -> None:
    text = json.dumps(value, indent=1)
    lines = text.split("\n")
    for path, part in paths(value):
        line, column = in_json(text, path)
        assert lines[line - 1][column - 1 :].startswith(json.dumps(part)[0])


Paths = list[tuple[tuple[str | int, ...], object]]


def paths(value: object, path: tuple[str | int, ...] = ()) -> Paths:
    found: Paths = [(path, value)]
    if isinstance(value, dict):
        for key, item in value.items():
            if json.dumps(key) == f'"{key}"':
                found += paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += paths(item, (*path, index))
    return found


@given(values)
def test_any_value_is_described_or_refused(value: object) -> None:
    try:
        described(value, from_catalogue)
    except BadInput as error:
        assert len(error.message) < 500


@given(st.text(max_size=60))
def test_any_text_is_toml_or_refused(text: str) -> None:
    try:
        toml(text)
    except BadInput as error:
        assert "kernel.toml" in error.message
