"""The labels and the recorded launches belong together."""

from __future__ import annotations

import csv
import io
import json
import lzma
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
GROUPS = sorted(path.name.removesuffix(".raw.csv.xz") for path in RECORDED.glob("*.raw.csv.xz"))
LABELS: list[dict[str, Any]] = tomllib.loads((HERE / "labels.toml").read_text())["launch"]

PERSONAL = (b"/home", b"/opt/", b"/root", b"/tmp", b"/usr/", b"/work", b"127.0.0", b"site-packages")


def unpacked(name: str) -> bytes:
    """Return the content of a recorded file."""
    return lzma.decompress((RECORDED / name).read_bytes())


def launches(group: str, page: str) -> dict[int, dict[str, str]]:
    """Return one row per launch of a page, by ID."""
    rows = csv.DictReader(io.StringIO(unpacked(f"{group}.{page}.csv.xz").decode()))
    return {int(row["ID"]): row for row in rows if row["ID"]}


@pytest.mark.parametrize("group", GROUPS)
def test_every_launch_has_one_label(group: str) -> None:
    labels = [label for label in LABELS if label["group"] == group]
    ids = [label["id"] for label in labels]
    for page in ("raw", "details"):
        rows = launches(group, page)
        assert sorted(ids) == sorted(rows)
        for label in labels:
            assert label["kernel"] in rows[label["id"]]["Kernel Name"]


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_says_where_it_was_recorded(group: str) -> None:
    for name in (f"{group}.ncu-rep.xz", f"{group}.raw.csv.xz", f"{group}.details.csv.xz"):
        content = unpacked(name)
        assert not [text for text in PERSONAL if text in content]
    for page in ("raw", "details"):
        for row in launches(group, page).values():
            assert not row["Process ID"] + row["Process Name"] + row["Host Name"]


def test_every_label_was_measured() -> None:
    assert {label["basis"] for label in LABELS} == {"measured"}
    assert {label["group"] for label in LABELS} == set(GROUPS)


def test_excellent_launches_have_nothing_loud() -> None:
    assert not [label for label in LABELS if label["excellent"] and label["loud"]]
    assert all(label["limiter"] and label["why"] for label in LABELS)


def test_speed_ups_are_those_measured() -> None:
    times: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for line in (RECORDED / "times.jsonl").read_text().splitlines():
        time = json.loads(line)
        times[time["pair"]][time["variant"]] += time["median_us"]
    faults = [label for label in LABELS if label.get("variant") == "fault"]
    assert len({label["case"] for label in faults}) == 41
    for label in faults:
        pair = times[label["case"]]
        assert label["speedup"] == pytest.approx(pair["fault"] / pair["repair"], abs=1e-3)


def test_a_repair_that_won_nothing_makes_no_fault() -> None:
    harmless = {label["case"] for label in LABELS if label.get("speedup", 2) < 1.05}
    assert harmless == {
        "contended_shared_histogram",
        "local_array_with_computed_index",
        "offset_access",
        "tiny_blocks",
    }
    planted = {"atomic-contention", "register-spills", "uncoalesced-access", "tiny-blocks"}
    for label in LABELS:
        if label["case"] in harmless:
            named = {
                rule
                for rules in label["loud"]
                for rule in ([rules] if isinstance(rules, str) else rules)
            }
            assert not named & planted
