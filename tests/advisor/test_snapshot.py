"""What ``device`` prints is what ``--from`` reads: nothing is lost on the way."""

from __future__ import annotations

import copy
import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue import by_capability, entries, find, known_capabilities
from gpuadvise.advisor.device import Device, Origin
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.features import Features
from gpuadvise.advisor.gpu import Gpu, Identity, Machine, MigSlice
from gpuadvise.advisor.snapshot import (
    RANGES,
    device_record,
    gpu_record,
    machine_record,
    read_device,
    read_gpu,
    read_machine,
)
from gpuadvise.advisor.telemetry import Process, ProcessKind, Telemetry
from gpuadvise.advisor.topology import NvLink, Peer, Topology

counts = st.none() | st.integers(0, 2**63 - 1)
rates = st.floats(1, 1e18)
flags = st.none() | st.booleans()
texts = st.text(max_size=20)
maybe = st.none() | texts
tables = st.dictionaries(st.sampled_from(["sm_count", "id", "ecc", "capability"]), texts)
BY_TYPE = {
    "str": texts,
    "str | None": maybe,
    "int | None": st.none() | st.integers(1, 2**63 - 1),
    "float | None": st.none() | rates,
    "bool | None": flags,
    "bool": st.booleans(),
    "Mapping[str, float]": st.dictionaries(texts, rates),
    "Mapping[str, str]": tables,
    "int": st.integers(0, 99),
    "tuple[int, ...] | None": st.none() | st.lists(st.integers(0, 999)).map(tuple),
    "tuple[str, ...]": st.lists(texts).map(tuple),
    "tuple[str, ...] | None": st.none() | st.lists(texts).map(tuple),
    "Capability": st.builds(
        Capability, st.integers(1, 99), st.integers(0, 9), st.sampled_from(["", "a", "f"])
    ),
    "Limits": st.sampled_from(known_capabilities()).map(lambda cc: by_capability(cc).limits),
    "Origin": st.sampled_from(Origin),
}


