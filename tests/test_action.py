"""The action of this repository (action.yml), its steps run as a runner of GitHub would."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from sarif_pydantic import Sarif

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "cli" / "recorded"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
KERNEL = """\
__global__ void k(float *a, float x) {
  a[0] = x * 0.3;
  if (threadIdx.x == 0) __syncthreads();
}
"""
# A service of comments for `gh api`: one file holds what a pull request's page would.
GH = """\
import json, pathlib, sys
arguments = sys.argv[1:]
page = pathlib.Path(__file__).with_name("comments.json")
comments = json.loads(page.read_text()) if page.exists() else []
if "--method" not in arguments:
    mark = arguments[arguments.index("--jq") + 1].split('"')[1]
    print("\\n".join(str(n) for n, body in enumerate(comments, 1) if body.startswith(mark)))
    sys.exit()
body = pathlib.Path(arguments[arguments.index("--field") + 1].removeprefix("body=@")).read_text()
if "PATCH" in arguments:
    comments[int(next(a for a in arguments if "/comments/" in a).rsplit("/", 1)[1]) - 1] = body
else:
    comments.append(body)
page.write_text(json.dumps(comments))
"""

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or not shutil.which("bash"), reason="the steps are bash"
)


@dataclass(kw_only=True)
class Job:
    """One job of a runner: what its steps wrote."""

    folder: Path
    temp: Path

    def run(self, name: str, code: int = 0, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the step *name* with *inputs*, as `uses: ...` with `with: ...` would."""
        step = next(step for step in ACTION["runs"]["steps"] if step["name"] == name)
        given = {key: str(entry.get("default", "")) for key, entry in ACTION["inputs"].items()}
        values = {f"inputs.{key}": value for key, value in (given | inputs).items()} | {
            "github.action_path": str(ROOT),
            "github.repository": "owner/repository",
            "github.event.pull_request.number": "7",
            "steps.run.outputs.exit-code": self.outputs().get("exit-code", ""),
        }
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(
                [str(self.temp), str(Path(sys.executable).parent), os.environ["PATH"]]
            ),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(self.temp / "output"),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
            "GITHUB_PATH": str(self.temp / "path"),
        }
        for key, text in step.get("env", {}).items():
            environment[key] = re.sub(r"\$\{\{ (\S+) \}\}", lambda m: values[m[1]], text)
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stderr
        return ran

    def outputs(self) -> dict[str, str]:
        path = self.temp / "output"
        lines = path.read_text().splitlines() if path.exists() else []
        return dict(line.split("=", 1) for line in lines)

    def summary(self) -> str:
        return (self.temp / "summary.md").read_text()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    folder, temp = tmp_path / "repository", tmp_path / "temp"
    folder.mkdir()
    temp.mkdir()
    (folder / "k.cu").write_text(KERNEL)
    return Job(folder=folder, temp=temp)


