"""``gpuadvise fleet``: many machines made from one recorded dump, with faults planted in some."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families

from gpuadvise.advisor.engines import processes
from gpuadvise.cli.fleet.answer import hashed
from gpuadvise.cli.schema import bundled

ROOT = Path(__file__).parents[1]
XML = (ROOT / "advisor" / "backends" / "recorded" / "nvidia-smi-h200.xml").read_text()
BOXES = Path(__file__).parent / "boxes"
QUERY = """\
index, name, uuid, driver_version, temperature.gpu, power.draw [W], memory.total [MiB], \
ecc.mode.current, ecc.errors.uncorrected.volatile.total, pcie.link.width.current, pcie.link.width.max
0, NVIDIA H200, GPU-00000000-0000-0000-0000-000000000001, 580.159.04, 61, 90.51 W, 143771 MiB, \
Enabled, {errors}, 16, 16
"""
# What is changed in a dump, and the reason that the answer must give for it.
FAULTS = {
    "driver": (
        "<driver_version>580.159.04",
        "<driver_version>575.57.08",
        "differs: driver",
    ),
    "lanes": (
        "<current_link_width>16x",
        "<current_link_width>8x",
        "differs: PCIe lanes",
    ),
    "persistence": (
        "<persistence_mode>Enabled",
        "<persistence_mode>Disabled",
        "differs: persistence mode",
    ),
    "memory": ("<total>143771 MiB", "<total>141171 MiB", "differs: memory"),
    "recovery": (
        "<gpu_recovery_action>None",
        "<gpu_recovery_action>Reset",
        "pending-recovery",
    ),
}


def dumps(folder: Path, count: int, faults: dict[int, str]) -> Path:
    """Write *count* dumps to *folder*, those numbered in *faults* with that fault planted."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        text = XML
        if number in faults:
            before, after, _ = FAULTS[faults[number]]
            assert before in text
            text = text.replace(before, after, 1)
        # No two machines have the same readings.
        text = text.replace("<gpu_temp>40 C", f"<gpu_temp>{30 + number % 20} C")
        (folder / f"node{number:05}.xml").write_text(text)
    return folder


def document(ran: SimpleNamespace) -> dict:
    """Return the JSON of an answer, which keeps the published schema."""
    answer = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("fleet"))).validate(answer)
    return answer["result"]


def copies(folder: Path, name: str, rate: float, spread: float = 0.01) -> None:
    """Write a measurement of copies as ``measure`` saves it."""
    row = {
        "kind": "pinned h2d", "bytes": 1 << 26, "moved": 1 << 26, "seconds": 1e-3, "low": 1e-3,
        "high": 1e-3, "spread": spread, "n": 5, "rate": rate, "expected": None, "ratio": None,
    }  # fmt: skip
    small = {**row, "bytes": 1 << 12, "rate": 1e6}
    answer = {
        "schema": "gpuadvise.measure/1",
        "device": {"name": "NVIDIA H200"},
        "result": {"rows": [small, row, {**row, "kind": "d2d"}]},
    }
    (folder / name).write_text(json.dumps(answer))


def test_five_faults_among_two_thousand_machines_are_found_and_no_other_is_accused(
    cli, tmp_path: Path
) -> None:
    planted = dict(zip((3, 500, 1001, 1500, 1999), FAULTS, strict=True))
    folder = dumps(tmp_path / "dumps", 2_000, planted)
    result = document(cli("fleet", str(folder), "--show-hosts", "--format", "json"))
    accused = {
        machine["host"]: machine["gpus"][0]["reasons"]
        for machine in result["machines"]
        if machine["verdict"] != "healthy"
    }
    assert accused == {f"node{number:05}": [FAULTS[fault][2]] for number, fault in planted.items()}
    assert result["counts"] == {
        "machines": 2000, "gpus": 2000, "healthy": 1995, "to_look_at": 5, "not_judged": 0,
    }  # fmt: skip


def test_the_page_begins_with_how_many_are_well(cli, tmp_path: Path) -> None:
    page = cli("fleet", str(dumps(tmp_path / "d", 40, {6: "lanes"}))).out.splitlines()
    assert page[0] == "39 healthy, 1 to look at: 40 machines with 40 GPUs."
    assert page[2].startswith("node00006")
    assert page[2].endswith("differs: PCIe lanes")
    assert "  PCIe lanes: 8 on node00006; usual is 16." in page


