"""What the fault of an unknown key proposes instead."""

from __future__ import annotations

from typing import Any

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.errors import BadInput


@pytest.mark.parametrize(
    ("kernel", "hint"),
    [
        ({"threads": 256}, "Did you mean block?"),
        ({"blocks": 100}, "Did you mean grid?"),
        ({"shared": 1024}, "Did you mean smem?"),
        ({"dynamic-shared-memory": 1024}, "Did you mean dynamic_smem?"),
        ({"time": "3ms"}, "It stands in traffic, work or profile."),
        ({"flops": 1e9}, "It stands in work."),
        ({"h2d": "3ms"}, "It stands in pipeline."),
        ({"blok": 256}, "Did you mean block?"),
        ({"traffic": {"seconds": 1}}, "Did you mean time?"),
        ({"traffic": {"rows": 1}}, "Keys: read, write, time and reported_rate."),
        ({"transfers": [{"direction": "d2d", "bytes": 1}]}, "Use h2d or d2h."),
    ],
)
def test_the_key_that_may_be_meant(kernel: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadInput) as fault:
        described({"gpu": "h200", **kernel}, from_catalogue)
    assert fault.value.hint == hint
