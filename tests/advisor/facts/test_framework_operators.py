"""What names of kernels say of an operation on elements."""

from __future__ import annotations

import pytest

from gpuadvise.advisor.facts.framework_operators import operation_name, operator_of

VECTORS = (
    "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char *, {}>>(int, T2, T3)"
)
STRIDES = (
    "void at::native::elementwise_kernel<128, {}, void at::native::gpu_kernel_impl{}<{}>(at::TensorIteratorBase &, const T1 &)"
    "::[lambda(int) (instance 1)]>(int, T3)"
)


@pytest.mark.parametrize(
    ("kernel", "operands", "result", "per_thread"),
    [
        (VECTORS.format("at::native::CUDAFunctor_add<float>", 3), {"float"}, "float", (4, 8)),
        (VECTORS.format("at::native::AUnaryFunctor<c10::Half, c10::Half, c10::Half, MulFunctor<float>>", 2), {"Half", "float"}, "Half", (4, 8)),
        (VECTORS.format("at::native::float16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance 1)]", 2), {"float"}, "Half", (4, 8)),
        (VECTORS.format("void at::native::compare_scalar_kernel<float>(at::TensorIteratorBase &, OpType, T1)::[lambda(float) (instance 1)]", 2), {"float"}, "bool", (4, 8)),
        (STRIDES.format(4, "", "at::native::CUDAFunctor_add<double>"), set(), "double", (4, 4)),
        (STRIDES.format(2, "_nocast", "at::native::CUDAFunctor_add<float>"), {"float"}, "float", (2, 2)),
        (STRIDES.format(2, "_nocast", "at::native::where_kernel_impl(at::TensorIterator &)::[lambda(bool, float, float) (instance 1)]"), {"bool", "float"}, "float", (2, 2)),
        (STRIDES.format("(int)2", "_nocast", "at::native::CUDAFunctor_add<float>").replace("<128", "<(int)128"), {"float"}, "float", (2, 2)),
        ("cupy_copy__float64_float32", {"float64"}, "float32", (1,)),
    ],
)  # fmt: skip
def test_types_and_elements_stand_in_a_name(
    kernel: str, operands: set[str], result: str, per_thread: tuple[int, ...]
) -> None:
    operator = operator_of(kernel)
    assert operator is not None
    assert (set(operator.operands), operator.result) == (operands, result)
    assert operator.per_thread == per_thread


@pytest.mark.parametrize(
    "kernel",
    [
        VECTORS.format("at::native::FillFunctor<float>", 1),
        STRIDES.format(2, "_nocast", "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)"),
        "void at::native::reduce_kernel<512, 1, at::native::MaxOps<float>>(T3)",
        "void at::native::index_elementwise_kernel<128, 4, at::native::flip_kernel_impl>(long, T3)",
        VECTORS.format("at::native::FillFunctor<float>", "(unsigned long)1"),
        "void at::native::elementwise_kernel(int)",
        "cupy_sum",
        "cupy_take",
        "loop_add_fusion",
        "scale(float *)",
    ],
)  # fmt: skip
def test_others_are_none(kernel: str) -> None:
    assert operator_of(kernel) is None


def test_one_reads_what_another_stored_by_library_and_type() -> None:
    wide, cast, log = (
        operator_of(f"cupy_{name}")
        for name in ("multiply__float32_float64_float64", "copy__float64_float32", "log__float32_float32")
    )  # fmt: skip
    assert wide
    assert cast
    assert log
    assert cast.follows(wide)
    assert log.follows(cast)
    assert not log.follows(wide)
    add = operator_of(VECTORS.format("at::native::CUDAFunctor_add<float>", 3))
    assert add
    assert not add.follows(cast)
    gelu = operator_of(VECTORS.format("at::native::GeluCUDAKernelImpl()", 2))
    assert gelu
    assert gelu.composite
    assert not add.composite


def test_an_operator_is_called_by_its_function() -> None:
    multiplies = (
        "at::native::AUnaryFunctor<float, float, float, binary_internal::MulFunctor<float>>"
    )
    assert operation_name(VECTORS.format(multiplies, 2)) == "MulFunctor"
    assert operation_name("cupy_sum") == "cupy_sum"
    assert operation_name("void scale<4>(float *)") == "scale"
