"""The page that plain ncu prints, against the same launches as CSV."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from printed_page import printed

from gpuadvise.advisor.profiles.ncu_file import read_profiles
from gpuadvise.advisor.profiles.ncu_text import details_of, is_text_page

DETAILS = Path(__file__).parent / "recorded" / "hand_details.csv"


def test_the_printed_page_says_what_the_details_page_says(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(printed(DETAILS))
    assert is_text_page(page.read_text())
    as_printed = [profile for profile, _ in read_profiles(str(page))]
    as_csv = [profile for profile, _ in read_profiles(str(DETAILS))]
    assert [replace(each, rules=()) for each in as_printed] == [
        replace(each, rules=()) for each in as_csv
    ]
    for one, other in zip(as_printed, as_csv, strict=True):
        assert sorted((r.name, r.kind, r.estimated_speedup or 0) for r in one.rules) == sorted(
            (r.name, r.kind, r.estimated_speedup or 0) for r in other.rules
        )


def test_a_page_is_advised_on(cli, tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(printed(DETAILS))
    ran = cli("advise", str(page))
    assert ran.code == 0, ran.err
    assert ran.out.startswith("8 kernels: ")


@given(st.text(alphabet="ab(), 1x-\nSection:ContextStream", max_size=200))
def test_any_text_is_no_crash(text: str) -> None:
    assert next(details_of(text.splitlines(keepends=True))).startswith('"ID"')