def test_one_process_and_several_say_the_same_in_the_same_order(cli, tmp_path: Path) -> None:
    folder = str(dumps(tmp_path / "d", 250, {7: "driver", 200: "recovery"}))
    one = cli("fleet", folder, "--jobs", "1", "--format", "json").out
    assert cli("fleet", folder, "--jobs", "2", "--format", "json").out == one


def test_a_fleet_in_a_tar_on_stdin_is_the_same_fleet(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = dumps(tmp_path / "d", 220, {4: "memory"})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder, "d")
        archive.add(ROOT / "conftest.py", "d/notes.py")
    options = ("--show-hosts", "--format", "csv", "--jobs", "2")
    monkeypatch.setattr(
        "sys.stdin", SimpleNamespace(buffer=io.BytesIO(packed.getvalue()), close=lambda: None)
    )
    rows = sorted(cli("fleet", "-", *options).out.splitlines())
    assert rows == sorted(cli("fleet", str(folder), *options).out.splitlines())
    (tmp_path / "all.tar.gz").write_bytes(packed.getvalue())
    assert sorted(cli("fleet", str(tmp_path / "all.tar.gz"), *options).out.splitlines()) == rows


def test_a_single_dump_may_come_on_stdin(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(XML.encode())))
    ran = cli("fleet", "-")
    assert ran.code == 0
    assert ran.out.startswith("1 healthy, 0 to look at: 1 machine with 1 GPU.\n")


