"""Files that lie elsewhere, named by an address: read in ranges, or kept whole where their server has none.

An address with a password or a signature goes by a name without them, everywhere and from the
start; what is opened for that name is known here alone.
"""

from __future__ import annotations

import errno
import io
import os
import re
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gpuadvise.advisor.errors import BadInput, GpuAdviseError, Unavailable
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.advisor.quantity import show_bytes, show_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Result = TypeVar("Result")

# What is installed beside fsspec to read them.
_PACKAGES = {"http": "aiohttp", "https": "aiohttp", "s3": "s3fs", "gs": "gcsfs", "hf": "huggingface_hub"}  # fmt: skip
# Seconds for one request, of which the largest brings 8 MiB; each is made twice at most.
_REQUEST_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_TRIES = 2
# Bytes of a range: the first tells what a file is, and each that follows on it doubles.
_FIRST_RANGE = 1 << 16
_LARGEST_RANGE = 8 << 20
_LARGEST_KEPT = 8 << 30  # as of what comes through a pipe
_MOST_FILES = 200_000


class _Place(NamedTuple):
    """Where a name leads: the address itself, and its size in bytes where a listing told it."""

    address: str
    size: int | None = None


_VERSION = re.compile(r"(?:\.\d+)+$")

_places: dict[str, _Place] = {}
_given = False  # whether this process reads what another one located


def is_address(path: str) -> bool:
    """Return whether *path* goes by the name of a file of a server: ``s3://bucket/trace.json``.

    Only what was ``located`` does, in this process or in the one whose inputs it reads: no address
    that stands in a file, as in a project's settings, is ever asked.
    """
    return path in _places or (_given and may_be_address(path))


def may_be_address(path: str) -> bool:
    """Return whether *path* has the form of an address of a server that packages here read."""
    scheme, joint, rest = path.partition("://")
    return bool(joint and rest) and scheme in _PACKAGES


def located(paths: Iterable[str], suffixes: Sequence[str]) -> list[str]:
    """Return *paths* with the names of addresses in their places, those of a folder file by file.

    A folder ends in ``/`` or is one to its store, and ``*`` stands for any letters; of it the files that end in
    *suffixes* count, in order of their names, hidden ones never. Raises BadInput where there are
    none, Unavailable where a package is missing or the server does not answer.
    """
    return [name for path in paths for name in (_located(path, suffixes) if may_be_address(path) else [path])]  # fmt: skip


def remembered() -> Mapping[str, _Place]:
    """Return where names lead that are no addresses themselves, for another process to ``remember``."""
    return {name: place for name, place in _places.items() if place.address != name}


def remember(places: Mapping[str, _Place]) -> None:
    """Let names lead where they do in the process that ``remembered`` them, and others to themselves."""
    global _given
    _places.update(places)
    _given = True


def any_located() -> bool:
    """Return whether this process has located any address."""
    return bool(_places)


def known_size(name: str) -> int | None:
    """Return the bytes of the file that goes by *name*, where a listing told them."""
    place = _places.get(name)
    return place.size if place else None


def open_address(name: str) -> io.BufferedReader:
    """Return the file that goes by *name*, open; OSError says why it cannot be.

    Its bytes come in ranges as they are read, or all at once where the server has no ranges.
    """
    store, path = _store(_places[name].address if name in _places else name)
    file = _asked(lambda: store.open(path, "rb", cache_type="none"))
    if file.seekable() and file.size is not None:
        ranges = _Ranges(name, file, lambda: _kept_whole(store, path))
        return io.BufferedReader(ranges, _FIRST_RANGE)
    file.close()
    return _kept_whole(store, path)


