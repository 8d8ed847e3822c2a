"""docs/site.py: what it fetches is what was pinned, and the archive of the program is always the same bytes."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]


@pytest.fixture
def builder(tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_builder", ROOT / "docs" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.FETCHED = tmp_path / "fetched"
    module.FETCHED.mkdir()
    return module


def archive(folder: Path, files: dict[str, bytes]) -> str:
    """Write what npm would fetch, and return its SHA-512 as npm writes it."""
    path = folder / "thing-1.0.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


def test_only_what_was_pinned_is_served(builder: ModuleType, tmp_path: Path) -> None:
    digest = archive(builder.FETCHED, {"a.js": b"a", "b.js": b"b"})
    package = builder.NpmPackage("thing", "1.0", digest, ("a.js",), "MIT", "https://example.org")
    builder.extract(package, tmp_path)
    assert (tmp_path / "a.js").read_bytes() == b"a"
    assert not (tmp_path / "b.js").exists()
    with pytest.raises(SystemExit, match="is not what was pinned"):
        builder.extract(package._replace(sha512="other"), tmp_path)
    assert not list(builder.FETCHED.iterdir()), "it is fetched again, not kept"


def test_the_same_wheels_make_the_same_archive(builder: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("thing/__init__.py", "x = 1\n")
        made.writestr("thing-1.0.data/data/share/man.1", "page")
        made.writestr(
            "thing-1.0.dist-info/METADATA", "Name: thing\nVersion: 1.0\nLicense-Expression: MIT\n"
        )
    made_twice = []
    for name in ("one.zip", "two.zip"):
        (licence,) = builder.pack([wheel], tmp_path / name)
        assert licence[0] == "thing 1.0"
        assert licence[1].startswith("MIT; https://")
        made_twice.append((tmp_path / name).read_bytes())
    assert made_twice[0] == made_twice[1]
    assert "thing-1.0.data/data/share/man.1" not in zipfile.ZipFile(tmp_path / "one.zip").namelist()


def test_browsers_see_that_any_file_changed(builder: ModuleType, tmp_path: Path) -> None:
    versions = set()
    for data in (b"one", b"two", b"one"):
        folder = tmp_path / "page"
        builder.copy_page(folder)
        (folder / "first.zip").write_bytes(data)
        builder.set_version(folder)
        text = (folder / "offline.js").read_text(encoding="utf-8")
        versions.add(re.search(r'VERSION = "(\w{16})"', text)[1])  # type: ignore[index]
    assert len(versions) == 2


def test_the_page_keeps_each_file_that_it_loads_first() -> None:
    page = ROOT / "docs" / "browser"
    script = (page / "offline.js").read_text(encoding="utf-8")
    kept = set(re.findall(r'"([^"]+)"', script[script.index("FIRST = [") : script.index("];")]))
    own = {path.name for path in page.iterdir()} - {"index.html", "offline.js", "requirements.txt"}
    own -= {"open.html", "open.js"}  # which is of no use without a network
    assert {name for name in kept if "/" not in name} == own
    assert {"./", "runtime/first.zip", "runtime/rest.zip", "runtime/snapshot.bin"} <= kept


def test_no_pinned_package_is_another_than_the_pages_say() -> None:
    """Every requirement is pinned and has its hash."""
    lines = (ROOT / "docs" / "browser" / "requirements.txt").read_text().splitlines()
    for line in (line for line in lines if not line.startswith("#")):
        assert re.fullmatch(r"[\w-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line), line
