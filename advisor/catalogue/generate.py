"""Writes the JSON that the program reads from the TOML that people edit.

``python -m gpuadvise.advisor.catalogue.generate`` rewrites the files beside this one. TOML of
this size costs more to parse than the whole start-up may; the JSON is laid out so that a look-up
parses a few lines of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpuadvise.advisor.catalogue.toml_capabilities import (
    limits_table,
    read_capabilities,
    throughput_table,
)

_HERE = Path(__file__).parent


def generated() -> dict[str, str]:
    """Return the text of every generated file by its name."""
    records = read_capabilities()
    fields, rows = limits_table(records)
    limits = f'{{"fields":{_compact(fields)},\n"rows":{_lines(rows)}}}\n'
    return {"limits.json": limits, "throughput.json": _lines(throughput_table(records)) + "\n"}


def _lines(table: dict[str, Any]) -> str:
    body = ",\n".join(f"{json.dumps(key)}:{_compact(value)}" for key, value in table.items())
    return f"{{\n{body}\n}}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def main() -> None:
    """Write every generated file."""
    for name, text in generated().items():
        (_HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
