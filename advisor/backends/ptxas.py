"""ptxas, the assembler of a toolkit: from PTX to a cubin."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from gpuadvise.advisor.backends.nvrtc import CompileError
from gpuadvise.advisor.backends.temporary_folder import temporary_folder
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.prose import quoted_path

_SECONDS = 600
_TOO_NEW = "Unsupported .version"
# What a kernel says of its own registers, which a limit for the whole program does not change.
_BOUNDS = re.compile(rb"\.(?:minnctapersm|maxnreg)\s+\d+")
_BODY = re.compile(rb"\{")


def assemblers() -> list[str]:
    """Return where ptxas is: on PATH, then in NVIDIA's packages for Python, newest first."""
    import sysconfig

    packages = Path(sysconfig.get_path("platlib")) / "nvidia"
    on_path = shutil.which("ptxas")
    beside = sorted((str(path) for path in packages.glob("*/bin/ptxas")), reverse=True)
    return ([on_path] if on_path else []) + beside


def assembled(text: bytes, path: str, target: str, *, entry: str, cap: int | None) -> bytes:
    """Return PTX *text* as a cubin for *target*, *entry* with at most *cap* registers.

    Raises CompileError with what ptxas wrote, Unavailable when there is none.
    """
    programs = assemblers()
    if not programs:
        raise Unavailable(
            "What-if from PTX needs ptxas, and there is none here.",
            hint="pip install nvidia-cuda-nvcc, or put a toolkit's bin folder on PATH.",
        )
    source = text if cap is None else _capped(text, entry, cap)
    log = ""
    for program in programs:
        image, log = _run(program, source, target)
        if image is not None:
            return image
        if _TOO_NEW not in log:
            break
    hint = "The PTX is of a newer toolkit than ptxas." if _TOO_NEW in log else None
    raise CompileError(f"{quoted_path(path)} does not assemble for {target}.", log, hint=hint)


def _run(program: str, text: bytes, target: str) -> tuple[bytes | None, str]:
    """Return the cubin that *program* makes, None for none, and what it wrote."""
    with temporary_folder() as folder:
        source, image = os.path.join(folder, "program.ptx"), os.path.join(folder, "program.cubin")
        Path(source).write_bytes(text)
        try:
            done = subprocess.run(
                [program, f"-arch={target}", "-o", image, source],
                capture_output=True, timeout=_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"ptxas did not finish: {type(error).__name__}.") from None
        log = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
        made = not done.returncode and os.path.isfile(image)
        return Path(image).read_bytes() if made else None, log.replace(folder + os.sep, "")


def _capped(text: bytes, entry: str, cap: int) -> bytes:
    """Return *text* with a limit of *cap* registers on *entry*, in place of its own."""
    start = re.search(rb"\.entry\s+" + re.escape(entry.encode()) + rb"\s*[({\s]", text)
    body = _BODY.search(text, start.end() - 1) if start else None
    if start is None or body is None:
        return text
    head = _BOUNDS.sub(b"", text[start.start() : body.start()])
    return text[: start.start()] + head + b".maxnreg %d\n" % cap + text[body.start() :]
