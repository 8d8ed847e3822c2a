"""What the occupancy model answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.fault import LaunchFault
    from gpuadvise.advisor.occupancy.launch import Launch


class Resource(StrEnum):
    """What can limit the blocks of one multiprocessor, in the order of every answer."""

    WARPS = "warps"
    BLOCKS = "blocks"
    REGISTERS = "registers"
    SHARED_MEMORY = "shared_memory"
    BARRIERS = "barriers"


RESOURCES = tuple(Resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """Theoretical occupancy of one launch on one compute capability.

    ``block_limits`` are the blocks per SM that each of RESOURCES allows; ``None`` is no limit.
    Sizes are bytes and registers per block. No blocks means that the launch is impossible.
    """

    launch: Launch
    hardware: Limits
    blocks_per_sm: int
    block_limits: tuple[int | None, ...]
    registers_per_block: int | None  # allocated; None when the register count is not known
    shared_memory_per_block: int  # allocated, the reserve included
    carveout_bytes: int  # shared-memory capacity the SM is switched to

    @property
    def warps_per_block(self) -> int:
        """Warp slots of one block: a part of a warp takes a whole slot."""
        return -(-self.launch.threads // self.hardware.warp_size)

    @property
    def warps_per_sm(self) -> int:
        """Resident warps."""
        return self.blocks_per_sm * self.warps_per_block

    @property
    def threads_per_sm(self) -> int:
        """Resident threads; lanes that a block leaves empty are not counted."""
        return self.blocks_per_sm * self.launch.threads

    @property
    def occupancy(self) -> float:
        """Resident warps as a share of the most the SM can hold, 0 to 1."""
        return self.warps_per_sm / self.hardware.max_warps_per_sm

    @property
    def limits(self) -> dict[Resource, int | None]:
        """Blocks per SM that each resource allows."""
        return dict(zip(RESOURCES, self.block_limits, strict=True))

    @property
    def limiters(self) -> tuple[Resource, ...]:
        """Every resource whose limit is the answer: to win, all of them must give."""
        least = self.blocks_per_sm
        named = zip(RESOURCES, self.block_limits, strict=True)
        return tuple([name for name, most in named if most == least])

    @property
    def launchable(self) -> bool:
        """Whether one block can start at all."""
        return self.blocks_per_sm > 0

    @property
    def fault(self) -> LaunchFault | None:
        """The limit that an impossible launch breaks; worked out each time it is asked for."""
        if self.blocks_per_sm:
            return None
        from gpuadvise.advisor.occupancy.checks import first_fault  # most launches are possible

        return first_fault(self.hardware, self.launch)

    @property
    def reason(self) -> str | None:
        """Why nothing can start, in a sentence."""
        fault = self.fault
        return None if fault is None else fault.message

    @property
    def needs_optin(self) -> int | None:
        """Bytes that MaxDynamicSharedMemorySize must be raised to before this launch.

        ``None`` when the default suffices, the kernel's attribute is already set, or the
        launch is impossible anyway.
        """
        launch = self.launch
        if launch.shared_memory <= self.hardware.shared_memory_per_block or not self.launchable:
            return None
        return launch.dynamic_shared if launch.max_dynamic_shared is None else None

    @property
    def caveat(self) -> str | None:
        """What the driver may count and nobody publishes, in a sentence: an upper bound then."""
        if self.hardware.virtual_resources_per_sm is None or not self.launchable:
            return None
        return (
            "An upper bound: this compute capability also counts virtual resources, and no file "
            "says how many a kernel takes."
        )
