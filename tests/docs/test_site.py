"""The site: every page stands in it, and Material for MkDocs builds it without a warning."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
LEAVING = re.compile(r"\]\(((?:\.\./)+[^)#]*)")


def test_every_page_stands_in_the_navigation_once() -> None:
    import yaml

    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        inside = entry.values() if isinstance(entry, dict) else entry
        return [page for part in inside for page in pages(part)]

    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    written = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    assert sorted(pages(nav)) == written, "enter a new page in mkdocs.yml"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_no_link_leaves_the_folder_that_the_site_shows(page: Path) -> None:
    for target in LEAVING.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).resolve().is_relative_to(DOCS), target


@pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="pip install --group site: MkDocs"
)
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(build, cwd=ROOT, env=quiet, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "rules" / "low-occupancy" / "index.html").is_file()
    assert not (tmp_path / "generate.py").exists()
    start = (tmp_path / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|link|img)\b[^>]*(?:src|href)="(https?:[^"]*)"', start)
    assert not loaded, "nothing is loaded from another host"
