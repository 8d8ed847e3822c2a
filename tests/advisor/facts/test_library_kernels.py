"""Whose kernel it is, by its name: those that people call, and those that they write."""

from __future__ import annotations

import pytest

from gpuadvise.advisor.facts.library_kernels import (
    base_name,
    is_product,
    library_of,
    widens_operands,
)


@pytest.mark.parametrize(
    ("kernel", "library"),
    [
        ("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNN", "cuBLAS"),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_nn_align8>(T1::Params)",
            "cuBLAS",
        ),
        ("ampere_sgemm_128x64_nn", "cuBLAS"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(T1)", "cuBLAS"),
        (
            "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, float>(T13)",
            "cuBLAS",
        ),
        (
            "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_ffma",
            "cuDNN",
        ),
        (
            "void cudnn::nchwToNhwcKernel<__half, __half, float, 0, 1, 0>(cudnn::params)",
            "cuDNN",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
            "PyTorch",
        ),
        ("void at::<unnamed>::cunn_SoftMaxForward<4, float>(T3 *, const T1 *)", "PyTorch"),
        ("fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Kernel)", "PyTorch"),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>(T1)", "PyTorch"),
        ("void vector_fft<1024, EPT<16>, 1, 11>(kernel_arguments_t<T8>)", "cuFFT"),
        ("void regular_bluestein_fft<2048, EPT<16>, 2, 1>(T1)", "cuFFT"),
        ("void cusparse::csrmv_v3_kernel<int, int, float>(T1)", "cuSPARSE"),
        (
            "void cub::DeviceReduceKernel<cub::policy_hub<float, int, cub::Sum>>(T2, T3)",
            "CUB",
        ),
        ("void radix_sort::DeviceRadixSortOnesweepKernel<int>(T1 *)", "CUB"),
        ("void cuda::kernelHistogram1D<float, float, long, 1, 2>(cuda::TensorInfo<T1>)", "PyTorch"),
        ("void gen_sequenced<curandStateXORWOW, float, int>(T1 *, T2 *)", "cuRAND"),
        ("cupy_copy__float32_float32", "CuPy"),
        ("triton_poi_fused_add_gelu_0", "torch.compile"),
        ("loop_add_fusion_3", "XLA"),
        ("input_reduce_fusion", "XLA"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", "NCCL"),
    ],
)
def test_kernels_of_libraries(kernel: str, library: str) -> None:
    known = library_of(kernel)
    assert known is not None
    assert known.name == library


@pytest.mark.parametrize(
    "kernel",
    [
        "gemm_mma(const __half *, const __half *, __half *, int, int, int)",
        "gemv_warp(const uint4 *, const uint4 *, float *, int, int)",
        "sgemm_naive(const float *, const float *, float *, int, int, int)",
        "fft_slow(const float2 *, float2 *)",
        "transpose_kernel",
        "void my_scan<cub::BlockScan<int, 256>>(int *, int *)",
        "void fill<at::Half>(T1 *, int)",
        "void scale<thrust::complex<float>>(T1 *, int)",
        "void <unnamed>::softmax_rows<float>(const T1 *, T1 *, int)",
        "void cutlass::device_kernel<MyKernel>(MyKernel::Params)",
        "fusion_of_rows(float *, int)",
        "matmul_kernel",
        "nccl_like_ring(float *, int)",
    ],
)
def test_kernels_that_people_write(kernel: str) -> None:
    assert library_of(kernel) is None


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3>(int)", True),
        ("convolve2d(const float *)", True),
        ("mm_naive", True),
        ("my_mm_kernel", True),
        ("bmm", True),
        ("flash_attention_fwd<64>", True),
        ("attention_utils::softmax<float>(float *)", False),
        ("convert_to_half", False),
        ("command_stream", False),
    ],
)
def test_products_of_anybody_by_their_names(kernel: str, expected: bool) -> None:
    assert is_product(kernel) == expected


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("<unnamed>::rows(const float *)", "rows"),
        ("void at::native::(anonymous namespace)::sum<int, a::b<c>>(int)", "sum"),
        ("void cub::CUB_300001_SM_900::detail::merge_sort::Sort<(int)1>(bool)", "Sort"),
        ("triton_poi_fused_0", "triton_poi_fused_0"),
    ],
)
def test_a_name_without_what_files_write_differently(kernel: str, name: str) -> None:
    assert base_name(kernel) == name


_MULTIPLY = "at::native::BinaryFunctor<double, double, double, at::native::binary_internal::MulFunctor<double>>"


@pytest.mark.parametrize(
    ("name", "mixed"),
    [
        (f"void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl<{_MULTIPLY}>(at::TensorIteratorBase &)>", True),
        (f"void at::native::unrolled_elementwise_kernel<{_MULTIPLY}, std::array<char *, 3>, 4, at::native::memory::LoadWithCast<2>>", True),
        (f"void at::native::elementwise_kernel<128, 2, void at::native::gpu_kernel_impl_nocast<{_MULTIPLY}>(at::TensorIteratorBase &)>", False),
        (f"void at::native::vectorized_elementwise_kernel<2, {_MULTIPLY}, std::array<char *, 3>>", False),
        ("void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, float, float>>", False),
    ],
)  # fmt: skip
def test_operators_of_pytorch_in_double_with_operands_of_other_types(
    name: str, mixed: bool
) -> None:
    assert widens_operands(name) is mixed