def wheel(path: Path, cubins: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, source in cubins.items():
            archive.write(RECORDED / source, f"small/{name}")


def test_every_expression_stands_in_the_environment() -> None:
    """Text of a pull request that stood in a script would be run."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert len(scripts) == 4
    assert not any("${{" in script for script in scripts)


def test_lint_annotates_summarises_and_fails(job: Job) -> None:
    given = {"command": "lint", "arguments": "k.cu\n  --fail-on\n  high\n", "sarif": "true"}
    ran = job.run("Run gpuadvise", **given)
    lines = ran.stdout.splitlines()
    assert any(re.match(r"::error file=k\.cu,line=3,.*divergent-barriers", line) for line in lines)
    assert any(re.match(r"::notice file=k\.cu,line=2,.*implicit-double", line) for line in lines)
    assert "divergent-barriers" in job.summary()
    assert job.summary().startswith("## gpuadvise\n")
    outputs = job.outputs()
    assert outputs["exit-code"] == "1"
    log = Sarif.model_validate_json(Path(outputs["sarif"]).read_text())
    assert len(log.runs[0].results or []) == 2
    job.run("Gate", code=1)


def test_a_quiet_command_passes(job: Job) -> None:
    ran = job.run(
        "Run gpuadvise", command="lint", arguments="k.cu\n--select\nslow-math", summary=""
    )
    assert job.outputs() == {"exit-code": "0"}
    assert "::error" not in ran.stdout
    assert not (job.temp / "summary.md").exists()
    job.run("Gate")


def test_wheels_for_several_gpus(job: Job) -> None:
    wheel(job.folder / "both.whl", {"a.cubin": "80.cubin", "b.cubin": "90a.cubin"})
    wheel(job.folder / "ampere.whl", {"a.cubin": "80.cubin"})
    given = {"command": "compat", "gpus": "a100\nh100"}
    job.run("Run gpuadvise", **given, arguments="both.whl\n--fail-on\nfails")
    assert job.outputs()["exit-code"] == "0"
    ran = job.run("Run gpuadvise", **given, arguments="both.whl\nampere.whl\n--fail-on\nfails")
    assert job.outputs()["exit-code"] == "1"
    assert "::error" in ran.stdout
    assert "### a100" in job.summary()
    assert "### h100" in job.summary()


def test_the_diff_of_two_wheels(job: Job) -> None:
    wheel(job.folder / "old.whl", {"a.cubin": "90a.cubin"})
    wheel(job.folder / "new.whl", {"a.cubin": "90a.cubin", "b.cubin": "spilling.cubin"})
    job.run("Run gpuadvise", command="diff", arguments="old.whl\nnew.whl\n--fail-on-spills")
    assert "spilling" in job.summary()
    job.run("Gate", code=int(job.outputs()["exit-code"]))


def test_what_cannot_be_read_fails_with_its_sentence(job: Job) -> None:
    (job.folder / "a b.cu").write_text(KERNEL)
    job.run("Run gpuadvise", command="lint", arguments="a b.cu")
    assert job.outputs()["exit-code"] == "0"
    ran = job.run("Run gpuadvise", command="lint", arguments="$(touch hacked).cu\n; touch hacked")
    assert job.outputs()["exit-code"] == "2"
    assert "touch hacked" in ran.stderr
    assert "```text\n" in job.summary()
    assert not (job.folder / "hacked").exists()
    job.run("Gate", code=2)


def test_the_jobs_of_the_page(job: Job) -> None:
    """Each job of docs/ci.md runs in a repository of that shape, and finds nothing there."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    pages = [yaml.safe_load(block) for block in blocks]
    (job.folder / "src").mkdir()
    (job.folder / "src" / "k.cu").write_text(
        "__global__ void k(float *a) { a[threadIdx.x] = 1; }\n"
    )
    (job.folder / "dist").mkdir()
    fat = {f"{name}.cubin": "80.cubin" for name in "ab"}
    wheel(job.folder / "dist" / "some.whl", fat)
    for name in ("build-main", "build-branch"):
        (job.folder / name).mkdir()
        shutil.copy(RECORDED / "90a.cubin", job.folder / name / "k.cubin")
    codes = {}
    for name, entry in pages[0]["jobs"].items():
        given = entry["steps"][-1]["with"]
        assert set(given) <= set(ACTION["inputs"])
        job.run("Run gpuadvise", **given)
        codes[name] = job.outputs()["exit-code"]
    assert codes == {"sources": "0", "wheels": "1", "build": "0"}  # sm_80 runs on no H100
    scripts = [
        line
        for page in pages[1:]
        for line in (
            [step[key] for step in page for key in ("run", "script") if key in step]
            if isinstance(page, list)
            else [
                line
                for part in ("before_script", "script")
                for line in page.get("gpuadvise", {}).get(part, [])
            ]
        )
    ]
    installing = [line for line in scripts if line.startswith("pip install ")]
    asking = [line for line in scripts if line not in installing]
    assert len(set(installing)) == 1  # and as the page says in words
    assert installing[0] in (ROOT / "docs" / "ci.md").read_text().partition("## Installing it")[2]
    assert len(asking) == 6
    for line in asking:
        environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(job.temp / "page.md")}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        ran = subprocess.run(
            ["bash", "-ec", line], cwd=job.folder, env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, (line, ran.stderr)
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    used = {hook["id"] for page in pages if "repos" in page for hook in page["repos"][0]["hooks"]}
    assert used == {hook["id"] for hook in hooks}


def test_one_comment_that_later_runs_replace(job: Job) -> None:
    gh = job.temp / "gh"
    gh.write_text(f"#!{sys.executable}\n{GH}")
    gh.chmod(0o755)
    for arguments in ("k.cu", "k.cu\n--select\nslow-math"):
        job.run("Run gpuadvise", command="lint", arguments=arguments)
        job.run("Comment on the pull request")
    job.run("Comment on the pull request", title='other "lint"')
    comments: list[Any] = json.loads((job.temp / "comments.json").read_text())
    assert len(comments) == 2
    assert comments[0].startswith("<!-- gpuadvise: gpuadvise -->\n## gpuadvise")
    assert "divergent-barriers" not in comments[0]
    assert comments[1].startswith("<!-- gpuadvise: other -lint- -->")
