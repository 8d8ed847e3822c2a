"""Files of the user, opened with a sentence instead of a traceback."""

from __future__ import annotations

from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """Open *path* for reading; what the system refuses, then or later, becomes BadInput."""
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise BadInput(f"{quoted(path)} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:  # a name with a zero byte
        if "null" not in str(error):
            raise
        raise BadInput(f"{quoted(path)} is no usable file name.") from None
