"""Calibrations kept between runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.backends.calibration_file import path, save, saved
from gpuadvise.advisor.backends.user_files import read_measurement
from gpuadvise.advisor.calibration import Calibration, from_json, to_json, with_roofs
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.gpu import Identity

if TYPE_CHECKING:
    from pathlib import Path

GPU = Identity(uuid="GPU-00000000-0000-0000-0000-000000000001")
OTHER = Identity(uuid="GPU-00000000-0000-0000-0000-000000000002")


def test_parts_are_kept_beside_each_other_and_gpus_apart(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    assert saved(GPU, environ) is None
    save(GPU, Calibration(memory_bandwidth=4e12, measured="2026-01-01"), environ)
    save(GPU, Calibration(peaks={"bf16_tensor": 6e14}, measured="2026-01-02"), environ)
    found = saved(GPU, environ)
    assert found is not None
    assert (found.memory_bandwidth, found.peaks, found.measured) == (
        4e12,
        {"bf16_tensor": 6e14},
        "2026-01-02",
    )
    assert saved(OTHER, environ) is None
    text = (tmp_path / "gpuadvise" / "calibrations.json").read_text()
    assert "GPU-" not in text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"gpus": []}', "[" * 10000])
def test_a_broken_file_is_refused_and_written_anew(tmp_path: Path, text: str) -> None:
    place = tmp_path / "kept.json"
    place.write_text(text)
    environ = {"GPUADVISE_CALIBRATIONS": str(place)}
    with pytest.raises(BadInput, match="holds no calibrations"):
        saved(GPU, environ)
    save(GPU, Calibration(memory_bandwidth=1e12), environ)
    assert saved(GPU, environ) == Calibration(memory_bandwidth=1e12)


def test_an_entry_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    environ = {"GPUADVISE_CALIBRATIONS": str(tmp_path / "kept.json")}
    save(GPU, Calibration(memory_bandwidth=1e12), environ)
    text = (tmp_path / "kept.json").read_text().replace("1000000000000.0", "-1")
    (tmp_path / "kept.json").write_text(text)
    with pytest.raises(BadInput, match="memory_bandwidth"):
        saved(GPU, environ)


def test_a_folder_that_takes_no_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    environ = {"GPUADVISE_CALIBRATIONS": str(tmp_path / "file" / "kept.json")}
    with pytest.raises(Unavailable, match="cannot be saved"):
        save(GPU, Calibration(memory_bandwidth=1e12), environ)
    assert path({"XDG_DATA_HOME": "/data"}) == "/data/gpuadvise/calibrations.json"


def test_roofs_replace_the_products(tmp_path: Path) -> None:
    h200 = find("h200")
    seen = with_roofs(h200, Calibration(memory_bandwidth=4e12, peaks={"fp32": 5e13}))
    assert (seen.memory_bandwidth, seen.peaks["fp32"]) == (4e12, 5e13)
    assert seen.peaks["bf16_tensor"] == h200.peaks["bf16_tensor"]
    assert seen.sources["peaks.fp32"] == "measured"
    calibration = Calibration(gpu="x", memory_bandwidth=4e12, peaks={"fp32": 5e13})
    assert from_json(json.loads(json.dumps(to_json(calibration)))) == calibration


def test_a_measurement_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text(json.dumps({"result": {"memory_bandwidth": 4e12, "rows": []}}))
    assert read_measurement(str(file)).memory_bandwidth == 4e12
    for text in ("no", '{"result": {}}', "[]", '{"result": {"peaks": [1]}}'):
        file.write_text(text)
        with pytest.raises(BadInput):
            read_measurement(str(file))
