"""Findings that are low for what stands around them, and syntax that is said to be unknown."""

from __future__ import annotations

from gpuadvise.advisor.source.build import UNKNOWN_BUILD, Build
from gpuadvise.rules.source.lint import lint_cuda

TREE = """
  for (int step = 1; step < blockDim.x; step *= 2)
    if (threadIdx.x % (2 * step) == 0) x[threadIdx.x] += x[threadIdx.x + step];
"""
ALONE = f"__global__ void tree(float *x) {{{TREE}}}\n"
AFTER_WORK = (
    f"__global__ void tree(float *x, int n) {{\n  for (int i = 0; i < n; ++i) x[i] += i;{TREE}}}\n"
)
BROKEN = "__global__ void f(float *x) { if (threadIdx.x < 16) __syncthreads(); }\n"


def minor(source: str, rule: str) -> list[bool]:
    return [d.minor for d in lint_cuda(source.encode(), "a.cu", select={rule}).diagnostics]


def test_a_tree_at_the_end_of_work_is_minor() -> None:
    assert minor(ALONE, "divergent-branches") == [False]
    assert minor(AFTER_WORK, "divergent-branches") == [True]


def test_what_stands_in_test_code_is_minor_unless_it_breaks_the_kernel() -> None:
    test = "#include <gtest/gtest.h>\n"
    assert minor(test + ALONE, "divergent-branches") == [True]
    assert minor(ALONE + "TEST_F(Trees, Sum) { run(); }\n", "divergent-branches") == [True]
    assert minor(test + BROKEN, "divergent-barriers") == [False]


def test_functions_that_were_read_are_no_unknown_syntax() -> None:
    source = "namespace {\n" + ALONE + "} }\n"
    linted = lint_cuda(source.encode(), "a.cu", select={"divergent-branches"})
    assert [d.where.line for d in linted.diagnostics] == [4]
    assert all(not (r.line <= 3 <= r.end_line) for r in linted.unparsed)
    assert not linted.not_understood


def test_a_round_trip_that_not_every_iteration_makes_is_minor() -> None:
    def source(condition: str) -> str:
        return (
            "__global__ void step(float *x) {}\n"
            "void run(float *x, float *h, int n) {\n  for (int i = 0; i < n; ++i) {\n"
            "    cudaMemcpy(x, h, n, cudaMemcpyHostToDevice);\n    step<<<n, 256>>>(x);\n"
            f"    {condition} cudaMemcpy(h, x, n, cudaMemcpyDeviceToHost);\n  }}\n}}\n"
        )

    assert minor(source(""), "serial-transfers") == [False]
    assert minor(source("if (wanted)"), "serial-transfers") == [True]
    assert minor(source("if (i % 10 == 0)"), "serial-transfers") == []


def test_what_a_kernel_of_one_block_does_is_minor() -> None:
    launch = "void run(float *x) {{ tree<<<{}, 256>>>(x); }}\n"
    assert minor(ALONE + launch.format("64"), "divergent-branches") == [False]
    assert minor(ALONE + launch.format("1"), "divergent-branches") == [True]


def test_what_runs_once_or_tries_the_gpu_is_minor() -> None:
    copy = (
        "{{ std::vector<float> h(9); cudaMemcpyAsync(x, h.data(), 9, cudaMemcpyHostToDevice, s); }}"
    )
    function = f"void {{}}(float *x, cudaStream_t s) {copy}\n"
    assert minor(function.format("step"), "pageable-transfers") == [False]
    assert minor(function.format("init_tables"), "pageable-transfers") == [True]
    once = (
        function.format("fill")
        + "int main() {\n  float *x;\n  cudaMalloc(&x, 9);\n  fill(x, 0);\n}\n"
    )
    assert minor(once, "pageable-transfers") == [True]
    dropped = "void {}(float **x) {{ cudaMalloc(x, 9); }}\n"
    assert minor(dropped.format("run"), "unchecked-errors") == [False]
    assert minor(dropped.format("test_sum"), "unchecked-errors") == [True]


def test_what_sets_up_runs_once() -> None:
    def named(name: str) -> str:
        return ALONE.replace("tree", name)

    for name in ("init_tree", "initTree", "xInitialTree", "tree_setup"):
        assert minor(named(name), "divergent-branches") == [True], name
    for name in ("finite", "minitree", "resetup"):
        assert minor(named(name), "divergent-branches") == [False], name


def test_programs_that_test_say_so_by_their_names() -> None:
    for name in ("stream_test.cu", "src/test_copy.cu", "all_tests.cpp"):
        linted = lint_cuda(ALONE.encode(), name, select={"divergent-branches"})
        assert [d.minor for d in linted.diagnostics] == [True], name
    linted = lint_cuda(ALONE.encode(), "latest.cu", select={"divergent-branches"})
    assert [d.minor for d in linted.diagnostics] == [False]


def test_a_row_at_the_end_of_deeper_loops_or_of_coordinates_is_minor() -> None:
    def kernel(inner: str, width: str = "width") -> str:
        return (
            f"__global__ void rows(float *out, const float *x, int {width}, int n) {{\n"
            "  int row = blockIdx.x * blockDim.x + threadIdx.x;\n  float s = 0;\n"
            f"  for (int k = 0; k < n; ++k) {{ {inner} s += x[k]; }}\n"
            f"  for (int c = 0; c < {width}; ++c) out[row * {width} + c] = s;\n}}\n"
        )

    assert minor(kernel(""), "uncoalesced-access") == [False]
    assert minor(kernel("for (int j = 0; j < n; ++j)"), "uncoalesced-access") == [True]
    assert minor(kernel("", "dim"), "uncoalesced-access") == [True]


