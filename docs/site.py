"""Build the whole site into build/site: the pages of docs/, and the program for the page docs/browser.

    pip install . --group site && python docs/site.py

That page needs Python as WebAssembly (Pyodide), the grammar of CUDA and the wheel of this checkout.
They are fetched with npm and pip, each of a pinned version and checked by its hash, kept in
build/browser, and copied beside the page: a visitor's browser asks no other host. ``--runtime FOLDER``
puts only the page and what it needs there, without MkDocs.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "browser"
SITE = ROOT / "build" / "site"
FETCHED = ROOT / "build" / "browser"
REQUIREMENTS = PAGE / "requirements.txt"


class NpmPackage(NamedTuple):
    """A package of npm, the SHA-512 of its archive as npm writes it, and the files that are served."""

    name: str
    version: str
    sha512: str
    files: tuple[str, ...]
    licence: str
    source: str


NPM = (
    NpmPackage(
        "pyodide",
        "314.0.7",
        "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
        (
            "pyodide.mjs",
            "pyodide.asm.mjs",
            "pyodide.asm.wasm",
            "python_stdlib.zip",
            "pyodide-lock.json",
        ),
        "MPL-2.0; Python, which it holds: PSF-2.0",
        "https://github.com/pyodide/pyodide",
    ),
    NpmPackage(
        "web-tree-sitter",
        "0.27.1",
        "qtx0VyUyNRHtL3ze7+v0hCKB/sLcAmY7ZAVp/ZK/bCj0yED8ptvNrr7Vd7DwDyKDWN9baqcUx4uaD2r2ql+6IA==",
        ("web-tree-sitter.js", "web-tree-sitter.wasm"),
        "MIT",
        "https://github.com/tree-sitter/tree-sitter",
    ),
    NpmPackage(
        "tree-sitter-cuda",
        "0.21.1",
        "V8zI22cfiQyt0Q3v7KPkM4KVMPXqIgHrcbYCYvfFByLcM7PM6+mpzhRWGvUP4QgmwXkWHdcJoJcJC+ef6V9Z6A==",
        ("tree-sitter-cuda.wasm",),
        "MIT",
        "https://github.com/tree-sitter-grammars/tree-sitter-cuda",
    ),
)


def main() -> None:
    """Build the site, or only the page in the browser."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--runtime", type=Path, metavar="FOLDER", help="only the page in the browser"
    )
    folder: Path | None = parser.parse_args().runtime
    if folder is None:
        run(sys.executable, "-m", "mkdocs", "build", "--strict")
        run(sys.executable, "docs/gallery.py", SITE / "gallery")
        folder = SITE / "browser"
    else:
        copy_page(folder)
    copy_examples(folder / "examples")
    add_runtime(folder / "runtime")
    set_version(folder)
    print(f"{folder}: {size_of(folder) / 1e6:.1f} MB")


def run(*command: str | Path) -> str:
    """Run *command* in the checkout and return its stdout; a failure ends the build with its words."""
    # setuptools warns that a folder of data is no package.
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        sys.exit(
            f"{Path(command[0]).name} failed, code {ran.returncode}.\n{ran.stdout}{ran.stderr}"
        )
    return ran.stdout


def copy_page(folder: Path) -> None:
    """Copy the page's own files into *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(PAGE.iterdir()):
        if path != REQUIREMENTS:
            shutil.copyfile(path, folder / path.name)


def copy_examples(folder: Path) -> None:
    """Copy the recordings of ``gpuadvise demo``, which the page shows too."""
    folder.mkdir(exist_ok=True)
    for path in sorted((ROOT / "cli" / "demo").iterdir()):
        if path.is_file() and path.suffix != ".py":
            shutil.copyfile(path, folder / path.name)


def set_version(folder: Path) -> None:
    """Write into offline.js which files these are: browsers replace what they keep when it changes."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.read_bytes())
    script = folder / "offline.js"
    text = script.read_text(encoding="utf-8").replace("unversioned", digest.hexdigest()[:16])
    script.write_text(text, encoding="utf-8")


