"""Joining evidence by hand, as a user of the library would: no file, no command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.model import Kernel, Place, Source
from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.description.reader import Described
from gpuadvise.advisor.evidence.join import (
    BesideProfiles,
    joined_code,
    joined_launches,
    one_of_each,
)
from gpuadvise.advisor.evidence.kernel_name import KernelName, kernel_name
from gpuadvise.advisor.evidence.launches import ProfiledLaunch
from gpuadvise.advisor.evidence.sources import SourceEvidence
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.facts.kernel_profile import KernelProfile
from gpuadvise.advisor.facts.library_kernels import without_parameters
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.source.text import source_text
from gpuadvise.rules.source import CUDA_RULES
from gpuadvise.rules.source.lint import lint_cuda

H200 = find("h200")
SM90 = Capability(9, 0)
OVERLOADS = b"""\
__global__ void scale(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = powf(x[threadIdx.x], 2.0f); }
__global__ void scale(double *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = x[threadIdx.x]; }
template <typename T> __global__ void lift(T *x, unsigned int n) { x[threadIdx.x] = powf(n, 2.0f); }
void run(float *a, double *b) {
  scale<<<4, 96>>>(a, 3);
  scale<<<4, 96>>>(b, 3);
  lift<<<dim3(2, 3), dim3(16, 4)>>>(a, 7u);
}
"""


def source(content: bytes = OVERLOADS) -> SourceEvidence:
    evidence = SourceEvidence()
    evidence.add(source_text(content, "k.cu"), lint_cuda(content, "k.cu", select=CUDA_RULES))
    return evidence


def launch(kernel: str, **more: object) -> ProfiledLaunch:
    profile = KernelProfile(kernel=kernel, capability=SM90, **more)  # type: ignore[arg-type]
    return ProfiledLaunch(profile=profile, key=(kernel,), file="r.ncu-rep")


def compiled(name: str, path: str = "k.cubin", **more: object) -> Kernel:
    what = {"source": Source.CUBIN, "capability": SM90, "registers": 32, **more}
    return Kernel(name=name, place=Place(path=path), **what)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("scale(float *, int)", "void ns::scale(float*, int)", True),
        ("scale(float *, int)", "scale(double *, int)", False),
        ("scale(float *, int)", "scale(float *)", False),
        ("scale(const float *, unsigned int)", "scale(float const*, uint32_t)", True),
        ("scale(unsigned long)", "scale(size_t)", True),
        ("scale<float>(T1 *, int)", "scale(float *, int)", True),
        ("scale", "scale(float *, int)", True),
        ("scale()", "scale(void)", True),
        ("scale(P *, int)", "scale(Q *, int)", True),  # types that nobody knows do not decide
        ("scale(float)", "other(float)", False),
        ("(anonymous namespace)::scale(int)", "<unnamed>::scale(int)", True),
    ],
)
def test_names_of_one_kernel(one: str, other: str, same: bool) -> None:
    assert kernel_name(one).may_be(kernel_name(other)) is same
    assert kernel_name(other).may_be(kernel_name(one)) is same


@given(st.text(alphabet="ab<>():,* []&T1", max_size=40))
def test_any_name_is_the_name_of_itself(text: str) -> None:
    assert kernel_name(text).may_be(kernel_name(text))


def test_names_without_result_and_parameters() -> None:
    assert without_parameters("void (anonymous namespace)::k<int>(int)") == "<unnamed>::k<int>"
    assert without_parameters("void gemm<(int)32>(const T1 *, int (*)(int))") == "gemm<(int)32>"
    assert without_parameters("gemm<(bool)1>") == "gemm<(bool)1>"
    assert without_parameters("scale(float *) [clone]") == "scale"
    assert without_parameters("lost)") == "lost)"


def test_overloads_of_a_source_stay_apart() -> None:
    evidence = source()
    of_floats = evidence.joined(Facts(), kernel_name("scale(float *, int)"))
    of_doubles = evidence.joined(Facts(), kernel_name("scale(double *, int)"))
    assert [seen.line for seen in of_floats.observations or ()] == [1]
    assert of_doubles.observations == ()  # its source was read, and shows nothing
    assert evidence.of(KernelName("scale", ("int",))) is None


def test_block_and_grid_of_a_launch_in_a_source_are_both_read() -> None:
    def facts_of(kernel: Kernel) -> list[Facts]:
        block = kernel.launched_block
        assert block is not None
        threads = block[0] * block[1] * block[2]
        return [completed(Facts(kernel=kernel.name, device=H200, launch=Launch(threads=threads)))]

    kernels = [compiled("_Z4liftIfEvPT_j"), compiled("_Z5scalePfi")]
    tiled, scaled = (kernel.facts for kernel in joined_code(kernels, source(), facts_of))
    assert tiled.launch is not None
    assert (tiled.launch.block_dim, tiled.launch.grid_dim) == ((16, 4, 1), (2, 3, 1))
    assert tiled.grid == (2, 3, 1)
    assert scaled.grid == (4, 1, 1)


def test_the_grid_of_a_source_does_not_go_with_another_block() -> None:
    launch = Launch(threads=1024)
    facts = source().joined(Facts(device=H200, launch=launch), kernel_name("lift<float>(T1 *, T2)"))
    assert facts.launch is launch


def test_launches_that_nothing_was_joined_to_are_kernels_with_block_and_grid() -> None:
    evidence = source()
    evidence.joined(Facts(), kernel_name("scale(float *, int)"))
    kernels = [kernel.facts for kernel in evidence.launches_left(H200)]
    assert [
        (facts.kernel, facts.launch and facts.launch.threads, facts.grid) for facts in kernels
    ] == [
        ("scale", 96, (4, 1, 1)),
        ("lift", 64, (2, 3, 1)),
    ]
    assert list(evidence.launches_left(H200)) == []


def test_a_launch_gets_its_code_source_and_description() -> None:
    name = "scale(float *, int)"
    beside = BesideProfiles(
        codes=[compiled("_Z5scalePfi", spill_stores=8), compiled("_Z5scalePdi", spill_stores=16)],
        source=source(),
        descriptions=[
            Described(facts=Facts(kernel="scale", sanitized=True)),
            Described(facts=Facts(kernel="another", sanitized=True)),
        ],
    )
    said: list[str] = []
    joined, left = joined_launches([launch(name)], beside, lambda _: H200, said.append)
    assert isinstance(joined, Described)
    assert isinstance(left, Described)
    facts = joined.facts
    assert facts.compiled is not None
    assert facts.compiled.spill_store_bytes == 8
    assert facts.sanitized is True
    assert [seen.fault for seen in facts.observations or ()] == ["general-math-functions"]
    assert (joined.file, left.facts.kernel) == ("r.ncu-rep", "another")
    assert said == [
        '"another" is described, and no report has a launch of it.',
        "lift is not in the reports: what is said of it rests on the source alone.",
    ]


def notes(launches: list[ProfiledLaunch], beside: BesideProfiles) -> list[str]:
    said: list[str] = []
    list(joined_launches(launches, beside, lambda _: H200, said.append))
    return said


@pytest.mark.parametrize(
    ("kernels", "expected"),
    [
        (["scale(float *, int)", "scale(double *, int)", "void lift<float>(float *, unsigned int)"], []),
        (["other(float *)"], ['No kernel of the sources, as "scale", is in the reports: what is said of them rests on the source alone.']),
        (["scale(float *, int)"], ["lift is not in the reports: what is said of it rests on the source alone."]),
        (["scale(double *, int)"], ["scale and lift are not in the reports: what is said of them rests on the source alone."]),
        ([], []),
    ],
)  # fmt: skip
def test_sources_of_another_program_or_a_part_of_it_are_named(
    kernels: list[str], expected: list[str]
) -> None:
    assert (
        notes([launch(kernel) for kernel in kernels], BesideProfiles(source=source())) == expected
    )


def test_code_of_another_program_is_named() -> None:
    beside = BesideProfiles(codes=[compiled("_Z5scalePfi")])
    assert notes([launch("scale(float *, int)")], beside) == []
    assert notes([launch("other(float *)")], beside) == [
        'No kernel of the code, as "scale", is in the reports: it says nothing here, and may be of another program.'
    ]


def test_a_page_finds_the_code_of_its_instance_of_a_template() -> None:
    codes = [
        compiled("_Z4liftIfEvPT_j", spill_stores=8),
        compiled("_Z4liftIdEvPT_j", spill_stores=16),
    ]
    beside = BesideProfiles(codes=codes)
    page = launch("void lift<double>(T1 *, unsigned int)")
    [kernel] = joined_launches([page], beside, lambda _: H200, print)
    assert isinstance(kernel, Described)
    assert kernel.facts.compiled is not None
    assert kernel.facts.compiled.spill_store_bytes == 16
    [other] = joined_launches(
        [launch("lift<int>(T1 *, unsigned int)")], beside, lambda _: H200, print
    )
    assert isinstance(other, Described)
    assert other.facts.compiled is None  # two could be it


def test_a_binary_and_the_log_of_its_build_are_one_kernel() -> None:
    binary = compiled("_Z1kv", min_blocks=2)
    logged = compiled("_Z1kv", "build.log", source=Source.PTXAS_LOG, spill_stores=12)
    for files in ([[binary], [logged]], [[logged], [binary]]):
        [kernel] = one_of_each(files)
        assert (kernel.source, kernel.min_blocks, kernel.spill_stores) == (Source.CUBIN, 2, 12)


def test_kernels_that_differ_stay_apart() -> None:
    one = compiled("_Z1kv")
    others = [
        compiled("_Z1kv", "b.cubin", registers=40),
        compiled("_Z1kv", "c.cubin", capability=Capability(8, 0)),
        compiled("_Z1kv", "d.log", registers=None),
    ]
    for other in others:
        assert one_of_each([[one], [other]]) == [one, other]
    assert one_of_each([[one, one]]) == [one, one]  # of one file: two modules with a static kernel


def test_a_launch_of_one_block_in_host_code_goes_to_its_kernel() -> None:
    lone = b"""\
__global__ void walk(float *x, int n) { for (int i = threadIdx.x; i < n; i += 256) x[i] += 1; }
void run(float *x, int n) { walk<<<1, 256>>>(x, n); }
"""
    evidence = source(lone)
    assert "underfilled-device" in {seen.fault for seen in evidence.left()}
    facts = evidence.joined(Facts(), kernel_name("walk(float *, int)"))
    assert [(o.fault, o.line) for o in facts.observations or ()] == [("underfilled-device", 2)]
    assert "underfilled-device" not in {seen.fault for seen in evidence.left()}
