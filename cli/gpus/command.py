"""``gpuadvise gpus``: the catalogue's GPUs, listed, searched, compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from gpuadvise.advisor.catalogue import CatalogueEntry, without_uuids
from gpuadvise.cli import completion
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.gpus.request import chosen
from gpuadvise.cli.options import Cc
from gpuadvise.cli.parameters import argument

if TYPE_CHECKING:
    from collections.abc import Iterable


EXAMPLES = """\
  gpuadvise gpus hopper
  gpuadvise gpus h100 h200 rtx4090        # side by side
  gpuadvise gpus geforce --cc 8.9
  gpuadvise gpus sm_86 --format csv"""

# Columns that came later stand behind the older ones: scripts count columns.
_LAST_IN_ROWS = ("max_blocks_per_sm_in_clusters",)
_NOT_IN_ROWS = ("sources", "reasons", "peaks", "notes", *_LAST_IN_ROWS)


def command(
    query: Annotated[
        list[str] | None,
        argument(
            "[QUERY]...",
            "Names or words: h100, hopper, laptop, 9.0. None: all.",
            complete=completion.gpu_words,
        ),
    ] = None,
    cc: Cc = None,
) -> Answer:
    """List, search or compare the GPUs of the catalogue."""
    from gpuadvise.cli.gpus import text

    choice = chosen(query or [], cc)
    records = [_record(entry) for entry in choice.entries]
    return Answer(
        command="gpus",
        device=None,
        input={"query": [without_uuids(word) for word in query or []], "cc": cc},
        result={"devices": records},
        rows=_rows(records),
        blocks=lambda: text.blocks(choice),
        exit=Exit.RAN,
    )


def _record(entry: CatalogueEntry) -> dict[str, Any]:
    from gpuadvise.advisor.snapshot import device_record

    names = {"aliases": list(entry.aliases), "driver_names": list(entry.driver_names)}
    return {**device_record(entry.device), **names}


def _rows(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *records* flat: every row has a column for each peak that any of them has."""
    kinds = list(dict.fromkeys(kind for record in records for kind in record["peaks"]))
    return [
        {
            **{name: value for name, value in record.items() if name not in _NOT_IN_ROWS},
            **{f"peaks.{kind}": record["peaks"].get(kind) for kind in kinds},
            **{name: record[name] for name in _LAST_IN_ROWS},
        }
        for record in records
    ]
