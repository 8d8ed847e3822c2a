"""The tables of a description that repeat: ``[[kernel.transfers]]`` and its like."""

from __future__ import annotations

from gpuadvise.advisor.description import lists
from gpuadvise.advisor.description import values as v
from gpuadvise.advisor.description.tables import Key, Table
from gpuadvise.advisor.facts import application as app
from gpuadvise.advisor.facts import timing
from gpuadvise.advisor.facts.access import Access, Space
from gpuadvise.advisor.facts.code import Observation
from gpuadvise.advisor.transfers.copies import Direction

COUNT = v.whole(1)

LISTS = {
    "observations": Table(
        Observation,
        {
            "fault": Key("fault", v.text),
            "file": Key("file", v.text),
            "line": Key("line", COUNT),
            "column": Key("column", COUNT),
            "seen": Key("seen", v.text),
            "kernel": Key("kernel", v.text),
            "detail": Key("detail", lists.text_table),
        },
    ),
    "transfers": Table(
        timing.Transfer,
        {
            "direction": Key("direction", v.word(Direction)),
            "bytes": Key("bytes", v.size),
            "memory": Key("memory", v.word(timing.HostMemory)),
            "time": Key("seconds", v.seconds),
            "count": Key("count", COUNT),
            "blocking": Key("blocking", v.flag),
        },
    ),
    "accesses": Table(
        Access,
        {
            "name": Key("name", v.text),
            "space": Key("space", v.word(Space)),
            "word": Key("word_bytes", v.whole(1, 4096)),
            "stride": Key("stride", v.whole(0, 2**24)),
            "offset": Key("offset_bytes", v.whole(0, 2**31 - 1)),
            "indices": Key("indices", lists.wholes),
            "row_bytes": Key("row_bytes", v.size),
            "alignment": Key("alignment", v.one_of(1, 2, 4, 8, 16)),
            "distinct": Key("distinct_addresses", v.whole(1, 32)),
            "local_2d": Key("local_2d", v.flag),
            "textured": Key("textured", v.flag),
        },
    ),
    "stages": Table(
        app.Stage,
        {
            "name": Key("name", v.text),
            "on": Key("place", v.word(app.Place)),
            "in": Key("input_bytes", v.size),
            "out": Key("output_bytes", v.size),
            "host_needed": Key("host_needed", v.flag),
            "time": Key("seconds", v.seconds),
            "device_time": Key("device_seconds", v.seconds),
        },
    ),
}
