"""Servers of files on loopback: HTTP with and without ranges, slow, refusing; S3 by moto."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 16


class FileServer:
    """What a server of the files below *folder* does, and what it was asked for."""

    def __init__(self, folder: Path, *, ranges: bool = True, secret: str = "") -> None:
        self.folder = folder
        self.ranges = ranges
        self.secret = secret  # what the query must be; empty: anything
        self.sent = 0  # bytes of files
        self.asked: list[str] = []
        self.delay = 0.0  # seconds before each answer
        self.status = HTTPStatus.OK  # answered instead of a file where it is another
        self.failures = 0  # how often
        self.address = ""


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, about: FileServer, *args, **kwargs) -> None:
        self.about = about
        super().__init__(*args, directory=str(about.folder), **kwargs)

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, *, with_content: bool) -> None:
        about = self.about
        place, _, query = self.path.partition("?")
        about.asked.append(f"{self.command} {place} {self.headers.get('Range', '')}".strip())
        time.sleep(about.delay)
        if about.status is not HTTPStatus.OK and about.failures:
            about.failures -= 1
            self.send_error(about.status)
            return
        if about.secret and query != about.secret:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        file = Path(self.translate_path(place))
        if not file.is_file():
            super().do_GET() if with_content else super().do_HEAD()
            return
        self._send(file, with_content=with_content)

    def _send(self, file: Path, *, with_content: bool) -> None:
        size = file.stat().st_size
        begin, end = 0, size
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted and self.about.ranges:
            begin, end = int(wanted[1]), min(int(wanted[2]) + 1, size)
            self.send_response(HTTPStatus.PARTIAL_CONTENT)
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        else:
            self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        if not with_content:
            return
        with file.open("rb") as content:
            content.seek(begin)
            while piece := content.read(min(_PIECE, end - content.tell())):
                self.wfile.write(piece)
                self.about.sent += len(piece)

    def log_message(self, *args: object) -> None:
        """Print nothing."""


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: object) -> None:
        """Print nothing of clients that hang up."""


@contextmanager
def http_server(folder: Path, *, ranges: bool = True, secret: str = "") -> Iterator[FileServer]:
    """Give a server of the files below *folder* on 127.0.0.1."""
    about = FileServer(folder, ranges=ranges, secret=secret)
    server = _Quiet(("127.0.0.1", 0), partial(_Handler, about))
    about.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield about
    server.shutdown()
    server.server_close()
    thread.join()