def add_runtime(folder: Path) -> None:
    """Put what the page loads into *folder*, and under which licences."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in NPM:
        extract(package, folder)
    licences = pack(wheels(), FETCHED / "packages.zip")
    divide(FETCHED / "packages.zip", folder)
    licences += [(f"{p.name} {p.version}", f"{p.licence}; {p.source}") for p in NPM]
    lines = [f"{name}: {licence}\n" for name, licence in sorted(licences)]
    text = "".join(["What this page runs, each under its licence, unchanged:\n\n", *lines])
    (folder / "LICENCES.txt").write_text(text, encoding="utf-8")


def extract(package: NpmPackage, folder: Path) -> None:
    """Fetch *package* unless that was done, check it, and copy what is served of it into *folder*."""
    archive = FETCHED / f"{package.name}-{package.version}.tgz"
    if not archive.exists():
        FETCHED.mkdir(parents=True, exist_ok=True)
        name = f"{package.name}@{package.version}"
        told = run("npm", "pack", name, "--json", "--loglevel=error", "--pack-destination", FETCHED)
        listed = json.loads(told)
        (packed,) = listed.values() if isinstance(listed, dict) else listed
        (FETCHED / packed["filename"]).replace(archive)
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != package.sha512:
        archive.unlink()
        sys.exit(
            f"{package.name} {package.version} is not what was pinned: its SHA-512 is {digest}"
        )
    with tarfile.open(archive) as tar:
        for name in package.files:
            member = tar.extractfile(f"package/{name}")
            assert member is not None, name
            (folder / name).write_bytes(member.read())


def wheels() -> list[Path]:
    """Return the wheels of this checkout and of what it needs, the latter checked by their hashes."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    own = FETCHED / "own"
    shutil.rmtree(own, ignore_errors=True)
    run(*pip, "wheel", "--no-deps", "--wheel-dir", own, ROOT)
    needed = FETCHED / "needed"
    shutil.rmtree(needed, ignore_errors=True)
    checked = ("--no-deps", "--require-hashes", "--only-binary", ":all:")
    run(*pip, "download", *checked, "--requirement", REQUIREMENTS, "--dest", needed)
    return sorted([*own.glob("*.whl"), *needed.glob("*.whl")])


def pack(paths: list[Path], target: Path) -> list[tuple[str, str]]:
    """Write the files of all wheels into one archive, always the same bytes; return their licences."""
    files: dict[str, bytes] = {}
    licences = []
    for path in paths:
        with zipfile.ZipFile(path) as wheel:
            names = [name for name in wheel.namelist() if ".data/" not in name]
            (described,) = (name for name in names if name.endswith(".dist-info/METADATA"))
            said = BytesParser().parsebytes(wheel.read(described))
            licence = said["License-Expression"] or said["License"] or "see its source"
            home = f"https://pypi.org/project/{said['Name']}/{said['Version']}/"
            licences.append((f"{said['Name']} {said['Version']}", f"{licence}; {home}"))
            files.update({name: wheel.read(name) for name in names})
    write_archive(target, files)
    return licences


def divide(packages: Path, folder: Path) -> None:
    """Write what the first answer needs of *packages*, the rest, and Python's memory after it, into *folder*."""
    parts = {name: FETCHED / name for name in ("first", "rest")}
    for part in parts.values():
        shutil.rmtree(part, ignore_errors=True)
    run("node", "docs/first_answer.mjs", folder, packages, *parts.values())
    for name, part in parts.items():
        files = {
            path.relative_to(part).as_posix(): path.read_bytes()
            for path in part.rglob("*")
            if path.is_file()
        }
        write_archive(folder / f"{name}.zip", files)


def write_archive(target: Path, files: dict[str, bytes]) -> None:
    """Write *files* into the archive *target*: always the same bytes for the same files."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)


def size_of(folder: Path) -> int:
    """Return the bytes of all files below *folder*."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