def _located(address: str, suffixes: Sequence[str]) -> list[str]:
    if not ("*" in address or address.endswith("/") or _is_folder(address, suffixes)):
        return [_named(address)]
    name = _without_secrets(address)
    try:
        store, path = _store(address)
        listing = store.glob if "*" in path else store.find
        found = _asked(lambda: listing(path, detail=True))
    except FileNotFoundError:
        raise BadInput(f"{quoted(name)} cannot be listed: there is no such folder.") from None
    except OSError as error:
        raise Unavailable(f"{quoted(name)} cannot be listed: {error.strerror}.") from None
    files = {}
    for place, about in sorted(found.items()):
        last = _without_secrets(str(store.unstrip_protocol(place))).rpartition("/")[2]
        plain = _VERSION.sub("", last.lower())  # libx.so.12
        if (
            about.get("type", "file") == "file"
            and plain.endswith(tuple(suffixes))
            and last[:1] != "."
        ):
            files[str(store.unstrip_protocol(place))] = about.get("size")
    if not files:
        raise BadInput(
            f"There is no file to read in {quoted(name)}.",
            hint=f"Those that end in {and_list(list(suffixes), 'or')} count.",
        )
    if len(files) > _MOST_FILES:
        raise BadInput(f"{quoted(name)} holds more than {_MOST_FILES:,} files.")
    return [_named(file, size) for file, size in files.items()]


def _is_folder(address: str, suffixes: Sequence[str]) -> bool:
    """Return whether a store calls *address* a folder; a name that ends as files do is not asked for."""
    if address.startswith("http") or address.lower().endswith(tuple(suffixes)):
        return False
    with suppress(OSError):  # opening it says why
        store, path = _store(address)
        return bool(_asked(lambda: store.isdir(path)))
    return False


def named(path: str) -> str:
    """Return the name by which *path* goes, where it is an address of a file; else *path*."""
    return _named(path) if may_be_address(path) else path


def _named(address: str, size: int | None = None) -> str:
    """Return the name by which *address* goes from now on, unlike that of any other."""
    if address in _places:  # a name already
        return address
    base = name = _without_secrets(address)
    number = 1
    while name in _places and _places[name].address != address:
        number += 1
        name = f"{base}#{number}"
    _places[name] = _Place(address, size)
    return name


def _without_secrets(address: str) -> str:
    """Return *address* without user, password, signature and other parameters."""
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    if scheme in ("http", "https"):  # in a store ? and # are letters of a name
        path = path.partition("#")[0].partition("?")[0]
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _store(address: str) -> tuple[Any, str]:
    """Return the file system of *address*, and the path in it; raises Unavailable without its package."""
    scheme = address.partition("://")[0]
    package = _PACKAGES[scheme]
    from logging import NullHandler, getLogger

    try:
        from fsspec.core import url_to_fs

        import_module(package)
    except ImportError:
        raise Unavailable(
            f"{scheme}:// needs the packages fsspec and {package}.",
            hint=f"Install them: pip install fsspec {package}.",
        ) from None
    getLogger(package).addHandler(NullHandler())  # what it tells would stand among our lines
    asked: tuple[Any, str] = _asked(lambda: url_to_fs(address, **_options(scheme)))
    return asked


def _options(scheme: str) -> dict[str, Any]:
    """Return what bounds the requests of *scheme* itself; ``_asked`` bounds those of all."""
    if scheme in ("http", "https"):
        from aiohttp import ClientTimeout

        limits = ClientTimeout(None, sock_connect=_CONNECT_SECONDS, sock_read=_REQUEST_SECONDS)
        return {"client_kwargs": {"timeout": limits}}
    if scheme == "s3":
        from botocore.session import get_session

        return {
            "anon": get_session().get_credentials() is None,  # as for buckets of the public
            "config_kwargs": {
                "connect_timeout": _CONNECT_SECONDS,
                "read_timeout": _REQUEST_SECONDS,
                "retries": {"max_attempts": _TRIES},
            },
        }
    return {}


class _NoRangesError(Exception):
    """A server sends all of a file where a part was asked for."""


class _PassingError(OSError):
    """What may be over when a server is asked again."""


def _asked(ask: Callable[[], Result], tries: int = _TRIES) -> Result:
    """Return what *ask* does within the time of a request; OSError says what went wrong at the last try."""
    for left in reversed(range(tries)):
        try:
            return _in_time(ask)
        except (GpuAdviseError, _NoRangesError):
            raise
        except Exception as error:
            fault = _fault(error)
            if not left or not isinstance(fault, _PassingError):
                raise fault from None
    raise AssertionError


def _in_time(ask: Callable[[], Result]) -> Result:
    from threading import Thread

    done: list[Result | BaseException] = []

    def run() -> None:
        try:
            done.append(ask())
        except BaseException as error:
            done.append(error)

    thread = Thread(target=run, daemon=True)  # one that hangs does not keep the program
    thread.start()
    thread.join(_REQUEST_SECONDS)
    if not done:
        raise TimeoutError
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]


