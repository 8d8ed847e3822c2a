"""NVML: one session per process, one place where anything is asked, errors in words."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Query = Callable[[Any, Any], Any]

_lock = threading.Lock()
_owner: int | None = None  # the process that initialised the library; a fork starts anew

_WORDS = {
    "NOT_SUPPORTED": "this GPU or driver does not offer it",
    "INVALID_ARGUMENT": "this GPU or driver does not offer it (invalid argument)",
    "FUNCTION_NOT_FOUND": "the driver is too old for this question",
    "ARGUMENT_VERSION_MISMATCH": "the driver is too old for this question",
    "DEPRECATED": "the driver no longer answers this question",
    "NO_PERMISSION": "the user may not ask this; an administrator may",
    "NOT_FOUND": "there is none",
    "NO_DATA": "the driver has no reading yet",
    "NOT_READY": "the driver is not ready to answer",
    "TIMEOUT": "the driver did not answer in time",
    "GPU_IS_LOST": "the GPU has fallen off the bus; the machine must be restarted, "
    "and if it happens again the card, its seat or its power supply is at fault",
    "RESET_REQUIRED": "the GPU must be reset before it can be used again",
    "INSUFFICIENT_POWER": "the GPU's power cables are not connected",
    "IRQ_ISSUE": "the kernel reports an interrupt problem with this GPU",
    "CORRUPTED_INFOROM": "the GPU's own configuration store is corrupted",
    "LIBRARY_NOT_FOUND": "the driver's NVML library is not installed; inside a container, "
    "start it with the NVIDIA container toolkit and the utility capability",
    "DRIVER_NOT_LOADED": "the NVIDIA kernel driver is not loaded",
    "LIB_RM_VERSION_MISMATCH": "the NVML library and the loaded kernel driver have different "
    "versions: restart after a driver update, or restart the container",
    "UNKNOWN": "the driver answered Unknown Error; inside a container this often means that "
    "its access to the GPU was withdrawn while it ran: restart the container",
}


def library() -> Any:
    """Return the initialised ``pynvml`` module.

    Loads and initialises it once per process, also after a fork. Raises Unavailable with the
    reason in words.
    """
    global _owner
    import pynvml

    if hasattr(pynvml, "__path__"):  # nvidia-ml-py is one module, the old namesake a folder
        raise Unavailable(
            "the deprecated package pynvml hides nvidia-ml-py "
            "(pip uninstall pynvml; pip install --force-reinstall nvidia-ml-py)"
        )
    with _lock:
        if _owner != os.getpid():
            try:
                pynvml.nvmlInit()
            except pynvml.NVMLError as error:
                raise Unavailable(words(pynvml, error)) from None
            _owner = os.getpid()
    return pynvml


def words(nvml: Any, error: Exception) -> str:
    """Return why *error* happened, as the end of a sentence."""
    code = getattr(error, "value", None)
    for name, sentence in _WORDS.items():
        if code is not None and code == getattr(nvml, f"NVML_ERROR_{name}", None):
            return sentence
    if isinstance(error, AttributeError):
        return "the installed nvidia-ml-py is too old for this question"
    return f"NVML answered {error}" if code is not None else f"NVML's answer is unusable: {error}"


def ask(
    nvml: Any, handle: Any, queries: Mapping[str, Query]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the answers to *queries* by name, and for each that failed the reason in words.

    The only place where NVML is asked about a GPU: whatever one question does, the others
    are asked.
    """
    values: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name, query in queries.items():
        try:
            values[name] = query(nvml, handle)
        except (nvml.NVMLError, AttributeError, LookupError, ValueError, TypeError) as error:
            reasons[name] = words(nvml, error)
    return values, reasons
