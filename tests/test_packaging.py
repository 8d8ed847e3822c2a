from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TREES = ("advisor", "rules", "cli", "api", "servers")


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages_in_tree() -> set[str]:
    found = {"gpuadvise"}
    for top in TREES:
        for door in (ROOT / top).rglob("__init__.py"):
            parts = door.parent.relative_to(ROOT).parts
            if "_root" not in parts:
                found.add(".".join(("gpuadvise", *parts)))
    return found


def test_the_package_list_is_the_tree(project: dict) -> None:
    listed = set(project["tool"]["setuptools"]["packages"])
    assert listed == packages_in_tree(), "correct `packages` in pyproject.toml"


def test_every_folder_of_modules_is_a_package() -> None:
    for top in TREES:
        for module in (ROOT / top).rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), module


def test_no_requirement_that_others_share_has_an_upper_bound(project: dict) -> None:
    bounded = [row for row in project["project"]["dependencies"] if "<" in row]
    assert [row.partition(">")[0] for row in bounded] == ["plotext"]  # nobody else's


def test_bare_folder_names_are_no_modules() -> None:
    with pytest.raises(ModuleNotFoundError):
        __import__("advisor.errors")
