"""Python of notebooks, at the lines of the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.source.notebook import read_notebook


def notebook(*sources: str | list[str], **more: Any) -> dict[str, Any]:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["import this\n"]}]
    cells += [{"cell_type": "code", "metadata": {}, "outputs": [], "source": s} for s in sources]
    return {"cells": cells, "metadata": {}, "nbformat": 4, **more}


def written(*sources: str | list[str]) -> bytes:
    return json.dumps(notebook(*sources), indent=1).encode()


def test_each_line_stands_where_it_stands_in_the_file() -> None:
    data = written(["import torch\n", "x = 1"], ["x = 1\n", "\n", "print(x)"])
    read = read_notebook(data, "n.ipynb")
    lines, code = data.decode().splitlines(), read.code.decode().splitlines()
    for number, (cell, within) in read.cells.items():
        assert (
            json.loads(lines[number - 1].strip().removesuffix(",")).rstrip("\n") == code[number - 1]
        )
        assert (cell, within) in {(1, 1), (1, 2), (2, 1), (2, 2), (2, 3)}
    assert len(read.cells) == 5


def test_a_notebook_on_one_line_keeps_cells_and_their_lines() -> None:
    read = read_notebook(json.dumps(notebook("a = 1\nb = 2", ["c = 3"])).encode(), "n.ipynb")
    assert read.code == b"a = 1\nb = 2\nc = 3\n"
    assert read.cells == {1: (1, 1), 2: (1, 2), 3: (2, 1)}


def test_magic_lines_are_no_python() -> None:
    cell = ["%matplotlib inline\n", "if x:\n", "    !nvidia-smi\n", "torch.add?\n", "y = a % b\n"]
    assert compile(read_notebook(written(cell), "n").code, "n", "exec")
    assert b"y = a % b" in read_notebook(written(cell), "n").code


def test_cells_of_other_languages_are_left_out() -> None:
    read = read_notebook(written("%%bash\nls\n", "%%time\nz = 1\n"), "n")
    assert b"ls" not in read.code
    assert b"z = 1" in read.code


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [{"cell_type": "code"}]}', b"\xff\xfe"],
)
def test_what_is_no_notebook_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput, match="not a notebook"):
        read_notebook(content, "n.ipynb")


@given(st.lists(st.text(alphabet='ab"\n\\%!? {', max_size=30), max_size=5), st.booleans())
def test_any_cells_are_read(sources: list[str], indented: bool) -> None:
    data = json.dumps(notebook(*sources), indent=1 if indented else None).encode()
    read = read_notebook(data, "n.ipynb")
    assert len(read.cells) == sum(len(source.splitlines()) for source in sources)