def values(kind: type, **own: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(
        kind,
        **{f.name: own[f.name] if f.name in own else BY_TYPE[str(f.type)] for f in fields(kind)},
    )


processes = st.builds(
    Process,
    pid=st.integers(0, 2**32),
    kind=st.sampled_from(ProcessKind),
    name=maybe,
    memory_bytes=counts,
)


def in_range(name: str, kind: str) -> st.SearchStrategy:
    least, most = RANGES[name]
    if kind == "float | None":
        return st.none() | st.floats(least, min(most, 1e30))
    return st.none() | st.integers(int(least), int(most))


devices = values(
    Device,
    **{
        f.name: in_range(f.name, str(f.type))
        for f in fields(Device)
        if f.name in RANGES and f.name != "peaks"
    },
)
gpus = st.builds(
    Gpu,
    device=devices,
    identity=values(
        Identity,
        mig=st.none() | values(MigSlice, parent_uuid=maybe, parent_name=maybe),
    ),
    features=st.none() | values(Features),
    topology=st.none()
    | values(
        Topology,
        nvlinks=st.none() | st.lists(values(NvLink), max_size=3).map(tuple),
        peers=st.lists(values(Peer), max_size=3).map(tuple),
    ),
    telemetry=st.none() | values(Telemetry, processes=st.none() | st.lists(processes).map(tuple)),
)


def through_json(value: object) -> object:
    return json.loads(json.dumps(value, allow_nan=False))


@given(devices)
def test_device_survives(device: Device) -> None:
    assert read_device(through_json(device_record(device))) == device


@given(gpus)
def test_gpu_survives(gpu: Gpu) -> None:
    assert read_gpu(through_json(gpu_record(gpu))) == gpu


@given(st.lists(gpus, min_size=1, max_size=3), maybe, st.lists(texts).map(tuple))
def test_machine_survives_as_a_snapshot(some, version, sentences) -> None:
    machine = Machine(gpus=tuple(some), driver_version=version, problems=sentences, notes=sentences)
    read = read_machine({"result": through_json(machine_record(machine))})
    assert replace(read, gpus=()) == replace(machine, gpus=())
    for old, new in zip(machine.gpus, read.gpus, strict=True):
        live = old.device.origin is Origin.LIVE
        origin = Origin.SNAPSHOT if live else old.device.origin
        assert new == replace(old, device=replace(old.device, origin=origin))


@pytest.mark.parametrize("each", entries(), ids=lambda each: each.id)
def test_every_catalogue_gpu_survives(each) -> None:
    assert read_device(through_json(device_record(each.device))) == each.device


@pytest.mark.parametrize("capability", known_capabilities(), ids=str)
def test_every_capability_survives(capability: Capability) -> None:
    device = by_capability(capability)
    assert read_device(through_json(device_record(device))) == device


def test_record_has_the_contract_fields_with_units_and_sources() -> None:
    record = device_record(find("h200"))
    assert record["name"] == find("h200").name
    assert record["compute_capability"] == "9.0"
    assert record["sm_count"] == 132
    assert record["registers_per_sm"] == 65536
    assert record["shared_memory_per_sm"] == 228 * 1024
    assert record["shared_memory_per_block_optin"] == 227 * 1024
    assert record["max_threads_per_sm"] == 2048
    assert record["max_blocks_per_sm"] == 32
    for name in ("sm_count", "memory_bandwidth", "registers_per_sm", "max_blocks_per_sm"):
        assert record["sources"][name].startswith(("catalogue", "derived")), name


def test_one_answer_and_a_list_both_replay() -> None:
    gpu = Gpu(device=replace(find("h200"), origin=Origin.LIVE), identity=Identity(index=0))
    one = read_machine({"result": gpu_record(gpu)})
    many = read_machine({"result": machine_record(Machine(gpus=(gpu,)))})
    assert one.gpus == many.gpus
    assert one.gpus[0].device.origin is Origin.SNAPSHOT


@pytest.mark.parametrize("junk", [None, [], 1, "x", {}, {"result": []}, {"result": {"devices": 1}}])
def test_other_documents_are_refused(junk: object) -> None:
    with pytest.raises(BadInput):
        read_machine(junk)


def test_an_endless_list_is_refused_and_none_is_a_machine_without_a_gpu() -> None:
    with pytest.raises(BadInput, match="no list of up to"):
        read_machine({"result": {"devices": [{}] * 2000}})
    machine = read_machine({"result": {"devices": []}})
    assert not machine.gpus
    assert "no GPU" in machine.problems[0]


RECORD = device_record(find("h200"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 5),
        ("sm_count", "132"),
        ("sm_count", True),
        ("sm_count", 1.5),
        ("memory_bandwidth", float("nan")),
        ("ecc", 1),
        ("compute_capability", 9.0),
        ("compute_capability", "x"),
        ("capability_variant", "z"),
        ("registers_per_sm", None),
        ("max_block_dim", [1, 2]),
        ("max_block_dim", "big"),
        ("shared_memory_config_mode", "none"),
        ("peaks", []),
        ("peaks", {"fp32": "fast"}),
        ("warp_size", 0),
        ("registers_per_sm", -1),
        ("max_threads_per_sm", 2**64),
        ("register_allocation_unit", 0),
        ("max_grid_dim", [1, 0, 1]),
        ("shared_memory_configs", []),
        ("sm_count", 0),
        ("memory_bandwidth", 0.0),
        ("peaks", {"fp32": 0}),
        ("sources", ["x"]),
        ("origin", "moon"),
        ("mig", 3),
        ("telemetry", {"processes": [{"pid": 1, "kind": "spy"}]}),
        ("telemetry", {"processes": [{"pid": 1}]}),
    ],
)
def test_a_wrong_field_is_named(name: str, value: object) -> None:
    record = {**RECORD, name: value}
    with pytest.raises(BadInput, match=name.removesuffix("_variant")):
        read_gpu(record)


@given(
    st.sampled_from(sorted(RECORD)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    ),
)
def test_no_value_breaks_the_reader(name: str, value: object) -> None:
    record = copy.copy(RECORD) | {name: value}
    try:
        read_gpu(record)
    except BadInput as error:
        assert error.message


def test_a_device_that_is_no_object_is_refused() -> None:
    with pytest.raises(BadInput, match=r"devices\.0 is not an object"):
        read_machine({"result": {"devices": [5]}})


def test_fields_of_newer_versions_are_ignored() -> None:
    assert read_device({**RECORD, "moon_phase": 0.5}) == read_device(RECORD)
