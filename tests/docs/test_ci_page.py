"""The YAML that people copy from docs/ci.md, and this repository's own, fits the services' published schemas."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CI_PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", CI_PAGE, re.DOTALL)
JOB = "on: push\njobs:\n  check:\n    runs-on: ubuntu-latest\n    steps:\n"


def block(words: str) -> str:
    """Return the only block of YAML on the page that holds *words*."""
    (found,) = (text for text in BLOCKS if words in text)
    return found


# Each block of the page as a whole file of the service.
FILES = {
    "github-workflows": block("on: pull_request"),
    "github-workflows, steps": JOB + textwrap.indent(block("GITHUB_STEP_SUMMARY"), " " * 6),
    "gitlab-ci": block("codequality"),
    "azure-pipelines": "steps:\n" + textwrap.indent(block("PublishBuildArtifacts"), "  "),
}


def passes(*command: str) -> None:
    """Fail with the checker's words where it finds fault."""
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def check(schema: str, path: Path) -> None:
    """Hold the file at *path* against the schema of the service."""
    passes("check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path))


def test_every_block_is_checked() -> None:
    assert len(FILES) + 1 == len(BLOCKS)  # and pre-commit's, which it reads itself


def test_pre_commit_reads_its_block(tmp_path: Path) -> None:
    path = tmp_path / ".pre-commit-config.yaml"
    path.write_text(block("repos:"), encoding="utf-8")
    passes("pre_commit", "validate-config", str(path))


@pytest.mark.parametrize("name", FILES)
def test_a_block_of_the_page_fits_the_schema(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yml"
    path.write_text(FILES[name], encoding="utf-8")
    check(name.partition(",")[0], path)


def test_a_word_that_no_service_knows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.yml"
    path.write_text(FILES["gitlab-ci"].replace("codequality", "codequalities"), encoding="utf-8")
    with pytest.raises(AssertionError, match="codequalities"):
        check("gitlab-ci", path)


def test_our_own_files_fit() -> None:
    check("github-actions", ROOT / "action.yml")
    for workflow in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        check("github-workflows", workflow)
