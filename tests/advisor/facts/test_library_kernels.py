"""Whose kernel it is, by its name: those that people call, and those that they write."""

from __future__ import annotations

import pytest

from gpuadvise.advisor.facts.library_kernels import (
    base_name,
    concatenates,
    is_dense_embedding_gradient,
    is_persistent_rnn,
    is_product,
    library_of,
    passes_in_double,
    sorts_of_pytorch,
    takes_many_tensors,
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


@pytest.mark.parametrize(
    ("name", "joins"),
    [
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<float, unsigned int, 2, 128, 1>(float*)",
            True,
        ),
        (
            "_ZN2at6native40_GLOBAL__N__0b46c3ea_8_Shape_cu_85d9f36c19CatArrayBatchedCopyINS1_10OpaqueTypeILj4EEE",
            True,
        ),
        (
            "void tensorflow::(anonymous namespace)::concat_fixed_kernel<float, int>(tensorflow::GpuDeviceArrayStruct<float const*, 8>)",
            True,
        ),
        ("void my_concat_fixed_kernels(float*)", False),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::Concat>(int)", False),
    ],
)
def test_concatenations(name: str, joins: bool) -> None:
    assert concatenates(name) is joins


_SHORT = "void at::native::radixSortKVInPlace<-2, -1, 64, 32, float, long, unsigned int>(float*)"
_FLOATS = (
    "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<float, "
    "at::cuda::cub::detail::OpaqueType<8>, int>::Policy800, false, float>(int*)"
)
_INTEGERS = _FLOATS.replace("<float,", "<long,")
_TOP_K = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(float*)"


@pytest.mark.parametrize(
    ("names", "sorts"),
    [
        ({_SHORT, _FLOATS, _INTEGERS}, {_SHORT, _FLOATS, _INTEGERS}),
        ({_SHORT, _FLOATS, _TOP_K}, {_FLOATS}),
        *(
            ({_FLOATS, _INTEGERS, other}, {_FLOATS})
            for other in (
                "void at::native::(anonymous namespace)::compute_grad_weight<float, long>(long*)",
                "void at::native::(anonymous namespace)::indexing_backward_kernel<float, 4>(long*)",
                "void (anonymous namespace)::randperm_handle_duplicate_keys_kernel<int, long>(int*)",
                "void at_cuda_detail::cub::DeviceRunLengthEncodeKernel<int>(int*)",
            )
        ),
        # Thrust and CUB of a program's own, short rows, and searches.
        ({_FLOATS.replace("at_cuda_detail::", ""), "modified_insertion_sort(float *, int)"}, set()),
        (
            {
                "void at::native::bitonicSortKVInPlace<-2, -1, 16, 16, float, long>(float*)",
                "void at::native::(anonymous namespace)::searchsorted_cuda_kernel<float, long>(long*)",
            },
            set(),
        ),
    ],
)
def test_sorts_that_the_program_asks_for(names: set[str], sorts: set[str]) -> None:
    assert sorts_of_pytorch(names) == sorts


@pytest.mark.parametrize(
    ("name", "dense"),
    [
        (
            "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>(long const*)",
            True,
        ),
        (
            "void at::native::(anonymous namespace)::sum_and_scatter<float, long>(long const*)",
            True,
        ),
        (
            "void at::native::(anonymous namespace)::EmbeddingBag_accGradParametersKernel_max<float, long>(long*)",
            True,
        ),
        ("triton_poi_fused_embedding_dense_backward_0", True),
        (
            "void split_embedding_backward_codegen_rowwise_adagrad_weighted_kernel_warp_per_row_1<float>(float*)",
            False,
        ),
        (
            "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>(float*)",
            False,
        ),
        ("sum_and_scatter(float *)", False),
    ],
)
def test_gradients_with_a_row_for_each_of_the_table(name: str, dense: bool) -> None:
    assert is_dense_embedding_gradient(name) is dense


@pytest.mark.parametrize(
    ("name", "many"),
    [
        (
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4> >(int)",
            True,
        ),
        ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float> >(int)", True),
        ("triton_for_fused_0", True),
        (
            "void kOptimizerStatic8bit2StateBlockwise<float, 0, 256, 1>(float*, float*)",
            True,
        ),
        ("triton_poi_fused_add_0", False),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
            False,
        ),
    ],
)
def test_passes_over_many_parameters(name: str, many: bool) -> None:
    assert takes_many_tensors(name) is many


_PASS = "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char*, 2ul> >(int)"


@pytest.mark.parametrize(
    ("name", "double"),
    [
        (_PASS.format("at::native::CUDAFunctor_add<double>"), True),
        (
            _PASS.format(
                "at::native::log_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda(double)#1}"
            ),
            True,
        ),
        (_PASS.format("at::native::AbsFunctor<c10::complex<double> >"), True),
        (
            "void regular_fft<4096u, EPT<16u>, 8u, 4u, (padding_t)4, unsigned int, double>(kernel_arguments_t<unsigned int>)",
            True,
        ),
        ("cupy_multiply__float64_float64_float64", True),
        (_PASS.format("at::native::CUDAFunctor_add<float>"), False),
        # Parameters of an operator of floats.
        (
            _PASS.format(
                "at::native::nan_to_num_kernel_cuda(at::TensorIteratorBase&, c10::optional<double>)::{lambda(float)#1}"
            ),
            False,
        ),
        (
            _PASS.format(
                "at::native::(anonymous namespace)::threshold_kernel_impl<float>(at::TensorIteratorBase&, double)::{lambda(float)#1}"
            ),
            False,
        ),
        (
            "void regular_fft<4096u, EPT<16u>, 8u, 4u, (padding_t)4, unsigned int, float>(kernel_arguments_t<unsigned int>)",
            False,
        ),
        ("cupy_copy__float32_float64", False),
        # Products, and anybody's kernels.
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", False),
        ("void step<double>(double*)", False),
    ],
)
def test_operators_in_double_that_are_no_products(name: str, double: bool) -> None:
    assert passes_in_double(name) is double


def test_recurrent_layers_that_stay_on_the_sms() -> None:
    assert is_persistent_rnn(
        "void RNN_blockPersist_fp_LSTM<float, float, float, 192>(float const*)"
    )
    assert is_persistent_rnn("void persistRNN_fp16(int)")
    assert not is_persistent_rnn("void persist_rows<float>(float*)")
    assert not is_persistent_rnn("void elemWiseRNNcell<float, (cudnnRNNMode_t)2>(int)")
