"""What the names of libraries' kernels say: whose they are, the arithmetic of matrix kernels, the kind of others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library or compiler whose kernels people call and do not write."""

    name: str
    levers: str  # what its caller can change
    by_call: bool = False  # another layout or size runs a kernel that is written otherwise


# The first that matches a kernel's name decides: kernels of PyTorch hold types of CUB in their parameters.
_LIBRARIES = (
    (
        r"^nccl\w*Kernel",
        Library(
            name="NCCL",
            levers="the size and number of messages, and NCCL_ALGO, NCCL_PROTO and NCCL_MAX_NCHANNELS",
        ),
    ),
    (
        r"^triton_(?:poi|red|per|tem|for|mm)_",
        Library(
            name="torch.compile",
            levers="shapes and layouts of the tensors, what is compiled together, and mode='max-autotune'",
        ),
    ),
    (
        r"cudnn|engines_precompiled::|xmma_(?:fprop|[dw]grad)|implicit_convolve_|conv2d_c1_k1_nhwc|(?i:nchwToNhwc|nhwcToNchw)|nhwcAddPadding",
        Library(
            name="cuDNN",
            levers="the layout (channels last), type and sizes of its tensors; torch.backends.cudnn.benchmark lets it try its algorithms",
            by_call=True,
        ),
    ),
    (
        r"^nvjet_|cublas|xmma_gemm|\bgemv2[NT]_kernel|gemvNSP|internal::gemvx|\bgemmSN_|splitKreduce|cutlass_\d+_\w+gemm|^(?:maxwell|volta|turing|ampere|hopper)_\w*gemm",
        Library(
            name="cuBLAS",
            levers="sizes, row lengths (a multiple of 16 bytes), batch and type of the product",
            by_call=True,
        ),
    ),
    (
        r"^(?:\w+_)?(?:regular|vector|multi|prime|composite)(?:_bluestein)?_fft",
        Library(
            name="cuFFT",
            levers="the transform's size (products of 2, 3, 5 and 7), its batch and the strides of its data",
            by_call=True,
        ),
    ),
    (
        r"^(?:gen_sequenced|generate_seed_pseudo)",
        Library(
            name="cuRAND",
            levers="the generator, its ordering (CURAND_ORDERING_PSEUDO_DYNAMIC) and how many numbers a call draws",
        ),
    ),
    (
        r"\bcusparse::",
        Library(
            name="cuSPARSE",
            levers="the matrix format, the algorithm and the number of vectors per call",
        ),
    ),
    (
        r"^cupyx?_",
        Library(
            name="CuPy",
            levers="layout and type of its arrays; cupy.fuse joins operations on elements",
        ),
    ),
    (
        r"\bat::|^native::|\b(?:at_cuda_detail|pytorch_flash|c10|[ms]btopk)::|^fmha_cutlass[FB]_|^cuda::kernelHistogram1D",
        Library(
            name="PyTorch",
            levers="layout (contiguous, channels last), type and size of its tensors, or the operator; torch.compile joins operators",
        ),
    ),
    (
        r"\b(?:cub|thrust)::|\bDevice(?:RadixSort|MergeSort|Scan|Reduce|Segmented|FixedSizeSegmented|Select|Compact|Histogram|Unique|RunLength|Partition|Transform|For)\w*Kernel",
        Library(
            name="CUB",
            levers="the number and types of keys and values, and which algorithm is called",
        ),
    ),
    (
        r"^(?:\w+_)?fusion(?:_\d+)?$|^gemm_fusion_dot\w*$|^wrapped_\w+$",
        Library(
            name="XLA",
            levers="shapes, types and layouts, and what stands under one jax.jit",
        ),
    ),
)

# Most kernels are of none: one search tells.
_ANY_LIBRARY = "|".join(f"(?:{names})" for names, _ in _LIBRARIES)

