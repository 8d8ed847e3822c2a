"""Write the skeleton of a rule and all that goes with it: ``python tests/new_rule.py needless-copies``.

It writes the rule's module with one number that decides, enters it in the list of rules, and adds
its code before and after, a faulty and a fine kernel, and a line of the changelog. With ``--source cuda``
or ``--source python`` it is a rule that only a source can answer: check, words and code in one file, with
its entries and a file of cases. Every part that is yours to write holds the word FILL; the tests name what
is still missing.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
GUIDE = "rules/guide"
SOURCE_RULES = "rules/source"
CASES_FOLDER = "tests/advisor/source/cases"
FACTS = {
    "launch": "gpuadvise.advisor.occupancy.launch",
    "profile": "gpuadvise.advisor.facts.kernel_profile",
}
TYPES = {"launch": "Launch", "profile": "KernelProfile"}
SEEN = {"launch": "launch.threads", "profile": "profile.dram_busy or 0.0"}
EXAMPLES = {
    "launch": ('{"block": 1024}', '{"block": 256}'),
    "profile": (
        '{"profile": {"dram_throughput": 0.9}}',
        '{"profile": {"dram_throughput": 0.4}}',
    ),
}
MODULE = '''\
"""FILL: what the program does that it should not, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.evidence import derived
from gpuadvise.rules.model import PASSED, Advice, Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from {module} import {type}

# FILL: value, what it is, its unit, and who says so: a document, a measurement, our judgement.
MOST = number({value}, "{name}, at most", "FILL", "our judgement")


def check({fact}: {type}) -> Verdict:
    """FILL: advise when ..."""
    seen = {seen}
    if seen <= MOST:
        return PASSED
    return Advice(
        message=f"FILL: what was seen, {{seen:g}} of it, with units.",
        action="FILL: what to do, with a number or a call.",
        evidence=(derived("FILL", seen),),
    )


RULE = Rule(
    id="{name}",
    title="FILL: what to do, in a few words",
    topic=Topic.{topic},
    priority=Priority.LOW,
    kinds=(Kind.{kind},),
    why="FILL: why it matters, in one sentence.",
    when="FILL: when it fires, with the numbers.",
    citations=guide("FILL"),
    check=check,
    examples=Examples(
        fires={fires},
        quiet={quiet},
        edges=({fires}, {quiet}),
    ),
)
'''
CODE = """

[{name}]
language = "cuda"
before = '''
__global__ void kernel(float *x) {{ x[threadIdx.x] *= 2; }}   // FILL'''
after = '''
__global__ void kernel(float *x) {{ x[threadIdx.x] *= 2; }}   // FILL'''
"""
FINE = """
[[kernel]]
name = "FILL: a kernel that {name} must leave alone"
gpu = "h200"
"""
FAULTY = """
[[case]]
expect = []
low = ["{name}"]
[case.kernel]
name = "FILL: a kernel with {name}"
gpu = "h200"
"""

SOURCES = {"cuda": ("cuda", "cu", "//"), "python": ("python", "py", "#")}
ON_CUDA = '''\
"""FILL: what the program does that it should not, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext

