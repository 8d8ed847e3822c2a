"""The manifests for Kubernetes: they parse, and no process of them listens where it need not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "docs" / "kubernetes"
CONTAINERS = [
    (path.name, container)
    for path in sorted(FOLDER.glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    for pod in (
        document["spec"].get("template", {}).get("spec"),
        document["spec"].get("worker", {}).get("spec"),
        document["spec"].get("scheduler", {}).get("spec"),
    )
    for container in (pod or {}).get("containers", ())
]


def test_there_are_some() -> None:
    assert {name for name, _ in CONTAINERS} == {
        "dask.yaml",
        "dask-operator.yaml",
        "node-health.yaml",
    }


@pytest.mark.parametrize(("name", "container"), CONTAINERS)
def test_no_dashboard_listens_to_others(name: str, container: dict) -> None:
    assert container["resources"]["limits"]["memory"]
    if container["command"][0] != "dask":
        assert "ports" not in container
        return
    assert {"--dashboard-address=127.0.0.1:0", "--no-dashboard", "--host=$(ADDRESS)"} <= set(
        container["args"]
    )


def test_every_command_of_the_page_closes_its_dashboard() -> None:
    page = (FOLDER.parent / "clusters.md").read_text(encoding="utf-8").replace("\\\n", " ")
    started = [
        line for line in page.splitlines() if line.startswith(("dask scheduler", "dask worker"))
    ]
    assert len(started) == 3
    for line in started:
        assert "--dashboard-address 127.0.0.1:0 --no-dashboard" in line
        assert "--interface" in line