# Compiled on first use: most advice is about no recorded run.
# Matrix kernels of cuBLAS, cuDNN and CUTLASS that multiply FP32 numbers without tensor cores.
_SINGLE_PRECISION = (
    r"f32f32_f32f32_f32|simt_sgemm|(?:^|_)sgemm|scudnn|implicit_convolve_sgemm"
    r"|(?:[dw]grad|fprop|winograd)\w*<float"
)
_NOT_SINGLE = r"(?i:tf32|tensorop|s1688|s16816|wgmma|hmma)"
# Those for which the same library has a kernel in TF32. A name like `my_sgemm` may be anybody's.
_HAS_TF32 = r"f32f32_f32f32_f32|simt_sgemm|[a-z]_sgemm_\d+x\d+|scudnn"
# Those of FP64: cuBLAS, and CUTLASS on tensor cores.
_DOUBLE_PRECISION = r"f64f64_f64f64_f64|d884gemm|(?:^|_)dgemm|zgemm|[dw]grad\w*<double|cudnn::cnn::\w+<.*>\(.*\bdouble(?: const)?\*"
# Tensor core kernels of 16-bit numbers whose rows lie at any multiple of one or two of them.
# FlashAttention's, xFormers' and PyTorch's memory-efficient one, cuDNN's, TensorRT-LLM's and FlashInfer's.
_FUSED_ATTENTION = r"(?i)flash_?(?:fwd|bwd|attn|attention|infer)|fmha|AttentionKernel|sdpa|BatchPrefillWith|SingleDecodeWith"
_SINGLE_HALVES = r"(?:tensorop|wmma)\w*(?:bf16|f16|h)\w*_align[12](?!\d)"
# What people call a product of matrices: a convolution and attention are some as well.
_PRODUCT = r"(?i:gemm|mat_?mul|matrix_?mul|matmult|(?:^|_)b?mm(?:_|$)|attention|attn|fmha|winograd|wgmma|conv(?:[^aeiou]|ol|$))"
_PERSISTENT_RNN = r"RNN_blockPersist|(?i:persist\w*(?:rnn|lstm|gru))"
_SOFTMAX = r"(?i)soft_?max"
# An operator of PyTorch in double whose operands are of several types, which it converts one by one: the kernel that converts
# as it loads, or (<128, 4>; without conversions doubles get <128, 2>) the one for any strides.
_WIDENS_OPERANDS = (
    r"elementwise_kernel<.*Functor<double\b.*LoadWithCast"
    r"|elementwise_kernel<128, 4, .*gpu_kernel_impl<[^(]*Functor<double\b"
)
# What cuDNN puts before and after convolutions on tensor cores whose data are not channels-last.
_LAYOUT_CONVERSION = r"(?i:nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw)"
_LIBRARY_PRODUCT = r"cutlass\w*(?:gemm|fprop|[dw]grad)|xmma_|^nvjet_|[sdhcz]gemm_"
# Of CUB, cuBLAS and PyTorch. CUB's other kernels are steps of one call.
_ONE_CALL = r"\bDevice(?:Reduce(?:SingleTile)?|Scan(?:Init)?)Kernel|\bgemv\w*_kernel|\bat::native::reduce_kernel|^(?:void )?at::reduce_kernel"
# Kernels of Triton, and of what XLA makes with it, have a name and no parameters.
_TRITON = r"\w*(?:gemm|matmul|_dot|dot_)\w*"
# Of PyTorch and TensorFlow: one operation on each element, a sum or maximum of each row, a softmax, a norm or a dropout.
_ELEMENTWISE = (
    r"at::native::.*(?:elementwise_kernel|reduce_kernel|batch_norm_)"
    r"|^_ZN2at6native\w*(?:elementwise_kernel|reduce_kernel|batch_norm_)|cudnn\w*:*\w*bn_[fb]w_"
    r"|CatArrayBatchedCopy|upsample_\w+_out_frame"
    r"|EigenMetaKernel|FillPhiloxRandomKernel|tensorflow::functor::(?:Column|Row|Block)Reduce"
    r"|softmax_warp_|cunn_SoftMax|dropout_kernel|layer_norm|LayerNorm|RowwiseMoments"
)
# Of PyTorch's torch.cat and torch.stack, and of TensorFlow's concat.
_CONCATENATION = r"CatArrayBatchedCopy|\bconcat_(?:fixed|variable)_kernel"
# Sorts of whole arrays in PyTorch. Of up to 32 elements (bitonic) the rows' number is what takes the time.
_SHORT_SORT = r"(?:radixSort|warpMergeSort)KVInPlace"
_KEY_SORT = r"at_cuda_detail::.*\bDevice\w*Sort\w*Kernel|\bat::.*sort_postprocess_kernel"
_NUMBER_KEYS = r"(?:SortPolicy|policy_hub)<(?:float|double|__half|__nv_bfloat16|c10::\w+)\b"
# topk's kernels, behind which it sorts what it found.
_TOP_K = r"[ms]btopk::|gatherTopK|radixFindKthValues"
# Operators that sort indices or integers on their way: gradients of embeddings and of indexed rows, unique, randperm.
_SORTS_INDICES = (
    r"embedding_backward|compute_grad_weight|krn_partial|sum_and_scatter|indexing_backward|accGradParameters"
    r"|randperm|RunLengthEncode|[uU]nique|adjacent_difference|coalesceValues"
)
# Gradients of embeddings that have a row for each of the table: EmbeddingBag's too, and what torch.compile makes of it.
_DENSE_EMBEDDING_GRADIENT = (
    r"\bat::native::.*(?:embedding_backward_feature_kernel|compute_grad_weight|sum_and_scatter|accGradParameters)"
    r"|^triton_\w*embedding_dense_backward"
)
# One kernel for many parameters: torch._foreach_*, apex and DeepSpeed, torch.compile; bitsandbytes has no such form.
_MANY_TENSORS = r"multi_tensor_apply_kernel|^triton_for_|(?i:fused_?adam)|\bkOptimizer"
# What stands first in a template is the type that is computed in; `optional<double>` is a parameter.
_DOUBLE = r"(?<!optional)<(?:c10::complex<)?double\b|\{lambda\((?:c10::complex<)?double\b"
_DOUBLE_OF_OTHERS = r"_fft<.*\bdouble\b|^cupyx?_\w+?__(?:float64|complex128)"


