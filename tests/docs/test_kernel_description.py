"""The documented description is read, and holds every key there is."""

from __future__ import annotations

import re
from pathlib import Path

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.files import from_toml
from gpuadvise.advisor.description.reader import KEYS
from gpuadvise.advisor.description.tables import KeyTable, LateTable, ListOf
from gpuadvise.advisor.facts.bag import SUPPLY
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES

PAGE = (Path(__file__).parent.parent.parent / "docs" / "kernel-description.md").read_text()
[EXAMPLE] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_is_read_and_judged() -> None:
    [kernel] = from_toml(EXAMPLE, "kernel-description.md", from_catalogue)
    report = run(RULES, kernel.facts)
    assert not report.failures
    assert report.not_evaluated == ()


def test_the_example_has_every_key() -> None:
    readers = [supply.read for supply in SUPPLY.values()]
    lists = [reader.table for reader in readers if isinstance(reader, ListOf)]
    single = [reader for reader in readers if isinstance(reader, KeyTable | LateTable)]
    tables = [it.load() if isinstance(it, LateTable) else it for it in (*lists, *single)]
    inner = {key for table in tables for key in table.keys}
    for key in (*KEYS, *inner):
        assert re.search(rf"\b{key}\b", EXAMPLE), key
