"""Every page is found from the README, and every command has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpuadvise.cli.app import COMMANDS

ROOT = Path(__file__).parent.parent.parent
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> set[tuple[Path, str]]:
    """Return the pages that *page* links to, with the heading's anchor or an empty text."""
    return {
        ((page.parent / target).resolve() if target else page, anchor)
        for target, anchor in LINK.findall(prose(page))
    }


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of *page*, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            ahead += [target for target, _ in links(page)]
    lost = sorted(str(page.relative_to(ROOT)) for page in set(PAGES) - reached)
    assert not lost, "no page links to these: enter them in docs/README.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_a_heading_find_it(page: Path) -> None:
    for target, anchor in links(page):
        assert not anchor or anchor in anchors(target), f"{target.name}#{anchor}"


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_a_command_has_a_page_or_a_section_of_one(name: str) -> None:
    headings = [
        heading
        for page in (ROOT / "docs").glob("*.md")
        for heading in re.findall(r"^#+ .*$", prose(page), re.MULTILINE)
    ]
    assert any(re.search(rf"`{name}[ `]", heading) for heading in headings), (
        f"write about `{name}` in docs/: a page or a section with its name in the heading"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_path_of_this_repository_exists(page: Path) -> None:
    paths = re.findall(
        r"(?<![\w./-])(?<!\]\()(?:advisor|cli|rules|tests|docs|benchmarks)/[\w./-]*", prose(page)
    )
    for path in paths:
        there = ROOT / path.rstrip("./")
        assert there.exists() or there.with_suffix(".py").exists(), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_installs_is_there(page: Path) -> None:
    """Nothing of this name is on an index: it comes from a checkout or a URL."""
    if page.name == "CHANGELOG.md":
        return
    installs = re.findall(r"pip install [^\n`&]*", page.read_text(encoding="utf-8"))
    assert [each for each in installs if re.search(r"(?<![\w/])gpuadvise(?! @ )", each)] == []