def test_a_short_program_that_checks_nothing_is_minor() -> None:
    program = (
        "__global__ void f(float *x) { *x = 1; }\nint main() {\n  float *x;\n  cudaMalloc(&x, 4);\n"
    )
    assert minor(program + "}\n", "unchecked-errors") == [True]
    assert minor(program + "  ;\n" * 60 + "}\n", "unchecked-errors") == [False]


def test_a_wait_that_is_checked_makes_an_unchecked_launch_minor() -> None:
    program = (
        """__global__ void step(float *x) { x[threadIdx.x] = 1; }
int main() {
  float *x;
  CHECK(cudaMalloc(&x, 4096));
  step<<<1, 32>>>(x);
  %s
}
"""
        + "\n" * 60
    )
    assert minor(program % "CHECK(cudaDeviceSynchronize());", "unchecked-errors") == [True]
    assert minor(program % "CHECK(cudaFree(x));", "unchecked-errors") == [False]


def test_what_sets_up_is_left_alone_and_what_prints_or_treats_a_border_is_minor() -> None:
    power = "__global__ void {}(float *x) {{ x[threadIdx.x] = powf(x[threadIdx.x], 2.0f); }}"
    assert minor(power.format("step"), "general-math-functions") == [False]
    assert minor(power.format("initialize_field"), "general-math-functions") == []
    assert minor(power.format("InitField"), "general-math-functions") == []
    assert minor(power.format("initiative"), "general-math-functions") == [False]
    rows = (
        "__global__ void {}(float *x, int w, int h) {{"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < h) x[i * w + w - 1] = 0; }}"
    )
    assert minor(rows.format("step"), "uncoalesced-access") == [False]
    assert minor(rows.format("boundaryRight"), "uncoalesced-access") == [True]
    printed = (
        "__global__ void {}(float *x, float *y) {{"
        ' int i = threadIdx.x; y[i] = x[i]; printf("%f", x[i]); }}'
    )
    assert minor(printed.format("step"), "printing-kernels") == [False]
    assert minor(printed.format("PrintField"), "printing-kernels") == [True]


def test_blocks_that_lose_few_lanes_are_minor() -> None:
    launch = "__global__ void f(float *x);\nvoid run(float *x) {{ f<<<100, {}>>>(x); }}"
    assert minor(launch.format("100"), "partial-warp") == [False]
    assert minor(launch.format("1000"), "partial-warp") == [True]


def test_a_division_of_floats_by_fast_math_is_left_to_the_compiler() -> None:
    text = "__global__ void k({0} *x, {0} s, int n) {{ for (int i = threadIdx.x; i < n; ++i) x[i] = x[i] / s; }}"
    for kind, build, seen in (
        ("float", UNKNOWN_BUILD, True),
        ("float", Build(fast_math=True), False),
        ("double", Build(fast_math=True), True),
    ):
        rules = {"invariant-divisors"}  # which runs where it is named
        found = lint_cuda(text.format(kind).encode(), "k.cu", select=rules, build=build).diagnostics
        assert bool(found) == seen


def test_plain_forms_that_others_are_compared_with_are_minor() -> None:
    rows = (
        "__global__ void {}(float *x, int n, int m) {{\n"
        "  int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (row < n) for (int k = 0; k < m; ++k) x[row * m + k] *= 2;\n}}\n"
    )
    assert minor(rows.format("scale"), "uncoalesced-access") == [False]
    assert minor(rows.format("scale_naive"), "uncoalesced-access") == [True]
    assert minor(rows.format("referenceScale"), "uncoalesced-access") == [True]
    assert minor(rows.format("preferred"), "uncoalesced-access") == [False]


def test_what_the_host_prints_is_minor() -> None:
    copies = (
        "void {}(const thrust::device_vector<float> &x, float *out) {{\n"
        "  for (int i = 0; i < 900; ++i) out[i] = x[i];\n}}\n"
    )
    assert minor(copies.format("collect"), "element-wise-copies") == [False]
    assert minor(copies.format("print_vector"), "element-wise-copies") == [True]


def test_copies_of_headers_of_samples_have_no_faults_of_speed() -> None:
    source = (
        b"__device__ float square(float x) { return powf(x, 2.0f); }\n"
        b"__global__ void f(float *x) { if (threadIdx.x < 16) __syncthreads(); }\n"
    )
    assert {d.rule for d in lint_cuda(source, "common/helper_math.h").diagnostics} == {
        "divergent-barriers"
    }
    assert "general-math-functions" in {d.rule for d in lint_cuda(source, "math.h").diagnostics}


def test_an_atomic_of_one_lane_and_results_of_a_few_bytes_are_minor() -> None:
    loop = "  for (int i = 0; i < n; ++i) {{ {} atomicAdd(sum, x[i]); }}\n"
    kernel = f"__global__ void add(float *sum, const float *x, int n) {{{{\n{loop}}}}}\n"
    assert minor(kernel.format(""), "atomics-in-loops") == [False]
    assert minor(kernel.format("if (threadIdx.x == 0)"), "atomics-in-loops") == [True]
    steps = (
        "__global__ void step(float *x) {{}}\n"
        "void run(float *x, float *h, int n) {{\n  for (int i = 0; i < n; ++i) {{\n"
        "    cudaMemcpy(x, h, n, cudaMemcpyHostToDevice);\n    step<<<n, 256>>>(x);\n"
        "    cudaMemcpy(h, x, {}, cudaMemcpyDeviceToHost);\n  }}\n}}\n"
    )
    assert minor(steps.format("n * sizeof(float)"), "serial-transfers") == [False]
    assert minor(steps.format("3 * sizeof(float)"), "serial-transfers") == [True]
