from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from gpuadvise.advisor.binaries.model import Content, Entry, Place
from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.compatibility.drivers import parse_driver
from gpuadvise.advisor.compatibility.explain import headline
from gpuadvise.advisor.compatibility.fit import fit
from gpuadvise.advisor.compatibility.survey import survey
from gpuadvise.advisor.compatibility.verdict import Verdict, judge, loaded, needed_cuda

Notation = Callable[[str], list[Entry]]


def ask(code: list[Entry], gpu: str, driver: str | None = None) -> Verdict:
    return judge(survey(code), parse_capability(gpu), parse_driver(driver) if driver else None)


CASES = [
    # code, GPU, driver, outcome, the sentence
    (
        "sass:80 sass:90 ptx:90@8.0",
        "9.0",
        None,
        "runs",
        "X runs on G: machine code for sm_90 runs on 9.0.",
    ),
    (
        "sass:80 sass:90 ptx:90@8.0",
        "12.0",
        "12.8",
        "jit",
        "X runs on G only after the driver has compiled its PTX: "
        "the driver compiles compute_90 PTX for 12.0 when it is loaded.",
    ),
    (
        "sass:50 sass:80 sass:86 sass:90",
        "12.0",
        None,
        "fails",
        "X does not run on G: it holds machine code for sm_50, sm_80, sm_86 and sm_90, "
        "and no PTX that a driver could compile.",
    ),
    (
        "sass:80 ptx:80@8.8",
        "9.0",
        "12.4",
        "fails",
        "X does not run on G: it holds machine code for sm_80 and PTX for compute_80, and "
        "PTX 8.8 needs CUDA 12.9 (driver 575 or later); this is CUDA 12.4.",
    ),
    (
        "sass:90a ptx:90a@8.0",
        "10.0",
        None,
        "fails",
        "X does not run on G: it holds machine code for sm_90a and PTX for compute_90a, "
        "and none of it fits 10.0.",
    ),
    (
        "ptx:120@9.9",
        "12.0",
        "13.5",
        "fails",
        "X does not run on G: it holds PTX for compute_120, and "
        "PTX 9.9 needs a driver after CUDA 13.5; this is CUDA 13.5.",
    ),
    (
        "sass:120",
        "12.0",
        "550.54.14",
        "fails",
        "X does not run on G: compute capability 12.0 needs a driver for CUDA 12.8 (driver 570 or later); "
        "this is driver 550.54.14, CUDA 12.4.",
    ),
    (
        "ptx:120@9.0",
        "12.0",
        "12.4",
        "fails",
        "X does not run on G: compute capability 12.0 needs a driver for CUDA 12.8 (driver 570 or later); "
        "this is CUDA 12.4. Its code needs CUDA 13.0 (driver 580 or later).",
    ),
    (
        "lto:90 | lto:80",
        "9.0",
        None,
        "fails",
        "X does not run on G: it holds only LTO-IR, "
        "which the program itself must link at run time.",
    ),
    (
        "rdc:90 | stub:90",
        "9.0",
        None,
        "fails",
        "X does not run on G: its device code has not been linked yet (built with -rdc or -dc).",
    ),
    (
        "stub:52",
        "5.2",
        None,
        "fails",
        "X does not run on G: it holds only empty images, left over from device linking.",
    ),
    ("tile:90", "9.0", None, "fails", "X does not run on G: it holds no code that a driver loads."),
    (
        "sass:80 | sass:90 | sass:90a | ptx:70",
        "9.0",
        None,
        "runs",
        "X runs on G in part: 2 of 4 code modules have machine code for it, "
        "1 more must be compiled by the driver and "
        "1 is for other GPUs only (machine code for sm_80).",
    ),
    (
        "ptx:70 | sass:80",
        "9.0",
        None,
        "jit",
        "X runs on G in part: 1 of 2 code modules must be compiled by the driver "
        "and 1 is for other GPUs only (machine code for sm_80).",
    ),
    (
        "sass:90 | ptx:90@8.8",
        "9.0",
        "12.4",
        "runs",
        "X runs on G in part: 1 of 2 code modules has machine code for it and 1 cannot be used "
        "(PTX 8.8 needs CUDA 12.9 (driver 575 or later); this is CUDA 12.4).",
    ),
    (
        "sass:90+ sass:100+",
        "9.0",
        "12.9",
        "fails",
        "X does not run on G: it holds machine code for sm_90 and sm_100, and machine code of a "
        "13.x toolkit needs CUDA 13.0 (driver 580 or later); this is CUDA 12.9.",
    ),
    (
        "sass:80 ptx:80@8.4",
        "8.0",
        "11.8",
        "fails",
        "X does not run on G: it holds machine code for sm_80 and PTX for compute_80, and machine "
        "code of a 12.x toolkit needs CUDA 12.0 (driver 525 or later); this is CUDA 11.8.",
    ),
    (
        "sass:80 ptx:80@8.4",
        "8.0",
        "12.0",
        "runs",
        "X runs on G: machine code for sm_80 runs on 8.0.",
    ),
    ("sass:90+", "9.0", "13.0", "runs", "X runs on G: machine code for sm_90 runs on 9.0."),
    (
        "sass:120+",
        "12.0",
        "12.8",
        "runs",
        "X runs on G: machine code for sm_120 runs on 12.0.",
    ),
    (
        " ".join(f"sass:{n}" for n in (50, 52, 53, 60, 61, 62, 70, 72, 75, 80)),
        "9.0",
        None,
        "fails",
        "X does not run on G: it holds machine code for "
        "sm_50, sm_52, sm_53, sm_60, sm_61, sm_62, …, sm_80, "
        "and no PTX that a driver could compile.",
    ),
]


