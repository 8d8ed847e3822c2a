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
BLIND = sorted(path.parent for path in (HERE / "blind").glob("*/labels.toml"))
LABELLED = {
    RECORDED: HERE / "labels.toml",
    **{folder: folder / "labels.toml" for folder in BLIND},
}
ALL_LABELS: dict[Path, list[dict[str, Any]]] = {
    folder: tomllib.loads(labels.read_text())["launch"] for folder, labels in LABELLED.items()
}
LABELS = ALL_LABELS[RECORDED]
GROUPS = [
    pytest.param(folder, path.name.removesuffix(".raw.csv.xz"), id=f"{folder.name}-{path.name}")
    for folder in LABELLED
    for path in sorted(folder.glob("*.raw.csv.xz"))
]

PERSONAL = (b"/home", b"/opt/", b"/root", b"/tmp", b"/usr/", b"/work", b"127.0.0", b"site-packages")


def unpacked(file: Path) -> bytes:
    """Return the content of a recorded file."""
    return lzma.decompress(file.read_bytes())


def launches(folder: Path, group: str, page: str) -> dict[int, dict[str, str]]:
    """Return one row per launch of a page, by ID."""
    rows = csv.DictReader(io.StringIO(unpacked(folder / f"{group}.{page}.csv.xz").decode()))
    return {int(row["ID"]): row for row in rows if row["ID"]}


@pytest.mark.parametrize(("folder", "group"), GROUPS)
def test_every_launch_has_one_label(folder: Path, group: str) -> None:
    labels = [label for label in ALL_LABELS[folder] if label["group"] == group]
    ids = [label["id"] for label in labels]
    for page in ("raw", "details"):
        rows = launches(folder, group, page)
        assert sorted(ids) == sorted(rows)
        for label in labels:
            assert label["kernel"] in rows[label["id"]]["Kernel Name"]


@pytest.mark.parametrize(("folder", "group"), GROUPS)
def test_nothing_says_where_it_was_recorded(folder: Path, group: str) -> None:
    files = list(folder.glob(f"{group}.*.xz"))
    assert len(files) == (3 if folder == RECORDED else 2)
    for file in files:
        content = unpacked(file)
        assert not [text for text in PERSONAL if text in content]
    for page in ("raw", "details"):
        for row in launches(folder, group, page).values():
            assert not row["Process ID"] + row["Process Name"] + row["Host Name"]


@pytest.mark.parametrize("folder", LABELLED, ids=lambda folder: folder.name)
def test_every_label_was_measured(folder: Path) -> None:
    labels = ALL_LABELS[folder]
    assert {label["basis"] for label in labels} == {"measured"}
    assert {label["group"] for label in labels} == {
        path.name.removesuffix(".raw.csv.xz") for path in folder.glob("*.raw.csv.xz")
    }


@pytest.mark.parametrize("folder", LABELLED, ids=lambda folder: folder.name)
def test_excellent_launches_have_nothing_loud(folder: Path) -> None:
    labels = ALL_LABELS[folder]
    assert not [label for label in labels if label["excellent"] and label["loud"]]
    assert all(label["limiter"] and label["why"] for label in labels)


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