@lru_cache(maxsize=1024)  # each finding of a kernel asks
def library_of(name: str) -> Library | None:
    """Return the library whose kernel *name* is, by what stands before its parameters; None: anybody's.

    Of names that hold template parameters these count where they name a library's own kernel.
    """
    name = name.removeprefix("void ")
    head = re.split(r"[<(](?!unnamed>)", name, maxsplit=1)[0] or name
    own = head if not head.startswith(("cutlass::Kernel", "std::enable_if")) else name
    if not re.search(_ANY_LIBRARY, own):
        return None
    return next(library for names, library in _LIBRARIES if re.search(names, own))


def is_persistent_rnn(name: str) -> bool:
    """Return whether a kernel's *name* is that of a recurrent layer of cuDNN that keeps its weights on the SMs.

    It has a block for each SM that holds some of them, for all steps in time.
    """
    return bool(re.search(_PERSISTENT_RNN, name))


def is_of_pytorch(name: str) -> bool:
    """Return whether a kernel's *name* is that of one of PyTorch's own."""
    library = library_of(name)
    return library is not None and library.name == "PyTorch"


def in_single_precision(name: str) -> bool:
    """Return whether a kernel's name is that of an FP32 matrix kernel without tensor cores."""
    return bool(re.search(_SINGLE_PRECISION, name)) and not re.search(_NOT_SINGLE, name)


@lru_cache(maxsize=1024)  # three rules ask, launch after launch of one name
def could_use_tf32(name: str) -> bool:
    """Return whether whoever calls the FP32 matrix kernel *name* can have it made in TF32 instead."""
    return not re.search(_NOT_SINGLE, name) and bool(
        re.search(_HAS_TF32, name) or re.fullmatch(_TRITON, name)
    )


def in_double_precision(name: str) -> bool:
    """Return whether a kernel's name is that of an FP64 matrix kernel."""
    return bool(re.search(_DOUBLE_PRECISION, name))


def loads_single_halves(name: str) -> bool:
    """Return whether a kernel's name is that of a product of 16-bit numbers without aligned rows."""
    return bool(re.search(_SINGLE_HALVES, name))


def is_softmax(name: str) -> bool:
    """Return whether a kernel's name is that of a softmax over rows in memory."""
    return bool(re.search(_SOFTMAX, name)) and not is_fused_attention(name)


def is_fused_attention(name: str) -> bool:
    """Return whether a kernel's name is that of an attention that stores no scores."""
    return bool(re.search(_FUSED_ATTENTION, name))


def widens_operands(name: str) -> bool:
    """Return whether a kernel's name is that of an operator of PyTorch in double with operands of another type."""
    return "Functor<double" in name and bool(re.search(_WIDENS_OPERANDS, name))


