"""What launches of one report say of each other: a pass over what was just written, and the same work otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuadvise.advisor.facts.kernel_profile import KernelProfile, WarpRequests
from gpuadvise.advisor.facts.report_launches import Handover, OtherLaunch, PassChain
from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.advisor.profiles.report_launches import ReportLaunches

FILE = "report.ncu-rep"


def moved(size: float) -> WarpRequests:
    """Return requests that use *size* bytes, in whole sectors."""
    return WarpRequests(requests=size / 512, sectors=size / 32, used_bytes=32.0)


PRODUCT = KernelProfile(
    kernel="tile_product(const float *, const float *, float *)",
    number=0,
    seconds=400e-6,
    block=(256, 1, 1),
    grid=(4096, 1, 1),
    dram_read=64e6,
    dram_written=200e6,
    dram_bytes=264e6,
    global_stores=moved(256e6),
)
BIAS = KernelProfile(
    kernel="add_bias(const float *, const float *, float *)",
    number=1,
    seconds=160e-6,
    block=(256, 1, 1),
    grid=(65_536, 1, 1),
    instructions=20e6,
    dram_busy=0.8,
    dram_read=256.1e6,
    dram_written=200e6,
    dram_bytes=456e6,
    global_loads=moved(257e6),
    global_stores=moved(256e6),
)


def handover(*launches: KernelProfile, of: int = -1) -> Handover | None:
    together = ReportLaunches()
    for launch in launches:
        together.add(FILE, launch)
    return together.handover(FILE, launches[of])


def test_a_pass_over_what_was_just_written_is_seen_with_what_both_move() -> None:
    found = handover(PRODUCT, BIAS)
    assert found is not None
    assert (found.kernel, found.read_bytes, found.times) == (PRODUCT.kernel, 256e6, 1)
    assert found.saved_bytes == 512e6
    assert found.bytes == pytest.approx(64e6 + 512e6 + 0.1e6 + 256e6)
    # 560 us of both against 400 us of the product alone, and 832 MB against 320 MB.
    assert found.bound == pytest.approx(832.1 / 320.1)


def a_pass(
    number: int, kernel: str, loads: int, stores: float = 1, **other: object
) -> KernelProfile:
    """Return a launch that loads so many arrays of 64 MB once each and stores one."""
    size = 64e6
    launch = replace(
        BIAS,
        kernel=kernel,
        number=number,
        seconds=(loads + stores) * 20e-6,
        instructions=5e6,
        dram_bytes=(loads + stores) * size,
        global_loads=moved(loads * size),
        global_stores=moved(stores * size),
    )
    return replace(launch, **other)


ADAM = (
    a_pass(0, "scale_by(float *)", 2),
    a_pass(1, "square_into(float *)", 2),
    a_pass(2, "denominator(float *)", 1, l2_busy=0.5, dram_busy=0.2),
    a_pass(3, "step_by(float *)", 3),
)


def chain(*launches: KernelProfile, of: int = 0) -> PassChain | None:
    together = ReportLaunches()
    for launch in launches:
        together.add(FILE, launch)
    return together.chain(FILE, launches[of])


@pytest.mark.parametrize("of", range(4))
def test_passes_in_a_row_over_arrays_of_one_size_are_a_chain(of: int) -> None:
    found = chain(*ADAM, a_pass(4, "other(float *)", 1, global_stores=moved(128e6)), of=of)
    assert found == PassChain(
        kernels=tuple(launch.kernel for launch in ADAM),
        array_bytes=64e6,
        bytes=12 * 64e6,
        most_bytes=4 * 64e6,
        seconds=pytest.approx(240e-6),
        longest_seconds=pytest.approx(80e-6),
        one_shape=True,
        least_seconds=pytest.approx(80e-6 * 0.8 / 0.95),  # 80 % of the peak, and what is reached
        ends_bytes=3 * 64e6,
    )
    # All of 240 us; 3 arrays of 64 MB take 50.5 us.
    assert found.bound == pytest.approx(4.75)


def test_a_sum_between_passes_belongs_to_them() -> None:
    found = chain(ADAM[0], a_pass(1, "largest(float *)", 1, stores=0.001), ADAM[2])
    assert found is not None
    assert len(found.kernels) == 3


def uncounted(*launches: KernelProfile, **other: object) -> tuple[KernelProfile, ...]:
    """Return *launches* as a page without counts of requests shows them."""
    nothing = {"global_loads": WarpRequests(), "global_stores": WarpRequests()}
    shown = {"issue_busy": 0.2, "dram_bytes": 128e6, **nothing, **other}
    return tuple(replace(launch, **shown) for launch in launches)


def test_launches_of_one_shape_are_a_chain_on_a_page_that_counts_no_requests() -> None:
    found = chain(*uncounted(*ADAM))
    assert found is not None
    assert (found.one_shape, found.array_bytes, found.bytes) == (True, None, 4 * 128e6)
    assert found.kernels == tuple(launch.kernel for launch in ADAM)


@pytest.mark.parametrize(
    "change",
    [
        {"issue_busy": 0.6},  # it computes
        {"issue_busy": None},
        {"grid": None},
        {"dram_bytes": 4e6},
        {"dram_bytes": None},
        {"instructions": 80e6},
    ],
)
def test_what_is_no_pass_is_no_chain_without_counts_either(change: dict[str, object]) -> None:
    assert chain(*uncounted(*ADAM, **change)) is None
    first, second, *_ = uncounted(*ADAM)
    assert chain(first, replace(second, grid=(9, 1, 1)), *uncounted(*ADAM[2:])) is None


TORCH = (
    "void at::native::reduce_kernel<512, 1, at::native::MaxOps<float>>(T3)",
    "void at::native::elementwise_kernel<128, 2, void at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, "
    "at::native::SubFunctor<float>>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::exp_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) "
    "(instance 1)], std::array<char *, 2>>(int, T2, T3)",
)
MULTIPLIES = TORCH[2].replace("exp_kernel", "mul_kernel")
GELU = TORCH[2].replace("exp_kernel_cuda", "GeluCUDAKernelImpl")
# 16,777,216 numbers of 4 bytes, by the threads of either template.
IN_TWOS = {"grid": (65_536, 1, 1), "block": (128, 1, 1)}
IN_EIGHTS = {"grid": (16_384, 1, 1), "block": (128, 1, 1)}
MB = 2**20


def torch_pass(number: int, kernel: str, **other: object) -> KernelProfile:
    """Return an operator of PyTorch over 64 MiB."""
    shape = IN_TWOS if "<128, 2" in kernel else IN_EIGHTS
    loaded = {"global_loads": moved(64 * MB), "global_stores": moved(64 * MB), "dram_read": 64 * MB}
    return a_pass(number, kernel, 1, **{**shape, **loaded, **other})


def test_operators_of_a_library_are_of_one_computation_by_their_elements() -> None:
    largest = a_pass(
        0, TORCH[0], 1, grid=(512, 1, 1), global_loads=moved(64 * MB), global_stores=moved(MB)
    )
    # A value per row comes beside the array.
    less = torch_pass(1, TORCH[1], global_loads=moved(68 * MB))
    found = chain(largest, less, torch_pass(2, TORCH[2]))
    assert found is not None
    assert (len(found.kernels), found.one_shape) == (3, True)
    pair = chain(less, torch_pass(2, TORCH[2]), of=1)
    assert pair is not None
    assert (len(pair.kernels), pair.one_shape) == (2, True)
    assert chain(less, torch_pass(2, TORCH[2], grid=(8_192, 1, 1))) is None  # half as many
    assert chain(less, torch_pass(2, "scale(float *)", grid=(65_536, 1, 1))) is None


def test_a_sum_moves_what_an_operator_stores_where_a_page_counts_no_bytes() -> None:
    largest = uncounted(a_pass(0, TORCH[0], 1, grid=(512, 1, 1)), dram_bytes=1.01 * 64 * MB)
    others = uncounted(torch_pass(1, TORCH[1]), torch_pass(2, TORCH[2]), dram_bytes=128 * MB)
    found = chain(*largest, *others)
    assert found is not None
    assert len(found.kernels) == 3
    half = uncounted(*largest, dram_bytes=32 * MB)
    assert chain(*half, *others) is None
    pair = chain(*half, *others, of=1)
    assert pair is not None
    assert len(pair.kernels) == 2


def test_an_operator_comes_again_in_one_expression() -> None:
    row = [MULTIPLIES, TORCH[2], MULTIPLIES, TORCH[2].replace("exp", "tanh")]
    found = chain(*(torch_pass(number, kernel) for number, kernel in enumerate(row)), of=2)
    assert found is not None
    assert found.kernels == tuple(row)


def test_the_next_round_of_a_loop_is_a_chain_of_its_own() -> None:
    row = [MULTIPLIES, TORCH[2], TORCH[2].replace("exp", "tanh")]
    launches = [torch_pass(number, kernel) for number, kernel in enumerate(row * 3)]
    for of in (0, 4, 8):
        found = chain(*launches, of=of)
        assert found is not None
        assert found.kernels == tuple(row)


@pytest.mark.parametrize("times", [2, 3, 5])
def test_operators_that_are_each_timed_again_and_again_are_a_list(times: int) -> None:
    row = [kernel for kernel in (MULTIPLIES, TORCH[2], GELU) for _ in range(times)]
    launches = [torch_pass(number, kernel) for number, kernel in enumerate(row)]
    assert all(chain(*launches, of=of) is None for of in range(len(row)))


def test_an_operator_may_stand_twice_in_a_row() -> None:
    row = [MULTIPLIES, MULTIPLIES, TORCH[2]]  # of x * y * z
    found = chain(*(torch_pass(number, kernel) for number, kernel in enumerate(row)))
    assert found is not None
    assert found.kernels == tuple(row)


def test_what_may_replace_the_others_is_none_of_them() -> None:
    row = [MULTIPLIES, TORCH[2], GELU]
    launches = [torch_pass(number, kernel) for number, kernel in enumerate(row)]
    found = chain(*launches)
    assert found is not None
    assert found.kernels == tuple(row[:2])
    assert chain(*launches, of=2) is None


def test_an_operator_on_another_type_is_another_version() -> None:
    wide = ("cupy_multiply__float32_float64_float64", "cupy_copy__float64_float32")
    again = "cupy_multiply__float32_float32_float32"
    doubles = {"global_stores": moved(128e6), "grid": (99, 1, 1)}
    to_single = {"global_loads": moved(128e6), "dram_read": 128e6, "grid": (99, 1, 1)}
    launches = [
        a_pass(0, wide[0], 1, **doubles),
        a_pass(1, wide[1], 1, **to_single),
        a_pass(2, again, 1, dram_read=64e6, grid=(99, 1, 1)),
    ]
    found = chain(*launches)
    assert found is not None
    assert found.kernels == wide
    assert chain(*launches, of=2) is None


def test_operators_of_a_few_microseconds_are_joined_by_their_elements_too() -> None:
    small = {"seconds": 2e-6, "dram_busy": 0.01, "dram_read": 66e3, "grid": (16, 1, 1)}
    stored = {"global_stores": moved(65_536.0), "global_loads": moved(65_536.0)}
    launches = [torch_pass(at, TORCH[2 * at], **small, **stored) for at in (0, 1)]
    assert chain(*launches) is None  # a sum of few numbers
    launches = [torch_pass(at, (MULTIPLIES, TORCH[2])[at], **small, **stored) for at in (0, 1)]
    assert chain(*launches) is not None


MEAN = a_pass(0, "row_mean(float *)", 1, stores=0.002, dram_read=64e6)
MINUS = a_pass(1, "row_minus(float *)", 1, global_loads=moved(66e6), dram_read=64.1e6)


def test_a_pass_that_uses_a_sum_of_each_row_goes_with_the_sum() -> None:
    for of in (0, 1):
        found = chain(MEAN, MINUS, of=of)
        assert found is not None
        assert found.kernels == (MEAN.kernel, MINUS.kernel)
        assert found.one_shape
    few = replace(MINUS, global_loads=moved(64.2e6))  # a thread loads them for many elements
    assert chain(MEAN, few) is not None
    peak = replace(MEAN, kernel="row_peak(float *)")
    scale = replace(MINUS, number=2, global_loads=moved(68.2e6))  # two values a row
    for of in range(3):
        found = chain(peak, replace(MEAN, number=1), scale, of=of)
        assert found is not None
        assert len(found.kernels) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"global_loads": moved(64.05e6)},  # less beside its array than the sum stores
        {"global_loads": moved(72e6)},
        {"dram_read": 65e6},  # another array
        {"global_stores": moved(0.1e6)},
        {"instructions": 80e6},
        {"number": 2},
    ],
)
def test_another_pass_does_not(change: dict[str, object]) -> None:
    assert chain(MEAN, replace(MINUS, **change)) is None
    assert chain(replace(MEAN, dram_read=None), MINUS) is None


def test_weights_of_the_columns_come_beside_a_sum() -> None:
    weighted = replace(MINUS, global_loads=moved(128.5e6), dram_read=64e6)
    assert chain(MEAN, weighted) is not None
    assert chain(MEAN, replace(weighted, global_loads=moved(127e6))) is None  # no value of a row


def test_the_pass_that_stored_what_is_summed_belongs_to_it() -> None:
    adds = a_pass(0, "add_residual(float *)", 2, dram_read=128e6)
    launches = (adds, replace(MEAN, number=1), replace(MINUS, number=2))
    for of in range(3):
        found = chain(*launches, of=of)
        assert found is not None
        assert found.kernels == tuple(launch.kernel for launch in launches)
    other = replace(adds, global_stores=moved(96e6))
    assert chain(other, *launches[1:]) is None


@pytest.mark.parametrize("name", ["scale_rows", "fused", "offset_and_bound", "offset_rows"])
def test_a_version_of_a_chain_by_its_name_ends_it(name: str) -> None:
    """Behind three passes a kernel that does what one of them does, or all, is what replaces them."""
    names = ("scale(float *)", "offset(float *)", "bound(float *)")
    launches = [a_pass(at, kernel, 1, dram_read=64e6) for at, kernel in enumerate(names)]
    version = a_pass(3, f"{name}(float *)", 1, dram_read=64e6)
    for of in range(3):
        found = chain(*launches, version, of=of)
        assert found is not None
        assert found.kernels == names
    assert chain(*launches, version, of=3) is None


def test_a_sum_before_passes_is_not_theirs() -> None:
    names = ("scale(float *)", "offset(float *)", "bound(float *)")
    launches = [a_pass(at + 1, kernel, 1, dram_read=64e6) for at, kernel in enumerate(names)]
    total = a_pass(0, "columns(float *)", 1, stores=0.001, dram_read=64e6)
    found = chain(total, *launches, of=2)
    assert found is not None
    assert found.kernels == names
    assert chain(total, *launches) is None


def test_names_tell_sums_of_rows_where_a_page_counts_no_bytes() -> None:
    sums, use = uncounted(MEAN, dram_bytes=64e6), uncounted(MINUS, grid=(9, 1, 1))
    for of in (0, 1):
        found = chain(*sums, *use, of=of)
        assert found is not None
        assert len(found.kernels) == 2
    assert chain(*sums, *uncounted(MINUS, grid=(9, 1, 1), kernel="minus(float *)")) is None
    assert chain(*sums, *uncounted(MINUS, grid=(9, 1, 1), kernel="row_max(float *)")) is None
    assert chain(*sums, *uncounted(MINUS, grid=(9, 1, 1), dram_bytes=160e6)) is None


STEP = a_pass(0, "scan_step(float *)", 1, dram_read=64e6)


def test_steps_by_their_name_over_one_array_are_a_chain() -> None:
    steps = [replace(STEP, number=number) for number in range(3)]
    found = chain(*steps, of=1)
    assert found is not None
    assert found.kernels == (STEP.kernel,) * 3
    assert chain(*uncounted(*steps)) is not None
    assert chain(*(replace(step, kernel="scan(float *)") for step in steps)) is None
    assert chain(steps[0], replace(steps[1], instructions=6e6)) is None  # other work
    assert chain(*(replace(step, global_loads=moved(320e6)) for step in steps)) is None  # a stencil


def test_two_passes_are_one_computation_where_the_second_changes_what_the_first_stored() -> None:
    first = a_pass(0, "to_units(const float *, float *, int)", 1, dram_read=64e6)
    second = a_pass(1, "clamp(float *, int)", 1, dram_read=64e6)
    found = chain(first, second)
    assert found is not None
    assert found.kernels == (first.kernel, second.kernel)
    assert chain(first, replace(second, kernel="clamp(const float *, float *, int)")) is None
    assert chain(first, replace(second, kernel="to_bytes(float *, int)")) is None  # a version
    assert chain(first, replace(second, dram_read=96e6)) is None
    assert chain(*uncounted(first, second)) is not None
    assert chain(*uncounted(first), *uncounted(second, dram_bytes=160e6)) is None


def test_a_kernel_written_anew_is_no_pass_over_its_forerunner() -> None:
    to_bytes = a_pass(3, "quantise(float *)", 4, seconds=90e-6, dram_read=256e6)
    passes = [
        a_pass(at, name, 4, stores=4, dram_read=256e6)
        for at, name in enumerate(("a(float *)", "b(float *)", "c(float *)"))
    ]
    found = chain(*passes, to_bytes, replace(to_bytes, number=4, kernel="display(float *)"), of=3)
    assert found is not None
    assert found.kernels[-1] == to_bytes.kernel


@pytest.mark.parametrize(
    "change",
    [
        {"number": 7},  # others stood between
        {"kernel": "scale_fast(float *)"},  # by its name a version of the first
        {"kernel": ADAM[0].kernel},  # the next round
        {"global_loads": moved(96e6)},  # half an array
        {"global_loads": moved(64e6 * 7)},
        {"global_stores": moved(32e6)},
        {"global_stores": WarpRequests()},
        {"instructions": 80e6},  # 80 per 4 bytes: it computes
        {"instructions": None},
        {"dram_busy": 0.2, "l2_busy": 0.3},
        {"tensor_operations": {NumberType.FP16: 1e9}},
        {"global_reductions": WarpRequests(requests=10.0)},
        {"kernel": "void cub::DeviceScanKernel(int)"},
        {"device": "NVIDIA A100"},
        {"seconds": None},
    ],
)
def test_what_is_no_pass_ends_a_chain(change: dict[str, object]) -> None:
    assert chain(ADAM[0], replace(ADAM[1], **change), ADAM[2]) is None
    assert chain(*ADAM[:2]) is None
    assert chain(a_pass(0, "a(float *)", 1), a_pass(1, "b(float *)", 1, 0.001), a_pass(2, "c(float *)", 1, 0.001)) is None  # fmt: skip


def test_by_time_alone_where_the_bytes_say_less() -> None:
    found = handover(replace(PRODUCT, dram_read=20e9), replace(BIAS, seconds=800e-6))
    assert found is not None
    assert found.bound == pytest.approx(3.0)


@pytest.mark.parametrize(
    "change",
    [
        {"dram_read": 270e6},  # 5 % more than was written
        {"dram_read": None},
        {"number": 2},  # another launch stood between
        {"seconds": None},
        {"instructions": 150e6},  # 75 per 4 bytes: it computes
        {"instructions": None},
        {"global_loads": moved(340e6)},  # each byte more than once
        {"global_loads": WarpRequests()},
        {"global_stores": moved(40e6)},  # a sum
        {"global_stores": moved(600e6)},
        {"dram_busy": 0.3},
        {"tensor_operations": {NumberType.FP16: 1e9}},
        {"global_reductions": WarpRequests(requests=10.0)},
        {"kernel": "tile_bias(float *)"},  # by its name a version of the same
        {"kernel": "void cub::DeviceScanKernel(int)"},  # a step of a call
        {"kernel": "void at::native::tensor_kernel_scan_innermost_dim(int)"},
        {"device": "NVIDIA A100"},
    ],
)
def test_other_launches_are_no_passes(change: dict[str, object]) -> None:
    assert handover(PRODUCT, replace(BIAS, **change)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"global_stores": moved(7e6)},
        {"global_stores": WarpRequests()},
        {"seconds": None},
        {"number": None},
    ],
)
def test_nor_does_every_launch_write_what_another_reads(change: dict[str, object]) -> None:
    size = 7e6 if "global_stores" in change else 256e6
    assert handover(replace(PRODUCT, **change), replace(BIAS, dram_read=size)) is None


@pytest.mark.parametrize(
    "kernel",
    [
        "void at::native::vectorized_elementwise_kernel(int)",
        "cupy_add__float32_float32_float32",
        "loop_add_fusion",
    ],
)
def test_operators_of_a_framework_are_joined_by_its_caller(kernel: str) -> None:
    assert handover(PRODUCT, replace(BIAS, kernel=kernel)) is not None


def test_a_pair_that_comes_again_is_counted() -> None:
    together = ReportLaunches()
    together.add(FILE, PRODUCT, (0, 2, 4))
    together.add(FILE, BIAS, (1, 3, 5))
    found = together.handover(FILE, BIAS, (1, 3, 5))
    assert found is not None
    assert found.times == 3
    assert together.handover("another.ncu-rep", BIAS, (1, 3, 5)) is None


WIDE = replace(
    BIAS, kernel="blur(const float *, float *)", block=(1024, 1, 1), seconds=357e-6
)  # fmt: skip
NARROW = replace(WIDE, block=(256, 1, 1), grid=(262_144, 1, 1), seconds=289e-6, registers=24)


def faster(*launches: KernelProfile) -> tuple[OtherLaunch, ...]:
    together = ReportLaunches()
    for launch in launches:
        together.add(FILE, launch)
    return together.faster(FILE, launches[0])


def test_the_same_work_in_other_blocks_is_its_own_answer() -> None:
    assert faster(WIDE, NARROW) == (
        OtherLaunch(block=(256, 1, 1), grid=(262_144, 1, 1), seconds=289e-6, registers=24),
    )
    assert faster(NARROW, WIDE) == ()
    slow = replace(NARROW, block=(512, 1, 1), seconds=300e-6)
    assert [launch.threads for launch in faster(WIDE, slow, NARROW)] == [256, 512]


def test_a_version_is_named() -> None:
    first = replace(WIDE, kernel="void blur<0>(const float *, float *)")
    second = replace(first, kernel="void blur<1>(const float *, float *)", seconds=100e-6)
    assert [launch.name for launch in faster(first, second)] == [second.kernel]


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": 345e-6},  # 3 %
        {"seconds": None},
        {"block": (1024, 1, 1)},  # the same launch, on other data
        {"kernel": "sharpen(const float *, float *)"},
        {"device": "NVIDIA A100"},
        {"global_stores": moved(230e6)},
        {"dram_read": 230e6},
        {"dram_bytes": 100e6},
    ],
)
def test_other_work_is_not_compared(change: dict[str, object]) -> None:
    assert faster(WIDE, replace(NARROW, **change)) == ()


def test_a_librarys_versions_are_other_operations() -> None:
    kernel = "void at::native::elementwise_kernel(int)"
    assert faster(replace(WIDE, kernel=kernel), replace(NARROW, kernel=kernel)) == ()


def test_a_page_without_counts_compares_what_was_moved() -> None:
    uncounted = {"global_stores": WarpRequests(), "dram_read": None}
    assert len(faster(replace(WIDE, **uncounted), replace(NARROW, **uncounted))) == 1
    more = replace(NARROW, **uncounted, dram_bytes=500e6)
    assert faster(replace(WIDE, **uncounted), more) == ()
    unknown = replace(WIDE, **uncounted, dram_bytes=None)
    assert faster(unknown, replace(NARROW, **uncounted)) == ()


def test_sums_are_as_many_as_there_are_blocks() -> None:
    few = replace(WIDE, global_stores=moved(4096.0))
    assert len(faster(few, replace(NARROW, global_stores=moved(16_384.0)))) == 1