@pytest.mark.parametrize(("code", "gpu", "driver", "outcome", "words"), CASES)
def test_the_first_line_answers(
    entries: Notation, code: str, gpu: str, driver: str | None, outcome: str, words: str
) -> None:
    verdict = ask(entries(code), gpu, driver)
    assert verdict.outcome == outcome
    needed = needed_cuda(survey(entries(code)), verdict.gpu)
    assert headline(verdict, "X", "G", needed) == words


def test_a_module_with_a_fitting_image_hides_the_others(entries: Notation) -> None:
    verdict = ask(entries("sass:52 sass:90 lto:90 stub:75"), "9.0")
    assert [judged.outcome for judged in verdict.modules] == ["runs"]
    assert verdict.modules[0].modules.path == "lib.so"
    assert verdict.unloadable == Counter()


def test_stubs_do_not_count(entries: Notation) -> None:
    verdict = ask(entries("sass:80 | stub:90 | stub:90"), "9.0")
    assert verdict.outcome == "fails"
    assert verdict.total == 1
    assert verdict.unloadable[Content.STUB] == 2


def test_entries_outside_a_module_stand_alone() -> None:
    cubins = [
        Entry(
            content=Content.SASS,
            place=Place(path="a.cubin"),
            capability=parse_capability(target),
            size=1,
        )
        for target in ("80", "90")
    ]
    assert [module.outcome for module in ask(cubins, "9.0").modules] == ["fails", "runs"]


def test_code_without_a_target_fits_nothing(entries: Notation) -> None:
    for word in ("sass:", "ptx:"):
        one = fit(entries(word)[0], parse_capability("9.0"))
        assert (one.outcome, one.reason) == ("fails", "its target is not recorded")
    assert "code without a recorded target" in headline(ask(entries("sass:"), "9.0"), "X", "G")


def test_each_other_kind_of_entry_says_why_it_is_not_loaded(entries: Notation) -> None:
    reasons = {
        word: fit(entries(word)[0], parse_capability("9.0")).reason
        for word in ("rdc:90", "stub:90", "lto:90", "rptx:90", "tile:90")
    }
    assert "device link" in reasons["rdc:90"]
    assert "without code" in reasons["stub:90"]
    assert reasons["rdc:90"] == reasons["rptx:90"]
    assert "link it at run time" in reasons["lto:90"]
    assert "not code" in reasons["tile:90"]


@pytest.mark.parametrize(
    ("code", "gpu", "chosen"),
    [
        ("sass:80 sass:86 sass:89 ptx:80", "8.6", ["sm_86"]),
        ("sass:80 sass:86 sass:89 ptx:80", "8.9", ["sm_89"]),
        ("sass:80 sass:86", "8.9", ["sm_86"]),
        ("sass:90 sass:90a ptx:90", "9.0", ["sm_90a"]),
        ("sass:100 sass:100f ptx:100", "10.3", ["sm_100f"]),
        ("sass:80 ptx:70 ptx:80", "9.0", ["sm_80"]),
        ("sass:90 sass:90", "9.0", ["sm_90", "sm_90"]),
        ("sass:80", "12.0", []),
        ("", "12.0", []),
    ],
)
def test_the_driver_takes_the_nearest(
    entries: Notation, code: str, gpu: str, chosen: list[str]
) -> None:
    used = loaded(entries(code), parse_capability(gpu))
    assert [one.capability.target for one in used if one.capability] == chosen


def test_without_a_driver_a_recent_one_is_meant(entries: Notation) -> None:
    assert ask(entries("ptx:80@9.9"), "9.0").outcome == "jit"
    assert ask(entries("ptx:80@9.9"), "9.0", "13.6").outcome == "jit"


def test_a_module_of_stubs_beside_empty_ptx_leaves_no_name_unknown(entries: Notation) -> None:
    """As libraries built with whole-program stubs have: the PTX of a source without kernels."""
    names = {Content.SASS: frozenset({"scale"}), Content.PTX: frozenset[str]()}
    found = [
        entry._replace(kernels=names.get(entry.content))
        for entry in entries("sass:80 sass:90 | stub:80 stub:90 ptx:90@8.0")
    ]
    verdict = judge(survey(found), parse_capability("8.0"))
    assert verdict.mixed
    assert verdict.complete
    assert verdict.kernels is not None
    assert verdict.kernels.runs == {"scale"}
