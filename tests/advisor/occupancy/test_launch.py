"""What no launch can have is refused; everything else is a question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.launch import Launch


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"threads": 0}, "Threads per block must be from 1 to 2147483647, not 0."),
        ({"registers": 0}, "Registers per thread must be from 1 to 65536, not 0."),
        ({"registers": -1}, "Registers per thread must be from 1 to 65536, not -1."),
        ({"registers": 10**9}, "Registers per thread must be from 1 to 65536, not 1000000000."),
        ({"static_shared": -1}, "Static shared memory must be from 0 to 2147483647, not -1."),
        ({"dynamic_shared": -1}, "Dynamic shared memory must be from 0 to 2147483647, not -1."),
        ({"max_dynamic_shared": -1}, "The maximum of dynamic shared memory must be from 0"),
        ({"carveout": 101}, "The carveout must be from 0 to 100 per cent, not 101."),
        ({"barriers": -1}, "Named barriers must be from 0 to 2147483647, not -1."),
        ({"max_threads": 0}, "Threads of the launch bounds must be from 1"),
        ({"block_dim": (32, 0, 1)}, "The block's y dimension must be from 1"),
        ({"grid_dim": (1, 1, 0)}, "The grid's z dimension must be from 1"),
        ({"cluster_dim": (0, 1, 1)}, "The cluster's x dimension must be from 1"),
        ({"threads": 100, "block_dim": (8, 8, 1)}, "A block of 8x8x1 does not have 100 threads."),
        ({"max_dynamic_shared": 0, "optin": False}, "is itself an opt-in"),
    ],
)
def test_nonsense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as raised:
        Launch(**{"threads": 32, **fields})
    assert message in raised.value.message


@given(st.integers(-(10**20), 10**20), st.integers(-(10**20), 10**20))
def test_any_number_is_a_question_or_refused(threads: int, registers: int) -> None:
    try:
        launch = Launch(threads=threads, registers=registers)
    except BadInput as error:
        assert error.message.endswith(".")
    else:
        assert launch.threads > 0
        assert launch.registers is not None
        assert launch.registers > 0