def test_what_cannot_be_read_stops_nothing_and_a_gate_over_it_ends_3(cli, tmp_path: Path) -> None:
    folder = dumps(tmp_path / "d", 3, {})
    (folder / "empty.json").write_text("")
    (folder / "other.txt").write_text("no dump")
    (folder / "huge.xml").write_bytes(b" " * ((8 << 20) + 1))
    (folder / "half.xml").write_text(XML[: len(XML) // 2])
    with tarfile.open(folder / "cut.tar.gz", "w:gz") as archive:
        archive.add(folder / "node00000.xml", "late.xml")
    whole = (folder / "cut.tar.gz").read_bytes()
    (folder / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    ran = cli("fleet", str(folder), str(folder / "none.xml"), "--show-hosts", "--format", "json")
    result = document(ran)
    assert ran.code == 0
    assert result["counts"]["healthy"] == 3
    names = {Path(item["path"].rpartition("!")[2]).name for item in result["not_judged"]}
    assert names >= {"empty.json", "other.txt", "huge.xml", "half.xml", "none.xml"}
    assert names >= {"cut.tar.gz", "late.xml"}  # the archive, and what was listed in it
    assert len(names) == 7
    assert cli("fleet", str(folder), "--fail-on", "high").code == 3
    (folder / "sick.xml").write_text(XML.replace(*FAULTS["recovery"][:2]))
    assert cli("fleet", str(folder), "--fail-on", "high").code == 1


def test_nothing_readable_ends_3_and_no_file_at_all_2(cli, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert cli("fleet", str(tmp_path)).code == 3
    (tmp_path / "a.json").unlink()
    ran = cli("fleet", str(tmp_path))
    assert (ran.code, "There is no saved machine in" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("fault", "level", "code"),
    [
        ("driver", "high", 0),
        ("driver", "low", 1),
        ("lanes", "high", 1),
        ("memory", "high", 0),
        ("memory", "medium", 1),
        ("recovery", "high", 1),
    ],
)
def test_the_gate_knows_how_urgent_a_difference_is(
    cli, tmp_path: Path, fault: str, level: str, code: int
) -> None:
    folder = dumps(tmp_path / "d", 4, {2: fault})
    assert cli("fleet", str(folder), "--fail-on", level).code == code


def test_data_hashes_hosts_until_they_are_asked_for(cli, tmp_path: Path) -> None:
    folder = str(dumps(tmp_path / "d", 3, {1: "lanes"}))
    (tmp_path / "d" / "node-bad.json").write_text("junk")
    for name in ("json", "csv", "ndjson", "prometheus", "markdown", "html"):
        out = cli("fleet", folder, "--format", name).out
        assert "node" not in out.replace("node_exporter", "")
        assert hashed("node00001") in out
        assert "GPU-0000" not in out
        assert "node00001" in cli("fleet", folder, "--format", name, "--show-hosts").out
    assert "node00001" in cli("fleet", folder).out
    row = next(csv.DictReader(io.StringIO(cli("fleet", folder, "--with-ids", "-f", "csv").out)))
    assert row["uuid"].startswith("GPU-0000")


def test_hosts_are_chosen_by_their_names(cli, tmp_path: Path) -> None:
    folder = str(dumps(tmp_path / "d", 12, {}))
    options = ("--show-hosts", "--get", "machines.host")
    assert cli("fleet", folder, "--host", "node0000*,node00011", *options).out.split() == [
        *(f"node{n:05}" for n in range(10)),
        "node00011",
    ]
    ran = cli("fleet", folder, "--host", "rack*")
    assert (ran.code, "none of the 12 machines is called" in ran.err) == (2, True)


def passes_promtool(text: str) -> None:
    """Fail where Prometheus's own checker has anything to say of *text*; without it nothing is checked."""
    if promtool := shutil.which("promtool"):
        done = subprocess.run(
            [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not on PATH")
def test_promtool_refuses_what_is_no_metric() -> None:
    with pytest.raises(AssertionError):
        passes_promtool("# TYPE a gauge\na{b=c} 1\n")
    with pytest.raises(AssertionError):
        passes_promtool("a_total_count 1\n")  # without help and type


def test_prometheus_reads_the_metrics(cli, tmp_path: Path) -> None:
    folder = dumps(tmp_path / "d", 5, {1: "lanes", 2: "recovery"})
    hostile = 'n"o\\de\n{}'
    (folder / f"{hostile}.xml").write_text(XML.replace("NVIDIA H200", 'H"2\\00'))
    copies(folder, "node00000.measure.json", 50e9)
    out = cli("fleet", str(folder), "--show-hosts", "--format", "prometheus").out
    passes_promtool(out)
    families = {family.name: family for family in text_string_to_metric_families(out)}
    assert all(family.type == "gauge" and family.documentation for family in families.values())
    infos = families["gpuadvise_gpu_info"].samples
    assert {sample.labels["model"] for sample in infos} == {"NVIDIA H200", 'H"2\\00'}
    assert {sample.labels["host"] for sample in infos} >= {"node00000", 'n"o\\de\\x0a{}'}
    healthy = {s.labels["host"]: s.value for s in families["gpuadvise_gpu_healthy"].samples}
    assert [healthy[f"node0000{n}"] for n in range(5)] == [1, 0, 0, 1, 1]
    differing = families["gpuadvise_gpu_differs"].samples
    assert [(s.labels["host"], s.labels["fact"]) for s in differing] == [
        ("node00001", "pcie_lanes")
    ]
    found = families["gpuadvise_gpu_finding"].samples
    assert [(s.labels["host"], s.labels["rule"]) for s in found] == [
        ("node00002", "pending-recovery")
    ]
    rates = families["gpuadvise_machine_copy_bytes_per_second"].samples
    assert [sample.value for sample in rates] == [50e9]
    counts = {s.labels["verdict"]: s.value for s in families["gpuadvise_fleet_machines"].samples}
    assert counts == {"healthy": 4, "to look at": 2, "not judged": 0}


def test_a_slow_copy_is_found_and_noise_is_not(cli, tmp_path: Path) -> None:
    folder = dumps(tmp_path / "d", 20, {})
    for number in range(20):
        rate = 40e9 if number == 9 else 55e9 * (1 + (number % 5 - 2) / 200)
        copies(folder, f"node{number:05}.measure.json", rate)
    result = document(cli("fleet", str(folder), "--show-hosts", "--format", "json"))
    assert [(d["host"], d["fact"]) for d in result["differences"]] == [("node00009", "h2d")]
    assert result["counts"]["machines"] == 20
    assert result["groups"][0]["h2d"] == pytest.approx(55e9, rel=0.01)
    # Repetitions that spread as far say nothing.
    copies(folder, "node00009.measure.json", 40e9, spread=0.4)
    assert not document(cli("fleet", str(folder), "--format", "json"))["differences"]
    page = cli("fleet", str(folder)).out
    assert "Copies to the GPU at 55" in page


def test_measurements_alone_are_compared_and_not_called_healthy(cli, tmp_path: Path) -> None:
    for number in range(5):
        copies(tmp_path, f"n{number}.json", 30e9 if number == 4 else 50e9)
    result = document(cli("fleet", str(tmp_path), "--show-hosts", "--format", "json"))
    assert [m["verdict"] for m in result["machines"]] == ["not judged"] * 4 + ["to look at"]
    assert cli("fleet", str(tmp_path), "--fail-on", "high").code == 1
    assert "NVIDIA H200" in cli("fleet", str(tmp_path)).out


def test_every_kind_of_saved_answer_is_read(cli, tmp_path: Path) -> None:
    busy = BOXES / "h200-busy.json"
    (tmp_path / "a.json").write_text(busy.read_text())
    (tmp_path / "b.json").write_text(cli("doctor", "--from", str(busy), "--json").out)
    (tmp_path / "c.csv").write_text(QUERY.format(errors=0))
    (tmp_path / "d.csv").write_text(QUERY.format(errors=2))
    (tmp_path / "e.xml").write_bytes(XML.encode("utf-16"))
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "device.json").write_text((BOXES / "h200-x2.json").read_text())
    result = document(cli("fleet", str(tmp_path), "--show-hosts", "--format", "json"))
    verdicts = {machine["host"]: machine["verdict"] for machine in result["machines"]}
    assert verdicts == {
        "a": "healthy", "b": "healthy", "c": "healthy", "d": "to look at", "e": "healthy",
        "f": verdicts["f"],
    }  # fmt: skip
    temperatures = {m["host"]: m["gpus"][0]["temperature_celsius"] for m in result["machines"]}
    assert (temperatures["a"], temperatures["b"], temperatures["c"]) == (56, 56, 61)
    faults = {fault["rule"]: fault for fault in result["faults"]}
    assert faults["busy-device"]["hosts"] == ["a", "b"]
    assert not faults["busy-device"]["worth_a_look"]
    assert faults["ecc-errors"]["hosts"] == ["d"]
    assert {group["kind"]: group["machines"] for group in result["groups"]} == {
        "1 x NVIDIA H200": 5,
        "2 x NVIDIA H200": 1,
    }


def test_machines_without_readings_are_not_judged(cli, tmp_path: Path) -> None:
    box = json.loads((BOXES / "h200.json").read_text())
    box["result"]["devices"][0]["telemetry"] = None
    (tmp_path / "a.json").write_text(json.dumps(box))
    ran = cli("fleet", str(tmp_path), "--fail-on", "high")
    assert ran.code == 3
    assert "No reading of its GPUs is there" in ran.err


def test_a_lost_gpu_meets_every_gate(cli, tmp_path: Path) -> None:
    folder = dumps(tmp_path / "d", 3, {})
    lost = XML.replace("<gpu_temp>40 C", "<gpu_temp>GPU is lost")
    (folder / "lost.xml").write_text(lost)
    ran = cli("fleet", str(folder), "--fail-on", "high")
    assert ran.code == 1
    assert ran.out.startswith("3 healthy, 1 to look at: 4 machines")


def test_two_descriptions_of_one_machine_stay_two(cli, tmp_path: Path) -> None:
    for folder in ("monday", "tuesday"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "node1.xml").write_text(XML)
    result = document(cli("fleet", str(tmp_path), "--show-hosts", "--format", "json"))
    assert [machine["host"] for machine in result["machines"]] == ["node1", "tuesday/node1.xml"]


def test_a_group_without_a_majority_accuses_nobody(cli, tmp_path: Path) -> None:
    folder = dumps(tmp_path / "d", 4, {0: "driver", 1: "driver"})
    ran = cli("fleet", str(folder))
    assert ran.out.startswith("4 healthy, 0 to look at")
    assert "Driver without a majority: 575.57.08 on 2 and 580.159.04 on 2." in ran.out


def test_lists_are_cut_until_all_is_asked_for(cli, tmp_path: Path) -> None:
    folder = str(dumps(tmp_path / "d", 60, dict.fromkeys(range(20), "driver")))
    page = cli("fleet", folder).out
    assert "20 more lines: --all shows them." in page
    assert "and 8 more; usual is 580.159.04." in page
    whole = cli("fleet", folder, "--all").out
    assert whole.count("node00019") == 2
    assert "more" not in whole


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("dumps/node07.xml", "node07"),
        ("node07.cluster.local.json", "node07.cluster.local"),
        ("node07.device.json", "node07"),
        ("a/node07-measure.json", "node07"),
        ("node07/device.json", "node07"),
        ("device.json", "device"),
        ("dumps/node07-2026-11-20.xml", "node07"),
        ("dumps/node07.device-20261120T083000Z.json", "node07"),
        ("2026_11_20-node07-device.json", "node07"),
        ("node07/2026-11-20.xml", "node07"),
        ("node07/2026-11-20/device.json", "node07"),
        ("2026-11-20.xml", "2026-11-20"),
        ("node20261340.xml", "node20261340"),
        ("node-20261340.xml", "node-20261340"),
    ],
)
def test_a_machine_is_named_after_its_file(path: str, host: str) -> None:
    from gpuadvise.advisor.backends.machine_dumps import host_of

    assert host_of(path) == host


def test_a_process_that_dies_is_said(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(dumps(tmp_path / "d", 200, {}))
    monkeypatch.setattr(processes, "send_results", died)
    ran = cli("fleet", folder, "--jobs", "2")
    assert (ran.code, "A process that read files died." in ran.err) == (3, True)


def died(send: object, files: object) -> None:
    del send, files
    raise SystemExit(1)


# What is changed in the second dump of a machine, and the fact, values and priority that the answer tells.
WORSE = {
    "lanes": ("<current_link_width>16x", "<current_link_width>8x", "pcie_lanes", 16, 8, "high"),
    "rows": (
        "<remapped_row_unc>0</remapped_row_unc>", "<remapped_row_unc>2</remapped_row_unc>",
        "rows_remapped_uncorrected", 0, 2, "medium",
    ),
    "heat": ("<gpu_temp>40 C", "<gpu_temp>51 C", "temperature_celsius", 40, 51, "medium"),
}  # fmt: skip
LATER = XML.replace("Sun Nov 22 07:49:00 2026", "Wed Nov 25 07:49:00 2026")


def two_days(folder: Path, name: str, before: str, after: str) -> None:
    for day, text in (
        ("monday", XML.replace(before, before)),
        ("thursday", LATER.replace(before, after, 1)),
    ):
        assert before in XML
        (folder / day).mkdir(parents=True, exist_ok=True)
        (folder / day / f"{name}.xml").write_text(text)


def test_what_became_worse_is_told_for_each_gpu(cli, tmp_path: Path) -> None:
    for name, (before, after, *_) in WORSE.items():
        two_days(tmp_path, name, before, after)
    two_days(tmp_path, "cooler", "<gpu_temp>40 C", "<gpu_temp>30 C")
    ran = cli("fleet", str(tmp_path), "--show-hosts", "--format", "json")
    result = document(ran)
    assert result["counts"]["machines"] == len(WORSE) + 1
    told = {
        (c["host"], c["gpu"], c["fact"], c["before"], c["now"], c["priority"]) for c in result["changes"]
    }  # fmt: skip
    assert told == {(name, 0, *rest) for name, (_, _, *rest) in WORSE.items()}
    assert {(c["since"], c["until"]) for c in result["changes"]} == {
        ("2026-11-22T07:49:00", "2026-11-25T07:49:00")
    }
    reasons = {m["host"]: m["gpus"][0]["reasons"] for m in result["machines"]}
    assert reasons["cooler"] == []
    assert reasons["heat"] == ["worse: temperature at no more power"]
    page = cli("fleet", str(tmp_path)).out
    assert "  lanes: PCIe lanes 16, now 8 (2026-11-22 to 2026-11-25).\n" in page
    assert page.index("lanes: PCIe") < page.index("heat: temperature")
    out = cli("fleet", str(tmp_path), "--show-hosts", "--format", "prometheus").out
    passes_promtool(out)
    families = {family.name: family for family in text_string_to_metric_families(out)}
    worse = {s.labels["host"]: s.labels["fact"] for s in families["gpuadvise_gpu_worse"].samples}
    assert worse == {name: rest[0] for name, (_, _, *rest) in WORSE.items()}
    hashed_out = cli("fleet", str(tmp_path), "--format", "json").out
    assert "lanes.xml" not in hashed_out
    assert hashed("lanes") in hashed_out


@pytest.mark.parametrize(("fault", "level", "code"), [("lanes", "high", 1), ("rows", "high", 0), ("rows", "medium", 1)])  # fmt: skip
def test_the_gate_knows_how_urgent_a_change_is(
    cli, tmp_path: Path, fault: str, level: str, code: int
) -> None:
    two_days(tmp_path, "n", *WORSE[fault][:2])
    assert cli("fleet", str(tmp_path), "--fail-on", level).code == code


def test_dumps_before_a_day_are_left_out(cli, tmp_path: Path) -> None:
    two_days(tmp_path, "n", *WORSE["lanes"][:2])
    options = ("--show-hosts", "--format", "json")
    result = document(cli("fleet", str(tmp_path), "--since", "2026-11-25", *options))
    assert (result["counts"]["machines"], result["changes"]) == (1, [])
    assert result["machines"][0]["taken"] == "2026-11-25T07:49:00"
    ran = cli("fleet", str(tmp_path), "--since", "2026-12-01")
    assert (ran.code, "nothing was saved on 2026-12-01 or later" in ran.err) == (2, True)
    ran = cli("fleet", str(tmp_path), "--since", "tuesday")
    assert (ran.code, "is not a day" in ran.err) == (2, True)


def test_machines_of_one_name_with_other_gpus_stay_two_over_days(cli, tmp_path: Path) -> None:
    two_days(tmp_path, "n", "<uuid>GPU-", "<uuid>GPU-ffff")
    result = document(cli("fleet", str(tmp_path), "--show-hosts", "--format", "json"))
    assert [machine["host"] for machine in result["machines"]] == ["n", "thursday/n.xml"]
    assert not result["changes"]


def test_a_gpu_that_is_gone_and_slower_copies_are_worse(cli, tmp_path: Path) -> None:
    two = (ROOT / "advisor" / "backends" / "recorded" / "nvidia-smi-h200-x2.xml").read_text()
    first = two[two.index("<gpu id") : two.index("</gpu>") + len("</gpu>")]
    one = two.replace(first, "")
    assert one.count("<gpu id") == two.count("<gpu id") - 1 == 1
    (tmp_path / "node-2026-11-20.xml").write_text(two.replace("<timestamp>", "<x>").replace("</timestamp>", "</x>"))  # fmt: skip
    (tmp_path / "node-2026-11-23.xml").write_text(one.replace("<timestamp>", "<x>").replace("</timestamp>", "</x>"))  # fmt: skip
    copies(tmp_path, "node.measure-20261120.json", 50e9)
    copies(tmp_path, "node-20261123-measure.json", 40e9)
    result = document(cli("fleet", str(tmp_path), "--show-hosts", "--format", "json"))
    assert result["counts"]["machines"] == 1
    told = [(c["fact"], c["before"], c["now"], c["since"]) for c in result["changes"]]
    assert told == [
        ("gpu", "0: NVIDIA H200", "gone", "2026-11-20T00:00:00"),
        ("h2d", 50e9, 40e9, "2026-11-20T00:00:00"),
    ]


SEEDS = ROOT / "fuzz" / "corpus" / "fleet"


def test_a_node_that_fell_back_to_sockets_is_found(cli, tmp_path: Path) -> None:
    folder = dumps(tmp_path / "d", 4, {})
    lines = (SEEDS / "nccl.txt").read_text().splitlines()
    fast = "\n".join(line for line in lines if "node01" in line)
    slow = "\n".join(line for line in lines if "node02" in line)
    log = [fast.replace("node01", f"node{number:05}") for number in (0, 1, 3)]
    log.append(slow.replace("node02", "node00002"))
    (folder / "job.txt").write_text("epoch 1\n" + "\n".join(log))
    (folder / "node00002.ibstat.txt").write_bytes((SEEDS / "ibstat.txt").read_bytes())
    ran = cli("fleet", str(folder), "--show-hosts", "--format", "json")
    result = document(ran)
    assert result["counts"]["machines"] == 4
    assert {m["host"] for m in result["machines"] if m["verdict"] != "healthy"} == {"node00002"}
    told = {
        (d["host"], d["fact"], d["value"], d["usual"], d["priority"]) for d in result["differences"]
    }
    assert told == {
        ("node00002", "nccl_network", "sockets", "InfiniBand or RoCE", "high"),
        ("node00002", "nccl_gpu_direct", False, True, "high"),
        ("node00002", "nccl_peers", "shared memory", "peer to peer", "high"),
    }  # fmt: skip
    assert [(f["rule"], f["hosts"]) for f in result["faults"]] == [
        ("nccl-on-sockets", ["node00002"])
    ]
    page = cli("fleet", str(folder)).out
    assert "  Network of NCCL: sockets on node00002; usual is InfiniBand or RoCE.\n" in page
    assert cli("fleet", str(folder), "--fail-on", "high").code == 1
    data = cli("fleet", str(folder), "--format", "json").out
    assert "node0" not in data
    assert hashed("node00002") in data
    assert "10.0.0" not in page + data


def test_logs_alone_are_compared_and_not_called_healthy(cli, tmp_path: Path) -> None:
    lines = (SEEDS / "nccl.txt").read_text().splitlines()
    for number in range(3):  # a log of each process
        text = "\n".join(line for line in lines if "node01" in line).replace("node01", f"n{number}")
        for process in ("a", "b"):
            (tmp_path / f"n{number}_{process}.txt").write_text(text)
    ran = cli("fleet", str(tmp_path), "--show-hosts", "--format", "json", "--fail-on", "low")
    result = document(ran)
    assert (ran.code, result["verdict"], result["differences"]) == (0, "unknown", [])
    assert result["groups"][0]["kind"] == "GPUs that no file describes"
    assert [m["nccl"]["adapters"] for m in result["machines"]] == [2, 2, 2]


def test_links_of_another_rate_differ_and_tests_that_fail_count(cli, tmp_path: Path) -> None:
    folder = dumps(tmp_path / "d", 4, {})
    ports = (SEEDS / "ibstat.txt").read_text()
    for number in range(4):
        text = ports.replace("Rate: 400", "Rate: 200", 1) if number == 1 else ports
        (folder / f"node{number:05}-ibstat.txt").write_text(text)
        (folder / f"node{number:05}.diag.json").write_text(
            (SEEDS / "diag.json")
            .read_text()
            .replace('"Fail"', '"Fail"' if number == 2 else '"Pass"')
        )
    (folder / "node00003.dmon.txt").write_bytes((SEEDS / "dmon.txt").read_bytes())
    result = document(cli("fleet", str(folder), "--show-hosts", "--format", "json"))
    reasons = {
        m["host"]: [*m["reasons"], *m["gpus"][0]["reasons"]] for m in result["machines"] if m["verdict"] != "healthy"
    }  # fmt: skip
    assert reasons == {
        "node00001": ["differs: network links"] * 2,
        "node00002": ["dcgm-diagnostic"] * 2,
        "node00003": ["slowed-by-heat"] * 2,  # of a GPU that the description does not list
    }
    assert result["machines"][1]["fabric"]["links"] == (
        "1 x 200 Gbit/s InfiniBand and 1 x 400 Gbit/s InfiniBand"
    )
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "n.dmon.txt").write_bytes((SEEDS / "dmon.txt").read_bytes())
    (alone / "m.diag.txt").write_bytes((SEEDS / "diag.txt").read_bytes())
    result = document(cli("fleet", str(alone), "--show-hosts", "--format", "json"))
    verdicts = {
        m["host"]: (m["verdict"], [g["verdict"] for g in m["gpus"]]) for m in result["machines"]
    }
    assert verdicts == {"m": ("to look at", []), "n": ("to look at", ["not judged", "to look at"])}
    assert result["machines"][1]["gpus"][1]["temperature_celsius"] == 86


def test_a_file_of_another_tool_that_says_nothing_is_named(cli, tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text("n:1:1 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n")
    (tmp_path / "d.txt").write_text("# gpu pwr\n# Idx W\n  0 3 4\n")
    ran = cli("fleet", str(tmp_path))
    assert ran.code == 3
    assert (
        "It is a log of NCCL that does not say which links it used. Set NCCL_DEBUG=INFO" in ran.err
    )
    assert "It has 3 values under 2 titles in line 3." in ran.err