_ACTION = "FILL: what to write instead."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """FILL: what it finds in a function."""
    for call in context.calls("__nanosleep"):
        yield context.diagnostic("{name}", call, "FILL: what is the matter there.", _ACTION)


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\\
__global__ void kernel(float *x) {{ __nanosleep(9); x[threadIdx.x] *= 2; }}   // FILL""",
        """\\
__global__ void kernel(float *x) {{ x[threadIdx.x] *= 2; }}   // FILL""",
    ),
)
RULE = source_rule(
    id="{name}",
    title="FILL: what to do, in a few words",
    topic=Topic.{topic},
    priority=Priority.LOW,
    why="FILL: why it matters, in one sentence.",
    when="FILL: when it fires.",
    citations=guide("FILL"),
    seen="__nanosleep(9)",
    action=_ACTION,
)
'''
ON_PYTHON = (
    ON_CUDA.replace("CudaCheck", "PythonCheck")
    .replace("    on_device=True,\n", "")
    .replace("rule_context import RuleContext", "python.module import PythonModule")
    .replace("context: RuleContext", "module: PythonModule")
    .replace("in a function", "in a file")
    .replace(
        '    for call in context.calls("__nanosleep"):\n',
        "    for call in module.calls:\n"
        '        if module.name_of(call.func) != "torch.cuda.ipc_collect":\n'
        "            continue\n",
    )
    .replace("yield context.", "yield module.")
    .replace('"cuda",', '"python",')
    .replace(
        "__global__ void kernel(float *x) {{ __nanosleep(9); x[threadIdx.x] *= 2; }}   // FILL",
        "import torch\n\ntorch.cuda.ipc_collect()  # FILL",
    )
    .replace(
        "__global__ void kernel(float *x) {{ x[threadIdx.x] *= 2; }}   // FILL",
        "import torch  # FILL",
    )
    .replace('seen="__nanosleep(9)",', 'seen="torch.cuda.ipc_collect()",\n    file="train.py",')
)
CASES = """\
{comment} FILL: at least {firing} functions with the fault, each marked as below, and {quiet} without.
{comment} FILL: behind the line that lint names stands: {comment} expect: {name}
"""


def main() -> int:
    """Write everything, and say where; 2 where the name cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the fault as a noun in kebab case: needless-copies")
    parser.add_argument("--fact", choices=sorted(FACTS), default="launch", help="what it judges")
    parser.add_argument(
        "--source",
        choices=sorted(SOURCES),
        help="a rule on sources of this language, not on a fact",
    )
    parser.add_argument("--topic", default="execution", help="its topic: memory, execution, ...")
    parser.add_argument(
        "--after", default="mig-slices", help="the rule of the list that it follows"
    )
    parser.add_argument("--to", type=Path, default=REPOSITORY, help=argparse.SUPPRESS)
    given = parser.parse_args()
    try:
        if given.source:
            paths = written_on_source(given.name, given.source, given.topic, given.after, given.to)
        else:
            paths = written(given.name, given.fact, given.topic, given.after, given.to)
        print(*paths, sep="\n")
    except ValueError as refused:
        print(f"error: {refused}", file=sys.stderr)
        return 2
    print(f"Then: pytest tests/rules -k {given.name}, and grep FILL for what is yours to write.")
    return 0


def written(name: str, fact: str, topic: str, after: str, repository: Path) -> list[str]:
    """Write the skeleton of rule *name* into *repository*; returns the paths. Raises ValueError."""
    stem = name.replace("-", "_")
    folder = topic.replace("-", "_")
    module, listed = repository / GUIDE / folder / f"{stem}.py", repository / GUIDE / "__init__.py"
    _refuse_known(name, repository)
    rules = _with_entry(listed, f"{folder}.{stem}", after)
    fires, quiet = EXAMPLES[fact]
    text = MODULE.format(
        name=name, fact=fact, module=FACTS[fact], type=TYPES[fact], seen=SEEN[fact],
        value="512" if fact == "launch" else "0.5", kind=fact.upper(), fires=fires, quiet=quiet,
        topic=topic.upper().replace("-", "_"),
    )  # fmt: skip
    module.write_text(text, encoding="utf-8")
    listed.write_text(rules, encoding="utf-8")
    added = {
        "cli/rules/before_after.toml": CODE,
        "tests/rules/corpus/fine.toml": FINE,
        "tests/rules/corpus/faulty.toml": FAULTY,
    }
    for place, part in added.items():
        with (repository / place).open("a", encoding="utf-8") as file:
            file.write(part.format(name=name))
    _say_new(name, "`advise` and the rules", repository)
    return [str(path.relative_to(repository)) for path in (module, listed)] + [
        *added,
        "CHANGELOG.md",
    ]


def written_on_source(
    name: str, source: str, topic: str, after: str, repository: Path
) -> list[str]:
    """Write the skeleton of rule *name* on sources of language *source*; the rest as `written`."""
    folder, suffix, comment = SOURCES[source]
    stem = name.replace("-", "_")
    _refuse_known(name, repository)
    listed = repository / GUIDE / "__init__.py"
    rules = _with_entry(listed, f"{folder}.{stem}", after)
    module = repository / SOURCE_RULES / folder / f"{stem}.py"
    text = ON_CUDA if source == "cuda" else ON_PYTHON
    module.write_text(
        text.format(name=name, topic=topic.upper().replace("-", "_")), encoding="utf-8"
    )
    listed.write_text(rules, encoding="utf-8")
    checked = repository / SOURCE_RULES / "__init__.py"
    head = f"{source.upper()}_RULES = (\n"
    table = checked.read_text(encoding="utf-8")
    checked.write_text(table.replace(head, f'{head}    "{name}",\n', 1), encoding="utf-8")
    cases = repository / CASES_FOLDER / f"{name}.{suffix}"
    marked = CASES.format(comment=comment, name=name, firing=6, quiet=12)
    cases.write_text(marked, encoding="utf-8")
    _say_new(name, "Sources: `lint`, `whatif`, `advise FILE.cu`", repository)
    return [str(path.relative_to(repository)) for path in (module, listed, checked, cases)] + [
        "CHANGELOG.md"
    ]


def _refuse_known(name: str, repository: Path) -> None:
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) is None:
        raise ValueError(
            f"{name!r} is not in kebab case: lower case and hyphens, as in tiny-blocks."
        )
    stem = name.replace("-", "_")
    if any(any((repository / place).glob(f"*/{stem}.py")) for place in (GUIDE, SOURCE_RULES)):
        raise ValueError(f"there is already a rule {name}.")


def _with_entry(listed: Path, module: str, after: str) -> str:
    """Return the list of rules with *module* behind the rule *after*."""
    text = listed.read_text(encoding="utf-8")
    entry = re.search(rf'    "\w+\.{after.replace("-", "_")}",\n', text)
    if entry is None:
        raise ValueError(f"--after: there is no rule {after} in {GUIDE}/__init__.py.")
    return text[: entry.end()] + f'    "{module}",\n' + text[entry.end() :]


def _say_new(name: str, group: str, repository: Path) -> None:
    changelog = repository / "CHANGELOG.md"
    heading = f"### {group}\n\n"
    changes = changelog.read_text(encoding="utf-8")
    entry = f"{heading}- New rule `{name}`: FILL.\n"
    changelog.write_text(changes.replace(heading, entry, 1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
