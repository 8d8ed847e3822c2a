"""The answers that the gallery shows (gallery.toml): the page's text, its pictures, and each answer as a page.

docs/generate.py takes the first two; ``python docs/gallery.py FOLDER`` writes the pages of the answers.
"""

from __future__ import annotations

import lzma
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCS = Path(__file__).parent
ROOT = DOCS.parent


class Answer(NamedTuple):
    """One command of the gallery, and what it is asked about.

    ``files`` are paths below the checkout, by the name that the command gives them; ``picture`` says what
    is seen on the one that ``--plot`` draws, and ``page`` tells how to read the answer.
    """

    name: str
    question: str
    command: str
    page: str
    files: Mapping[str, str] = {}
    picture: str | None = None

    def ask(self, *options: str) -> bytes:
        """Return what the command prints; raises CalledProcessError."""
        with tempfile.TemporaryDirectory() as folder:
            for name, path in self.files.items():
                data = (ROOT / path).read_bytes()
                plain = lzma.decompress(data) if path.endswith(".xz") else data
                Path(folder, name).write_bytes(plain)
            command = [sys.executable, "-m", "gpuadvise", *shlex.split(self.command), *options]
            asked = subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return asked.stdout


def answers() -> list[Answer]:
    """Return what the gallery shows, in its order."""
    table = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))
    return [Answer(**row) for row in table["answer"]]


def markdown() -> str:
    """Return the text of the gallery: each question, its command, its picture, and where the answer is."""
    lines = []
    for answer in answers():
        title = (DOCS / answer.page).read_text(encoding="utf-8").partition("\n")[0]
        title = title.removeprefix("# ").replace("`", "").partition(":")[0]
        picture = f"![{answer.picture}](pictures/{answer.name}.svg)"
        lines += [f"## {answer.question}", "", "```sh", f"gpuadvise {answer.command}", "```", ""]
        lines += [picture, ""] if answer.picture else []
        # In HTML, since MkDocs knows no page that docs/site.py writes.
        whole = f'<a href="{answer.name}.html">The answer as a page</a>'
        lines += [f"{whole}; how to read it: [{title}]({answer.page}).", ""]
    return "\n".join(["", *lines])


def pictures() -> dict[str, bytes]:
    """Return the pictures of the gallery by their file name."""
    drawn = {}
    for answer in answers():
        if answer.picture:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "picture.svg")
                answer.ask("--plot", str(path))
                drawn[f"{answer.name}.svg"] = path.read_bytes()
    return drawn


def main() -> None:
    """Write each answer as ``--format html`` has it into the folder that was given."""
    for answer in answers():
        Path(sys.argv[1], f"{answer.name}.html").write_bytes(answer.ask("--format", "html"))


if __name__ == "__main__":
    main()
