"""Pages that are written by a program are what that program writes now."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from gpuadvise.advisor.catalogue.keys import KEYS
from gpuadvise.advisor.facts.bag import HOW
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.sources import OLD_GUIDE

DOCS = Path(__file__).parent.parent.parent / "docs"
SPEC = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
assert SPEC is not None
assert SPEC.loader is not None
generate = importlib.util.module_from_spec(SPEC)
sys.path.insert(0, str(DOCS))  # where it finds gallery.py
SPEC.loader.exec_module(generate)
sys.path.remove(str(DOCS))
PAGES: dict[str, str] = generate.pages()
PICTURES: dict[str, bytes] = generate.gallery.pictures()


def test_the_folder_holds_exactly_the_generated_pages() -> None:
    assert sorted(path.name for path in (DOCS / "rules").iterdir()) == sorted(PAGES)


def test_the_korean_glossary_is_up_to_date() -> None:
    page = (DOCS / "ko" / "glossary.md").read_text(encoding="utf-8")
    assert page == generate.korean_glossary(), "run: python docs/generate.py"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_up_to_date(name: str) -> None:
    text = (DOCS / "rules" / name).read_text(encoding="utf-8")
    assert text == PAGES[name], "run python docs/generate.py and read the diff"


def test_the_list_of_pages_for_language_models_is_up_to_date() -> None:
    text = (DOCS.parent / "llms.txt").read_text(encoding="utf-8")
    assert text == generate.llms(), "run python docs/generate.py and read the diff"
    links = {line.split("](")[1].split(")")[0] for line in text.splitlines() if "](" in line}
    assert all((DOCS.parent / link).is_file() for link in links)
    assert not [line for line in text.splitlines() if line.endswith(": ")]


def test_the_files_of_an_installation_are_up_to_date() -> None:
    share = DOCS / "share"
    made = generate.shared_files()
    assert sorted(
        p.relative_to(share).as_posix() for p in share.rglob("*") if p.is_file()
    ) == sorted(made)
    for path, text in made.items():
        assert (share / path).read_text(encoding="utf-8") == text, "run python docs/generate.py"


@pytest.mark.parametrize("name", sorted(path.name for path in (DOCS / "pictures").iterdir()))
def test_a_picture_is_up_to_date(name: str) -> None:
    assert sorted(p.name for p in (DOCS / "pictures").iterdir()) == sorted(PICTURES)
    assert (DOCS / "pictures" / name).read_bytes() == PICTURES[name], "run python docs/generate.py"


def test_every_link_of_the_index_leads_somewhere() -> None:
    import re

    for name in ("README.md", "coverage.md"):
        for target in re.findall(r"\]\(([\w.-]+)\)", (DOCS / "rules" / name).read_text()):
            assert (DOCS / "rules" / target).exists(), target


SCHEMAS: dict[str, str] = generate.schema_files()


def test_the_schemas_are_those_of_the_declared_answers() -> None:
    assert {path.name for path in generate.SCHEMAS.glob("*.json")} == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_what_its_declaration_makes(name: str) -> None:
    text = (generate.SCHEMAS / name).read_text(encoding="utf-8")
    assert text == SCHEMAS[name], "run python docs/generate.py and read the diff"


@pytest.mark.parametrize("number", generate.SECTIONS)
def test_a_section_of_the_guide_has_rules_or_a_reason(number: str) -> None:
    known = {rule.id for rule in RULES}
    resting = generate.rules_of(number)
    assert set(resting) <= known
    assert bool(resting) != bool(generate.SECTIONS[number].get("none"))


def test_no_section_that_a_rule_cites_is_left_out() -> None:
    cited = {c.section for rule in RULES for c in rule.citations if c.document == OLD_GUIDE}
    assert {number for number in cited if int(number.split(".")[0]) >= 8} <= set(generate.SECTIONS)


WITH_PARTS = [*sorted(DOCS.glob("*.md")), generate.SITE]


@pytest.mark.parametrize("page", WITH_PARTS, ids=lambda page: page.name)
def test_the_written_parts_of_a_page_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == generate.with_written_parts(page), "run python docs/generate.py, read the diff"


def test_every_part_that_is_written_stands_in_a_page() -> None:
    marks = "".join(page.read_text(encoding="utf-8") for page in WITH_PARTS)
    written = [part["name"] for part in generate._MARKED.finditer(marks)]
    assert sorted(written) == sorted(generate.PARTS)


def test_every_fact_and_every_key_of_the_catalogue_is_listed() -> None:
    facts = (DOCS / "adding-a-rule.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in facts for name in HOW)
    keys = (DOCS / "catalogue.md").read_text(encoding="utf-8")
    assert all(f"| `{key}` |" in keys for key in KEYS)
