from __future__ import annotations

import ctypes
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries import names
from gpuadvise.advisor.binaries.names import can_demangle, demangle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "pycxxfilt", None)
    names._demangler.cache_clear()
    names._child_works.cache_clear()
    names._plain.cache_clear()
    yield
    names._demangler.cache_clear()
    names._child_works.cache_clear()
    names._plain.cache_clear()


@pytest.mark.usefixtures("without_package")
def test_without_the_package_and_a_runtime_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_RUNTIMES", ("libthere-is-none.so",))
    assert not can_demangle()
    assert demangle("_Z5sizedILi64EEvPd") is None


@pytest.mark.usefixtures("without_package")
def test_without_ctypes_too_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert not can_demangle()


# What stands in for LLVM's C++ runtime, which few machines with Linux have: it answers a few names as that
# does, in the spelling of its older versions.
RUNTIME = r"""
#include <stdlib.h>
#include <string.h>
static const char *known[][2] = {
    {"_ZZ1fvENKUlvE_clEv", "f()::'lambda'()::operator()() const"},
    {"_Z1fI1AIS_IiEEEvT_", "void f<A<A<int> > >(A<A<int> >)"},
    {"_Z1fI1AIiEEvT_", "void f<A<int>>(A<int>)"},
};
char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status) {
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, known[i][0])) { *status = 0; return strdup(known[i][1]); }
    *status = -2;
    return 0;
}
"""


@pytest.fixture
def runtime(tmp_path: Path) -> str:
    (tmp_path / "runtime.c").write_text(RUNTIME)
    library = tmp_path / "libruntime.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "runtime.c"], check=True)
    return str(library)


@pytest.mark.usefixtures("without_package")
def test_without_the_package_the_runtime_demangles(
    runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the package does, and what only a bounded process may read stays as it is."""
    monkeypatch.setattr(names, "_RUNTIMES", ("libthere-is-none.so", runtime))
    assert can_demangle()
    assert demangle("_Z1fI1AIiEEvT_") == "void f<A<int>>(A<int>)"
    assert demangle("_Z1fI1AIS_IiEEEvT_$2") == "void f<A<A<int>>>(A<A<int>>)$2"
    assert demangle("_Z1gv") is None
    assert demangle("_Z1g\udc80") is None
    assert demangle("_Z1f1AIiiE" + "S0_" * 60) is None


@pytest.mark.usefixtures("without_package")
def test_the_demangler_of_another_runtime_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """GNU's takes hours for some names."""
    gnu = "libstdc++.so.6"
    try:
        ctypes.CDLL(gnu)
    except OSError:
        pytest.skip("there is no GNU runtime")
    monkeypatch.setattr(names, "_RUNTIMES", (gnu,))
    assert not can_demangle()


def test_names_that_need_a_process_stay_where_none_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(138, "no processes here")

    monkeypatch.setattr(names, "_child_demangler", names._ChildDemangler())
    monkeypatch.setattr(subprocess, "Popen", refuse)
    names._plain.cache_clear()
    assert demangle("_Z1f1AIiiE" + "S0_" * 60) is None
    assert demangle("_Z1fv") == "f()"
    names._plain.cache_clear()
