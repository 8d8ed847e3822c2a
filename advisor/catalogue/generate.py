"""Writes the JSON that the program reads from the TOML that people edit.

``python -m gpuadvise.advisor.catalogue.generate`` rewrites the files beside this one. Parsing
the TOML would cost some 25 ms at every start; the JSON is laid out so that a look-up parses a few
lines of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpuadvise.advisor.catalogue.names import key, short_keys
from gpuadvise.advisor.catalogue.sources import (
    limits_table,
    read_capabilities,
    read_documents,
    read_gpus,
    record_of,
    throughput_table,
)

_HERE = Path(__file__).parent


def generated() -> dict[str, str]:
    """Return the text of every generated file by its name."""
    records = read_capabilities()
    fields, rows = limits_table(records)
    limits = f'{{"fields":{_compact(fields)},\n"rows":{_lines(rows)}}}\n'
    documents = read_documents()
    gpus = [record_of(gpu, documents, records[gpu["compute_capability"]]) for gpu in read_gpus()]
    names = name_index(gpus)
    return {
        "limits.json": limits,
        "throughput.json": _lines(throughput_table(records)) + "\n",
        "names.json": _lines(names) + "\n",
        "gpus.json": _lines({gpu["id"]: _without_keys(gpu) for gpu in gpus}) + "\n",
    }


def _without_keys(gpu: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in gpu.items() if key not in ("id", "shared_names")}


def name_index(gpus: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the ids that each comparable name stands for, the surest kind of name first.

    An id or alias belongs to one GPU; a product, driver or shared name may be several's; a
    shortened name counts only where nothing longer claims it. Raises ValueError for a taken
    alias.
    """
    index: dict[str, list[str]] = {}
    for gpu in gpus:
        for own in {key(name) for name in (gpu["id"], *gpu["aliases"])}:
            if own in index:
                raise ValueError(f"{own} names both {index[own][0]} and {gpu['id']}")
            index[own] = [gpu["id"]]
    for tier in (_full_keys, _short_own_keys, _short_keys):
        claims: dict[str, list[str]] = {}
        for gpu in gpus:
            for name in tier(gpu) - index.keys():
                claims.setdefault(name, []).append(gpu["id"])
        index |= claims
    return dict(sorted(index.items()))


def _full_keys(gpu: dict[str, Any]) -> set[str]:
    return {key(name) for name in (gpu["name"], *gpu["driver_names"], *gpu["shared_names"])}


def _short_own_keys(gpu: dict[str, Any]) -> set[str]:
    return set().union(*(short_keys(name) for name in (gpu["id"], *gpu["aliases"])))


def _short_keys(gpu: dict[str, Any]) -> set[str]:
    names = (gpu["name"], *gpu["driver_names"])
    return set().union(*(short_keys(name) for name in names))


def _lines(table: dict[str, Any]) -> str:
    body = ",\n".join(f"{json.dumps(key)}:{_compact(value)}" for key, value in table.items())
    return f"{{\n{body}\n}}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def main(folder: Path = _HERE) -> None:
    """Write every generated file into *folder*."""
    for name, text in generated().items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