def _fault(error: BaseException) -> OSError:
    """Return what *error* says, without its text: addresses with signatures stand in there."""
    if isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        return _fault(error.__cause__)  # fsspec says so of whatever a server answers
    status = _status(error)
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if isinstance(error, PermissionError) or status in (401, 403):
        return PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if status:
        kind = OSError if 400 <= status < 500 else _PassingError
        return kind(errno.EIO, f"its server answered {status}")
    if isinstance(error, TimeoutError):
        seconds = show_seconds(_REQUEST_SECONDS)
        return _PassingError(errno.ETIMEDOUT, f"its server did not answer within {seconds}")
    why = f"its server could not be asked ({type(error).__name__})"
    return _PassingError(errno.EIO, why)


def _status(error: BaseException) -> int:
    """Return the status of HTTP in *error*, whoever raised it; 0 without one."""
    about = getattr(error, "response", None)
    of_boto = about.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(about, dict) else None  # fmt: skip
    candidates = (getattr(error, "status", None), of_boto, getattr(about, "status_code", None))
    return next((status for status in candidates if isinstance(status, int)), 0)


class _Ranges(io.RawIOBase):
    """A file of a server, of which a range is asked for where it is read."""

    def __init__(self, name: str, file: Any, whole: Callable[[], io.BufferedReader]) -> None:
        self.name = name
        self._file, self._size = file, file.size
        self._whole = whole
        self._kept: io.BufferedReader | None = None  # all of it, where there are no ranges
        self._at = 0
        self._range, self._range_at = b"", 0
        self._next = _FIRST_RANGE

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to *offset* and return it."""
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if origin + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = origin + offset
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """Read into *buffer*; return how many bytes, 0 at the end."""
        left = min(len(buffer), self._size - self._at)
        if left <= 0:
            return 0
        if not 0 <= self._at - self._range_at < len(self._range):
            try:
                self._ask(left)
            except OSError as error:  # some readers take an OSError for a broken file
                raise BadInput(f"{quoted(self.name)} cannot be read: {error.strerror}.") from None
        begin = self._at - self._range_at
        piece = self._range[begin : begin + left]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _ask(self, wanted: int) -> None:
        """Bring the range that begins here: larger where reading goes on, small where it jumps."""
        end = self._range_at + len(self._range)
        goes_on = bool(self._range) and end <= self._at <= end + self._next
        self._next = min(2 * self._next, _LARGEST_RANGE) if goes_on else _FIRST_RANGE
        size = min(max(self._next, wanted), _LARGEST_RANGE, self._size - self._at)
        self._range, self._range_at = self._bytes(self._at, size), self._at
        if len(self._range) != size:
            raise OSError(errno.EIO, "its server sent less than it promised")

    def _bytes(self, begin: int, size: int) -> bytes:
        if self._kept is None:
            try:
                return _asked(lambda: self._fetched(begin, begin + size))
            except _NoRangesError:
                self._kept = self._whole()
        self._kept.seek(begin)
        return self._kept.read(size)

    def _fetched(self, begin: int, end: int) -> bytes:
        try:
            return bytes(self._file.cache.fetcher(begin, end))
        except ValueError:
            raise _NoRangesError from None

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
            if self._kept is not None:
                self._kept.close()
        super().close()


def _kept_whole(store: Any, path: str) -> io.BufferedReader:
    """Return all of *path* in a temporary file, which goes with it."""
    from tempfile import TemporaryFile

    with TemporaryFile() as kept:
        for piece in _pieces(store, path):
            kept.write(piece)
            if kept.tell() > _LARGEST_KEPT:
                reason = (
                    f"its server has no ranges, and it is larger than {show_bytes(_LARGEST_KEPT)}"
                )
                raise OSError(errno.EFBIG, reason)
        kept.seek(0)
        return open(os.dup(kept.fileno()), "rb")


def _pieces(store: Any, path: str) -> Iterator[bytes]:
    """Yield the bytes of *path* front to back, as one answer."""
    with _asked(lambda: store.open(path, "rb", block_size=0)) as file:
        while piece := _asked(lambda: file.read(_LARGEST_RANGE), tries=1):
            yield piece