def is_library_product(name: str) -> bool:
    """Return whether a kernel's name is that of a matrix kernel of cuBLAS, cuDNN or CUTLASS."""
    return bool(re.search(_LIBRARY_PRODUCT, name))


def adds_by_atomics(name: str) -> bool:
    """Return whether a kernel's name is that of PyTorch's or CuPy's sums into the places that an index names."""
    return bool(re.search(r"\bReduce(?:Add|Multiply|Minimum|Maximum)\b|^cupy_scatter_add", name))


def is_call_of_its_own(name: str) -> bool:
    """Return whether a kernel's name is that of a library's call for one array: a sum, a scan, a matrix times a vector."""
    return bool(re.search(_ONE_CALL, name))


def is_compiled_at_first_call(name: str) -> bool:
    """Return whether torch.compile makes kernels of this name, the first time that a function is called."""
    library = library_of(name)
    return library is not None and library.name == "torch.compile"


def is_product(name: str) -> bool:
    """Return whether a kernel's name, anybody's, is that of a product of matrices or a convolution."""
    return is_library_product(name) or bool(re.search(_PRODUCT, base_name(name)))


_HEAD = r"(?:<unnamed>|\(anonymous namespace\)|[^<(])*"


@lru_cache(maxsize=64)  # each finding of a kernel asks, one after the other
def base_name(kernel: str) -> str:
    """Return a kernel's name without what pages, reports and sources write differently.

    That is its result, namespaces, template arguments and parameters: a page leaves out the
    namespaces that a report has.
    """
    if kernel.isidentifier():
        return kernel
    match = re.match(_HEAD, kernel)
    head = match[0].rstrip() if match else kernel
    return head.rpartition("::")[2].rpartition(" ")[2] or kernel


def without_parameters(kernel: str) -> str:
    """Return a kernel's name without its result and parameters; template arguments stay.

    ``void gemm<(int)32>(const T1 *)`` is ``gemm<(int)32>``.
    """
    name = kernel.replace("(anonymous namespace)", "<unnamed>").removeprefix("void ").strip()
    if not name.endswith(")"):
        return name.partition("(")[0].strip() if "<" not in name else name
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return name[:at].strip()
    return name


def converts_layout(name: str) -> bool:
    """Return whether a kernel's name is that of a conversion between NCHW and NHWC."""
    return bool(re.search(_LAYOUT_CONVERSION, name))


def is_elementwise(name: str) -> bool:
    """Return whether a kernel's name is that of a pass over memory that a framework's compiler would fuse."""
    return bool(re.search(_ELEMENTWISE, name))


def concatenates(name: str) -> bool:
    """Return whether a kernel's name is that of a framework's concatenation."""
    return bool(re.search(_CONCATENATION, name))


def sorts_of_pytorch(names: Collection[str]) -> set[str]:
    """Return those of a run's kernel *names* that sort whole arrays because the program asks PyTorch for it.

    What topk sorts is its result, and other operators sort integers on their way.
    """
    top_k = any(re.search(_TOP_K, name) for name in names)
    others = any(re.search(_SORTS_INDICES, name) for name in names)
    return {
        name
        for name in names
        if (not top_k and re.search(_SHORT_SORT, name))
        or (re.search(_KEY_SORT, name) and (not others or re.search(_NUMBER_KEYS, name)))
    }


def is_dense_embedding_gradient(name: str) -> bool:
    """Return whether a kernel's name is that of a gradient with a row for each of an embedding's table."""
    return bool(re.search(_DENSE_EMBEDDING_GRADIENT, name))


def takes_many_tensors(name: str) -> bool:
    """Return whether a kernel's name is that of an optimizer's pass over many parameters at once."""
    return bool(re.search(_MANY_TENSORS, name))


def is_fill(name: str) -> bool:
    """Return whether a kernel's name is that of a framework's fill of an array with one value."""
    return "FillFunctor" in name


def passes_in_double(name: str) -> bool:
    """Return whether a kernel's name is that of a framework's operator or transform in FP64 that is no product."""
    if in_double_precision(name):
        return False
    pattern = _DOUBLE if is_of_pytorch(name) else _DOUBLE_OF_OTHERS
    return bool(re.search(pattern, name))
