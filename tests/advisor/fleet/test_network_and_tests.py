"""Files of other tools as parts of machines: ibstat, logs of NCCL, dmon, and DCGM's diagnostic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.dcgm_diagnostic import diagnosed_machine, is_diagnostic
from gpuadvise.advisor.fleet.dmon import is_dmon, sampled_machine
from gpuadvise.advisor.fleet.ibstat import fabric_machine, is_ibstat
from gpuadvise.advisor.fleet.machine import Fabric, NcclUse
from gpuadvise.advisor.fleet.nccl_log import SOCKETS, is_nccl_log, joined_use, nccl_machines

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "fleet"
IBSTAT, NCCL, DMON, TABLE, JSON = (
    (CORPUS / name).read_bytes()
    for name in ("ibstat.txt", "nccl.txt", "dmon.txt", "diag.txt", "diag.json")
)


def test_each_format_is_known_by_what_it_says() -> None:
    tests = (is_ibstat, is_nccl_log, is_dmon, is_diagnostic)
    for content, own in (
        (IBSTAT, is_ibstat), (NCCL, is_nccl_log), (DMON, is_dmon), (TABLE, is_diagnostic), (JSON, is_diagnostic),
        (b"a letter", None), (b"{}", None), (b"# gpu\n# Idx\n", None), (b"", None),
    ):  # fmt: skip
        assert [test for test in tests if test(content)] == ([own] if own else [])


def test_ports_that_are_up_are_counted_by_rate_and_kind() -> None:
    machine = fabric_machine("n", IBSTAT)
    assert machine.fabric == Fabric(links="2 x 400 Gbit/s InfiniBand", firmware="28.40.1000")
    half = IBSTAT.replace(b"Rate: 400", b"Rate: 200 Gb/sec (4X HDR)", 1)
    fabric = fabric_machine("n", half).fabric
    assert fabric is not None
    assert fabric.links == "1 x 200 Gbit/s InfiniBand and 1 x 400 Gbit/s InfiniBand"
    down = IBSTAT.replace(b"State: Active", b"State: Down").replace(b": LinkUp", b": Polling", 1)
    fabric = fabric_machine("n", down).fabric
    assert fabric is not None
    assert fabric.links == "none up"
    assert fabric.down == ("mlx5_0 port 1: Down, Polling", "mlx5_1 port 1: Down, LinkUp")
    with pytest.raises(BadInput, match="without a port"):
        fabric_machine("n", b"CA 'mlx5_0'\n")
    with pytest.raises(BadInput, match="more than 1,024 ports"):
        fabric_machine("n", b"CA 'a'\n" + b"Port 1:\n" * 1025)


def test_a_log_of_nccl_tells_the_links_of_each_machine() -> None:
    machines = {machine.host: machine.nccl for machine in nccl_machines(NCCL)}
    assert machines == {
        "node01": NcclUse(
            networks=("InfiniBand or RoCE",), adapters=2, gpu_direct=True, peers=("peer to peer",),
            version="2.27.5+cuda12.9",
        ),
        "node02": NcclUse(networks=(SOCKETS,), gpu_direct=False, peers=("shared memory",)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "use"),
    [
        ("n:1:1 [0] NCCL INFO Using network AWS Libfabric", NcclUse(networks=("AWS Libfabric",))),
        (
            "n:1:1 [0] NCCL INFO Using network IB\n"
            "n:1:1 [0] NCCL INFO Channel 00 : 1[60] -> 0[60] [receive] via NET/Socket/0",
            NcclUse(networks=(SOCKETS,), gpu_direct=False),
        ),
        (
            "n:1:1 [0] NCCL INFO Channel 00/0 : 1[6] -> 0[6] [send] via NET/Libfabric/0(15)/GDRDMA\n"
            "n:1:1 [0] NCCL INFO Channel 01/0 : 1[6] -> 0[6] [send] via NET/Libfabric/1",
            NcclUse(networks=("Libfabric",), gpu_direct=False),
        ),
    ],
)
def test_channels_come_before_what_was_meant(lines: str, use: NcclUse) -> None:
    (machine,) = nccl_machines(lines.encode())
    assert (machine.host, machine.nccl) == ("n", use)


def test_a_log_that_does_not_tell_is_refused() -> None:
    with pytest.raises(BadInput, match="does not say which links"):
        nccl_machines(b"n:1:1 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n")
    one, other = (machine.nccl for machine in nccl_machines(NCCL))
    assert one is not None
    assert other is not None
    both = joined_use(one, other)
    assert both == joined_use(other, one)
    assert both.networks == ("InfiniBand or RoCE", SOCKETS)
    assert both.gpu_direct is False
    assert joined_use(one, NcclUse()).gpu_direct is True


def test_samples_become_the_hottest_and_the_mean() -> None:
    machine = sampled_machine("n", DMON)
    first, second = machine.gpus
    assert (first.temperature_celsius, first.power_watts, first.gpu_utilisation) == (63, 606, 0.97)
    assert (second.temperature_celsius, second.ecc_corrected, second.ecc_uncorrected) == (86, 2, 0)
    assert first.memory_used_bytes == 90112 << 20
    assert [(f.rule, f.gpu) for f in machine.findings] == [("slowed-by-heat", 1)]
    dated = (
        b"#Date       Time        gpu    pwr  gtemp\n#YYYYMMDD   HH:MM:SS    Idx      W      C\n"
        b" 20261120   08:30:00      0     71      -\n"
    )
    assert is_dmon(dated)
    (gpu,) = sampled_machine("n", dated).gpus
    assert (gpu.power_watts, gpu.temperature_celsius) == (71, None)
    for broken, words in (
        (DMON + b"    1    590\n", "2 values under 14 titles in line 7"),
        (b"\n".join(DMON.splitlines()[:2]), "no line of a GPU"),
        (DMON.replace(b"    1    6", b"    x    6"), "no number of a GPU in line 4"),
        (
            DMON.replace(b"    1    6", b"    %s1    6" % (b"0" * 5000)),
            "no number of a GPU in line 4",
        ),
    ):
        with pytest.raises(BadInput, match=words):
            sampled_machine("n", broken)


def test_samples_of_dcgm_are_read_as_those_of_nvidia_smi() -> None:
    text = (
        b"#Entity   TMPTR        POWER             TOTEC         GPUTL       FBUSD    ESVTL   EDVTL\n"
        b"ID         C            W                 mJ\n"
        b"GPU 7     45           57.430            108702777     0           10       0       1\n"
        b"GPU 6     N/A          60.000            108702778     50          20       0       0\n"
        b"GPU-I 1   N/A          N/A               N/A           N/A         N/A      N/A     N/A\n"
        b"GPU 7     47           58.430            108702779     10          10       0       1\n"
    )
    assert is_dmon(text)
    sixth, seventh = sampled_machine("n", text).gpus
    assert (sixth.index, sixth.temperature_celsius, sixth.power_watts) == (6, None, 60)
    assert (seventh.index, seventh.temperature_celsius, seventh.power_watts) == (7, 47, 57.93)
    assert (seventh.gpu_utilisation, seventh.memory_used_bytes) == (0.05, 10 << 20)
    assert (seventh.ecc_corrected, seventh.ecc_uncorrected) == (0, 1)


def test_a_diagnostic_tells_what_did_not_pass_and_where() -> None:
    machine = diagnosed_machine("n", TABLE)
    assert [(f.message, f.priority, f.gpu) for f in machine.findings] == [
        ("Page Retirement/Row Remap: warn on GPU 3.", "medium", 3),
        ("GPU Memory: fail on GPU 0.", "high", 0),
        ("GPU Memory: fail on GPU 3.", "high", 3),
    ]
    assert machine.judged
    machine = diagnosed_machine("n", b"Successfully ran diagnostic for group.\n" + JSON)
    assert [(f.message, f.gpu) for f in machine.findings] == [("software: fail on GPU 1.", 1)]
    newer = TABLE.replace(b"Fail - GPUs: 0, 3 ", b"GPU2: Fail        ")
    assert "GPU Memory: fail on GPU 2." in [
        f.message for f in diagnosed_machine("n", newer).findings
    ]


def test_a_skipped_test_is_no_pass_and_none_is_no_answer() -> None:
    skipped = {"tests": [{"name": "memory", "results": [{"status": "Skip"}, {"status": "odd"}]}]}
    machine = diagnosed_machine("n", json.dumps(skipped).encode())
    assert (machine.judged, machine.findings) == (False, ())
    for content in (b'{"DCGM Diagnostic": {"results": 1}}', b'{"tests": [], "results": []}'):
        with pytest.raises(BadInput, match="no result of a test"):
            diagnosed_machine("n", content)
    many = {
        "tests": [{"name": "memory", "results": [{"status": "Fail", "gpu_ids": "1,2," * 999}] * 11}]
    }
    with pytest.raises(BadInput, match="more than 20,000 results"):
        diagnosed_machine("n", json.dumps(many).encode())
    with pytest.raises(BadInput, match="broken JSON"):
        diagnosed_machine("n", b'{"tests": [')


@given(st.data())
def test_whatever_stands_there_is_read_or_refused(data) -> None:
    read = {
        IBSTAT: lambda c: fabric_machine("n", c), NCCL: nccl_machines,
        DMON: lambda c: sampled_machine("n", c), TABLE: lambda c: diagnosed_machine("n", c),
        JSON: lambda c: diagnosed_machine("n", c),
    }  # fmt: skip
    content = data.draw(st.sampled_from(list(read)))
    at = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(at, min(len(content), at + 40)))
    changed = content[:at] + data.draw(st.binary(max_size=12)) + content[end:]
    known = {is_ibstat: IBSTAT, is_nccl_log: NCCL, is_dmon: DMON, is_diagnostic: content}
    is_one = next((test for test, seed in known.items() if seed is content), is_diagnostic)
    if is_one(changed):
        try:
            read[content](changed)
        except BadInput as error:
            assert error.message


def test_a_number_of_a_gpu_has_four_digits_at_most() -> None:
    table = (
        "Successfully ran diagnostic for group.\n"
        "| Diagnostic | Result |\n"
        f"| GPU Memory | Fail - GPUs: {'9' * 5000}, 3 |\n"
    )
    assert [finding.gpu for finding in diagnosed_machine("n", table.encode()).findings] == [3]
