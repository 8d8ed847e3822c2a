"""The documents that rules cite, each with its address."""

from __future__ import annotations

from gpuadvise.rules.advice import Citation

GUIDE = "CUDA C++ Best Practices Guide 13"
OLD_GUIDE = "CUDA C Best Practices Guide 7.5"
PROGRAMMING = "CUDA C++ Programming Guide"
_ROOT = "https://docs.nvidia.com/cuda/"


def guide(section: str, old: str | None = None) -> tuple[Citation, ...]:
    """Return the citations of *section* in the current guide and of *old* in the 7.5 one."""
    now = Citation(document=GUIDE, section=section, url=f"{_ROOT}cuda-c-best-practices-guide/")
    return (now, old_guide(old)) if old else (now,)


def old_guide(section: str) -> Citation:
    """Return the citation of *section* in the 7.5 guide, which numbers its chapters otherwise."""
    return Citation(
        document=OLD_GUIDE,
        section=section,
        url="https://docs.nvidia.com/cuda/archive/7.5/cuda-c-best-practices-guide/",
    )


def programming_guide(section: str) -> Citation:
    """Return the citation of *section* in the programming guide."""
    return Citation(document=PROGRAMMING, section=section, url=f"{_ROOT}cuda-c-programming-guide/")


def cited(document: str, section: str, url: str) -> Citation:
    """Return the citation of a document without a short form here."""
    return Citation(document=document, section=section, url=url)


def xid_catalogue() -> tuple[Citation, ...]:
    """Return the citation of NVIDIA's catalogue of Xid errors."""
    url = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
    return (cited("NVIDIA Xid Errors", "Analyzing Xid Errors with the Xid Catalog", url),)


def recovery_flags() -> tuple[Citation, ...]:
    """Return the citation of what the driver's recovery actions mean."""
    url = "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/error-recovery-and-response-flags.html"
    return (cited("NVIDIA GPU Memory Error Management", "Error Recovery and Response Flags", url),)


def nvlink_checks(check: str) -> tuple[Citation, ...]:
    """Return the citation of a *check* that NVIDIA makes of NVLinks."""
    url = "https://docs.nvidia.com/health-validation/reference/checks/nvlink"
    return (cited("NVIDIA Health Validation", f"NVLink Checks, {check}", url),)


def dcgm_health() -> tuple[Citation, ...]:
    """Return the citation of what DCGM watches."""
    url = "https://docs.nvidia.com/datacenter/dcgm/latest/learn/modules/health-monitoring.html"
    return (cited("NVIDIA DCGM Documentation", "Health Monitoring", url),)


def power_manual() -> tuple[Citation, ...]:
    """Return the citation of what NVML says of power limits."""
    url = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"
    return (cited("NVML API Reference", "nvmlDeviceGetEnforcedPowerLimit", url),)


def pytorch_tuning_guide() -> tuple[Citation, ...]:
    """Return the citation of what PyTorch says of fast training."""
    return _pytorch("Performance Tuning Guide", "tutorials/recipes/recipes/tuning_guide.html")


def pytorch_cuda_notes() -> tuple[Citation, ...]:
    """Return the citation of what PyTorch says of how it uses GPUs."""
    return _pytorch("CUDA semantics", "docs/stable/notes/cuda.html")


def pytorch_faq() -> tuple[Citation, ...]:
    """Return the citation of what PyTorch says of memory that grows."""
    return _pytorch("Frequently Asked Questions", "docs/stable/notes/faq.html")


def pytorch_attention() -> tuple[Citation, ...]:
    """Return the citation of PyTorch's fused attention."""
    page = "docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html"
    return _pytorch("torch.nn.functional.scaled_dot_product_attention", page)


def pytorch_optimizers() -> tuple[Citation, ...]:
    """Return the citation of what PyTorch says of the forms of its optimisers."""
    return _pytorch("torch.optim", "docs/stable/optim.html")


def pytorch_distributions() -> tuple[Citation, ...]:
    """Return the citation of PyTorch's probability distributions."""
    return _pytorch("torch.distributions", "docs/stable/distributions.html")


def pytorch_distances() -> tuple[Citation, ...]:
    """Return the citation of PyTorch's distances between all pairs."""
    return _pytorch("torch.cdist", "docs/stable/generated/torch.cdist.html")


def pytorch_cross_entropy() -> tuple[Citation, ...]:
    """Return the citation of PyTorch's loss of class numbers."""
    page = "docs/stable/generated/torch.nn.functional.cross_entropy.html"
    return _pytorch("torch.nn.functional.cross_entropy", page)


def jax_donation() -> tuple[Citation, ...]:
    """Return the citation of what JAX says of arguments whose memory results may take."""
    url = "https://docs.jax.dev/en/latest/buffer_donation.html"
    return (cited("JAX documentation", "Buffer donation", url),)


def torchvision_operators() -> tuple[Citation, ...]:
    """Return the citation of torchvision's operators for detection."""
    url = "https://docs.pytorch.org/vision/stable/ops.html"
    return (cited("Torchvision documentation", "Operators", url),)


def cupy_performance() -> tuple[Citation, ...]:
    """Return the citation of what CuPy says of speed."""
    url = "https://docs.cupy.dev/en/stable/user_guide/performance.html"
    return (cited("CuPy documentation", "Performance Best Practices", url),)


def numba_memory() -> tuple[Citation, ...]:
    """Return the citation of what Numba says of memory of the GPU."""
    url = "https://numba.readthedocs.io/en/stable/cuda/memory.html"
    return (cited("Numba documentation", "CUDA: Memory management", url),)


def _pytorch(section: str, page: str) -> tuple[Citation, ...]:
    return (cited("PyTorch documentation", section, f"https://docs.pytorch.org/{page}"),)


ROOFLINE = cited(
    "Roofline: An Insightful Visual Performance Model",
    "Communications of the ACM 52(4), 2009",
    "https://doi.org/10.1145/1498765.1498785",
)
