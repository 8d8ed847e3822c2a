from __future__ import annotations

import builtins
import time

import pytest

from gpuadvise.advisor.binaries import names
from gpuadvise.advisor.binaries.names import can_demangle, demangle


def reference(index: int) -> str:
    """Return how a mangled name refers back to its component *index*, up to the 37th."""
    return f"S{'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[index - 1]}_" if index else "S_"


def nested(levels: int) -> str:
    """Return a name whose plain form doubles with each level."""
    return "_Z1f1AIiiE" + "".join(f"S_I{reference(n) * 2}E" for n in range(1, levels))


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("_Z5sizedILi64EEvPd", "void sized<64>(double*)"),
        ("_Z3locfPf$3", "loc(float, float*)$3"),
        ("main", None),
        ("_Z", None),
        ("_Z\x1b[2J", None),
        ("_Zé", None),
        ("_Z1f" + "i" * 10_000, None),
    ],
)
def test_names(name: str, plain: str | None) -> None:
    assert can_demangle()
    assert demangle(name) == plain


def test_many_references_are_still_read() -> None:
    plain = demangle("_Z1f1AIiiE" + "S0_" * 60)
    assert plain is not None
    assert plain.startswith("f(A<int, int>, A<int, int>, ")
    assert plain.count("A<int, int>") == 61


def test_a_name_that_stands_for_gigabytes_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_child_demangler", names._ChildDemangler())
    start = time.process_time()
    assert [demangle(nested(36)) for _ in range(5)] == [None] * 5
    assert time.process_time() - start < 10
    names._child_demangler.stop()


def test_after_a_death_the_next_name_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_child_demangler", names._ChildDemangler())
    assert demangle(nested(36)) is None
    assert demangle("_Z1f1AIiiE" + "S0_" * 60)
    names._child_demangler.stop()


def test_without_the_package_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: object):
        if name == "pycxxfilt":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    names._demangler.cache_clear()
    assert not can_demangle()
    assert demangle("_Z5sizedILi64EEvPd") is None
    names._demangler.cache_clear()
