"""Write the skeleton of a rule and all that goes with it: ``python tests/new_rule.py needless-copies``.

It writes the rule's module with one number that decides, enters it in the list of rules, and adds
its code before and after, a faulty and a fine kernel, and a line of the changelog. Every part that
is yours to write holds the word FILL; the tests name what is still missing.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
GUIDE = "rules/guide"
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


def main() -> int:
    """Write everything, and say where; 2 where the name cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the fault as a noun in kebab case: needless-copies")
    parser.add_argument("--fact", choices=sorted(FACTS), default="launch", help="what it judges")
    parser.add_argument("--topic", default="execution", help="its topic: memory, execution, ...")
    parser.add_argument(
        "--after", default="mig-slices", help="the rule of the list that it follows"
    )
    parser.add_argument("--to", type=Path, default=REPOSITORY, help=argparse.SUPPRESS)
    given = parser.parse_args()
    try:
        for path in written(given.name, given.fact, given.topic, given.after, given.to):
            print(path)
    except ValueError as refused:
        print(f"error: {refused}", file=sys.stderr)
        return 2
    print(f"Then: pytest tests/rules -k {given.name}, and grep FILL for what is yours to write.")
    return 0


def written(name: str, fact: str, topic: str, after: str, repository: Path) -> list[str]:
    """Write the skeleton of rule *name* into *repository*; returns the paths. Raises ValueError."""
    stem, before = name.replace("-", "_"), after.replace("-", "_")
    module, listed = repository / GUIDE / f"{stem}.py", repository / GUIDE / "__init__.py"
    rules = listed.read_text(encoding="utf-8")
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) is None:
        raise ValueError(
            f"{name!r} is not in kebab case: lower case and hyphens, as in tiny-blocks."
        )
    if module.exists():
        raise ValueError(f"there is already a rule {name}.")
    if f'    "{before}",\n' not in rules:
        raise ValueError(f"--after: there is no rule {after} in {GUIDE}/__init__.py.")
    fires, quiet = EXAMPLES[fact]
    text = MODULE.format(
        name=name, fact=fact, module=FACTS[fact], type=TYPES[fact], seen=SEEN[fact],
        value="512" if fact == "launch" else "0.5", kind=fact.upper(), fires=fires, quiet=quiet,
        topic=topic.upper().replace("-", "_"),
    )  # fmt: skip
    module.write_text(text, encoding="utf-8")
    line = f'    "{before}",\n'
    listed.write_text(rules.replace(line, f'{line}    "{stem}",\n', 1), encoding="utf-8")
    added = {
        "cli/rules/before_after.toml": CODE,
        "tests/rules/corpus/fine.toml": FINE,
        "tests/rules/corpus/faulty.toml": FAULTY,
    }
    for place, part in added.items():
        with (repository / place).open("a", encoding="utf-8") as file:
            file.write(part.format(name=name))
    changelog = repository / "CHANGELOG.md"
    heading = "### `advise` and the rules\n\n"
    entry = f"{heading}- New rule `{name}`: FILL.\n"
    changes = changelog.read_text(encoding="utf-8")
    changelog.write_text(changes.replace(heading, entry, 1), encoding="utf-8")
    return [str(path.relative_to(repository)) for path in (module, listed)] + [
        *added,
        "CHANGELOG.md",
    ]


if __name__ == "__main__":
    sys.exit(main())
