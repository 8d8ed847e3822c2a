"""Writes the JSON that the program reads from the TOML that people edit.

``python -m gpuadvise.advisor.catalogue.generate`` rewrites the files beside this one. Parsing
the TOML would cost some 25 ms at every start; the JSON is laid out so that a look-up parses a few
lines of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gpuadvise.advisor.catalogue.names import form_keys, key, short_keys
from gpuadvise.advisor.catalogue.sources import (
    limits_table,
    read_capabilities,
    read_clouds,
    read_documents,
    read_families,
    read_gpus,
    read_slices,
    record_of,
    throughput_table,
)

_HERE = Path(__file__).parent


def generated() -> dict[str, str]:
    """Return the text of every generated file by its name.

    Raises ValueError that names the entry for TOML that is not well made.
    """
    records = read_capabilities()
    fields, rows = limits_table(records)
    limits = f'{{"fields":{_compact(fields)},\n"rows":{_lines(rows)}}}\n'
    documents, families = read_documents(), read_families()
    gpus = [
        record_of(gpu, documents, records[gpu["compute_capability"]], families)
        for gpu in read_gpus()
    ]
    ids = {gpu["id"] for gpu in gpus}
    return {
        "limits.json": limits,
        "throughput.json": _lines(throughput_table(records)) + "\n",
        "names.json": _lines(name_index(gpus)) + "\n",
        "drivers.json": _lines(driver_index(gpus)) + "\n",
        "gpus.json": _lines({gpu["id"]: _without_keys(gpu) for gpu in gpus}) + "\n",
        "slices.json": _lines(slice_table(read_slices(), ids)) + "\n",
        "clouds.json": _lines(cloud_table(read_clouds(), ids)) + "\n",
    }


def _without_keys(gpu: dict[str, Any]) -> dict[str, Any]:
    index_only = ("id", "shared_names", "exact_names")
    return {key: value for key, value in gpu.items() if key not in index_only}


def name_index(gpus: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the ids that each comparable name stands for, the surest kind of name first.

    An id or alias belongs to one GPU; a product, driver or shared name may be several's; a
    shortened name counts only where nothing longer claims it. A name that counts letter by
    letter has ``=`` before it. Raises ValueError for a taken alias.
    """
    index: dict[str, list[str]] = {}
    for gpu in gpus:
        own_keys = {key(name) for name in (gpu["id"], *gpu["aliases"])}
        for own in own_keys | {f"={name}" for name in gpu["exact_names"]}:
            if own in index:
                raise ValueError(f"{own} names both {index[own][0]} and {gpu['id']}")
            index[own] = [gpu["id"]]
    for tier in (_full_keys, _short_own_keys, _short_keys, _form_keys):
        claims: dict[str, list[str]] = {}
        for gpu in gpus:
            for name in tier(gpu) - index.keys():
                claims.setdefault(name, []).append(gpu["id"])
        index |= claims
    return dict(sorted(index.items()))


def driver_index(gpus: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the ids of the GPUs that drivers call by each comparable name."""
    index: dict[str, list[str]] = {}
    for gpu in gpus:
        for name in dict.fromkeys(map(key, gpu["driver_names"])):
            index.setdefault(name, []).append(gpu["id"])
    return dict(sorted(index.items()))


def _full_keys(gpu: dict[str, Any]) -> set[str]:
    return {key(name) for name in (gpu["name"], *gpu["driver_names"], *gpu["shared_names"])}


def _short_own_keys(gpu: dict[str, Any]) -> set[str]:
    return set().union(*(short_keys(name) for name in (gpu["id"], *gpu["aliases"])))


def _short_keys(gpu: dict[str, Any]) -> set[str]:
    names = (gpu["name"], *gpu["driver_names"])
    return set().union(*(short_keys(name) for name in names))


def _form_keys(gpu: dict[str, Any]) -> set[str]:
    names = (gpu["id"], *gpu["aliases"], gpu["name"], *gpu["driver_names"])
    return set().union(*(form_keys(name) for name in names))


def slice_table(slices: list[dict[str, Any]], ids: set[str]) -> dict[str, dict[str, list[Any]]]:
    """Return the MIG profiles of each GPU: SMs, share of its memory, copy engines.

    Raises ValueError for a GPU that is not among *ids*.
    """
    table: dict[str, dict[str, list[Any]]] = {}
    for record in slices:
        for id in record["ids"]:
            _check_id(id, ids, "slices.toml")
            table[id] = {
                profile["name"]: [
                    profile.get("sms"),
                    profile["memory"] / record["memory_slices"],
                    profile.get("copy_engines"),
                ]
                for profile in record["profiles"]
            }
    return table


def cloud_table(clouds: list[dict[str, Any]], ids: set[str]) -> dict[str, list[str]]:
    """Return patterns of names of cloud machines, and the GPU of each of their groups.

    Raises ValueError for a GPU that is not among *ids*.
    """
    table: dict[str, list[str]] = {}
    for record in clouds:
        groups = [f"({family.replace('(', '(?:')})" for family in record["families"]]
        before, after = (record[part].replace("(", "(?:") for part in ("pattern", "size"))
        gpus = list(record["families"].values())
        for id in gpus:
            _check_id(id, ids, "clouds.toml")
        table[f"{before}(?:{'|'.join(groups)}){after}"] = gpus
    return table


def _check_id(id: str, ids: set[str], where: str) -> None:
    if id not in ids:
        raise ValueError(f"{where}: no GPU of the catalogue has the id {id}")


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
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
