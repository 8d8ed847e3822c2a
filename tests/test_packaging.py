from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

import gpuadvise

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


def test_the_conda_recipe_asks_for_what_the_wheel_does(project: dict) -> None:
    recipe = yaml.safe_load((ROOT / ".ci" / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == gpuadvise.__version__
    made = project["project"]
    wanted = {line.partition(";")[0].replace(" ", "") for line in made["dependencies"]}
    needs = recipe["requirements"]
    named = {line.replace(" ", "") for line in (*needs["run"], *needs["run_constraints"])}
    from_pypi = {"tree-sitter>=0.25", "tree-sitter-cuda>=0.21", "pycxxfilt>=1.2"}
    assert named == wanted - from_pypi | {f"python{made['requires-python']}"}
    assert recipe["build"]["python"]["entry_points"] == [
        f"gpuadvise = {made['scripts']['gpuadvise']}"
    ]
