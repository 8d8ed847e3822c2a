"""What a source file shows, as the observations that the rules of ``advise`` take."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.code import Observation

if TYPE_CHECKING:
    from gpuadvise.advisor.source.diagnostic import Diagnostic

# Names of files that are source code.
SUFFIXES = (".cu", ".cuh", ".py", ".ipynb")
# Names of C++ files that may hold device code, which their content says.
CPP_SUFFIXES = (".h", ".hpp", ".hxx", ".hh", ".inl", ".inc", ".cpp", ".cc", ".cxx")
# Names of files that are read as CUDA where somebody names them; of C and HIP no folder is searched for them.
CUDA_SUFFIXES = (".cu", ".cuh", *CPP_SUFFIXES, ".c", ".hip")
# Names of files that are something else, whatever code they quote.
OTHER_SUFFIXES = (
    ".csv", ".html", ".json", ".log", ".md", ".ptx", ".rst", ".sass", ".toml", ".txt",
    ".xml", ".yaml", ".yml",
)  # fmt: skip
_TESTS = (
    r"(?:^|/)(?:tests?|unittests?|testing)/|(?:^|/)(?:test_[^/]*|tests|bench[^/]*|smoke[^/]*|[^/]*_test|conftest)\.py$"
    r"|(?:^|/)bench(?:mark\w*|es)?/(?:[^/]+/)*[^/]+\.py$"
)
# What a project keeps and no longer uses.
_SET_ASIDE = r"(?:^|/)(?:graveyard|archived?|archieve|deprecated|obsolete|attic|unused|backups?)/(?:[^/]+/)*[^/]+\.(?:py|ipynb)$|_depr(?:ecated)?\.py$|\.ipynb_checkpoints/"
_TEST_PROGRAM = r"|(?:^|/)(?:test_[^/]*|[^/]*_tests?)\.(?:cu|cuh|cc|cpp|cxx)$"
_SPARED = re.compile(_TESTS + _TEST_PROGRAM + f"|(?i:{_SET_ASIDE})")
_RUNTIME_WORDS = (b"cudaM", b"Synchronize")
_RUNTIME = re.compile(rb"cuda(?:Malloc|Memcpy|Memset|(?:Device|Thread|Stream)Synchronize)\w*\s*\(")
_DEVICE_CODE = (b"__global__", b"__device__")


@lru_cache(256)  # each rule asks
def is_test_name(file: str) -> bool:
    """Whether the name of a *file* says that it tests or, of a Python file, measures other code, or is set aside."""
    return _SPARED.search(file.replace("\\", "/")) is not None


def holds_device_code(data: bytes) -> bool:
    """Whether *data*, the content of a C++ file, has functions for the GPU."""
    return any(words in data for words in _DEVICE_CODE)


def calls_runtime(data: bytes) -> bool:
    """Whether *data*, the content of a C++ file, copies, allocates or waits by CUDA's runtime."""
    return any(words in data for words in _RUNTIME_WORDS) and _RUNTIME.search(data) is not None


def observation_of(seen: Diagnostic) -> Observation:
    """Return *seen* as the rules of advise take it."""
    return Observation(
        fault=seen.rule,
        file=seen.file,
        line=seen.where.line,
        column=seen.where.column,
        seen=seen.seen,
        kernel=seen.kernel,
        detail=seen.detail,
        message=seen.message,
        action=seen.action,
        minor=seen.minor,
    )
