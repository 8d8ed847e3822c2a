"""How CUDA source files are compiled."""

from __future__ import annotations

from dataclasses import dataclass

# Names of files that hold CUDA source.
SUFFIXES = (".cu", ".cuh")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerOptions:
    """How source files are compiled; *compiler* is "nvrtc" or "nvcc"."""

    compiler: str = "nvrtc"
    folders: tuple[str, ...] = ()  # -I
    defines: tuple[str, ...] = ()  # -D
    others: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """Return them as every compiler takes them."""
        folders = (f"-I{folder}" for folder in self.folders)
        return (*folders, *(f"-D{define}" for define in self.defines), *self.others)
