"""The answer of ``gpuadvise device``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from gpuadvise.api.answers.fields import (
    BYTES,
    BYTES_PER_SECOND,
    HERTZ,
    WATTS,
    AnswerDeclaration,
    ComputeCapability,
    Count,
    Keywords,
    May,
    NotNegative,
    Record,
    record,
)


@record
class DeviceMig(Record):
    """Mig, in the answer of ``device``."""

    parent_uuid: str | None
    """UUID of that GPU."""
    parent_name: str | None
    """GPU that the MIG slice is of."""
    gpu_instance: Count | None = None
    """Number of the GPU instance of a MIG slice."""
    compute_instance: Count | None = None
    """Number of the compute instance of a MIG slice."""
    gpu_slices: Count | None = None
    """GPU slices of a MIG device."""
    compute_slices: Count | None = None
    """Compute slices of a MIG device."""


@record
class DeviceProcess(Record):
    """Process, in the answer of ``device``."""

    pid: Count
    """Process number."""
    kind: Literal["compute", "graphics"]
    """What sort it is."""
    name: str | None
    """Its name."""
    memory_bytes: Annotated[Count, BYTES] | None
    """Device memory, bytes."""


@record
class DeviceTelemetry(Record):
    """Telemetry, in the answer of ``device``."""

    sm_clock_hz: Annotated[Count, HERTZ] | None
    """SM clock."""
    sm_clock_max_hz: Annotated[Count, HERTZ] | None
    """Highest SM clock."""
    memory_clock_hz: Annotated[Count, HERTZ] | None
    """Memory clock."""
    memory_clock_max_hz: Annotated[Count, HERTZ] | None
    """Highest memory clock."""
    performance_state: Count | None
    """Performance state: P0 is the fastest."""
    clock_event_reasons: tuple[str, ...] | None
    """Why the clocks are held back now."""
    power_watts: Annotated[NotNegative, WATTS] | None
    """Power now."""
    power_limit_watts: Annotated[NotNegative, WATTS] | None
    """Power limit."""
    temperature_celsius: int | None
    """Temperature of the GPU."""
    temperature_slowdown_celsius: Count | None
    """Temperature at which clocks fall."""
    temperature_shutdown_celsius: Count | None
    """Temperature at which the GPU switches off."""
    gpu_utilisation: NotNegative | None
    """Share of the time in which a kernel ran."""
    memory_utilisation: NotNegative | None
    """Share of the time in which memory was read or written."""
    memory_total_bytes: Annotated[Count, BYTES] | None
    """Device memory in all."""
    memory_used_bytes: Annotated[Count, BYTES] | None
    """Device memory in use."""
    memory_reserved_bytes: Annotated[Count, BYTES] | None
    """Device memory that the driver keeps."""
    memory_free_bytes: Annotated[Count, BYTES] | None
    """Device memory that is free."""
    pcie_generation: Count | None
    """PCI Express generation."""
    pcie_generation_max: Count | None
    """Highest PCI Express generation."""
    pcie_lanes: Count | None
    """PCI Express lanes."""
    pcie_lanes_max: Count | None
    """Most PCI Express lanes."""
    ecc_enabled: bool | None
    """Whether error correction is on."""
    ecc_enabled_after_reboot: bool | None
    """Whether it will be on after the next restart."""
    ecc_corrected: Count | None
    """Memory errors corrected so far."""
    ecc_uncorrected: Count | None
    """Memory errors that could not be corrected."""
    row_remap_pending: bool | None
    """Whether a broken row is replaced at the next reset."""
    row_remap_failed: bool | None
    """Whether a broken row of memory could not be replaced."""
    persistence_mode: bool | None
    """Whether the driver stays loaded without a user."""
    compute_mode: str | None
    """Whether several processes may use the GPU."""
    processes: tuple[DeviceProcess, ...] | None
    """Processes on the GPU."""
    reasons: Mapping[str, str]
    """Why what is unknown is unknown."""
    power_limit_default_watts: Annotated[NotNegative, WATTS] | None = None
    """Power limit as delivered."""
    power_limit_min_watts: Annotated[NotNegative, WATTS] | None = None
    """Lowest power limit that can be set."""
    power_limit_max_watts: Annotated[NotNegative, WATTS] | None = None
    """Highest power limit that can be set."""
    memory_temperature_celsius: Count | None = None
    """Temperature of the memory."""
    ecc_corrected_lifetime: Count | None = None
    """Memory errors corrected, ever."""
    ecc_uncorrected_lifetime: Count | None = None
    """Memory errors that could not be corrected, ever."""
    rows_remapped_corrected: Count | None = None
    """Rows of memory replaced after errors that were corrected."""
    rows_remapped_uncorrected: Count | None = None
    """Rows of memory replaced after errors that were not corrected."""
    pages_retired_single_bit: Count | None = None
    """Pages of memory retired after single-bit errors."""
    pages_retired_double_bit: Count | None = None
    """Pages of memory retired after double-bit errors."""
    page_retirement_pending: bool | None = None
    """Whether a page is retired at the next reset."""
    clock_limit_seconds: May[Mapping[str, NotNegative]] = None
    """How long each reason held the clocks back."""
    power_limit_requested_watts: Annotated[NotNegative, WATTS] | None = None
    """Power limit that an administrator set."""
    recovery_action: str | None = None
    """What the driver wants done before the GPU is used again: none, reset, reboot."""
    xids: tuple[Count, ...] | None = None
    """Error reports (Xid) of the driver."""


@record
class DeviceFeatures(Record):
    """What the CUDA driver lets programs use; sizes in bytes."""

    concurrent_kernels: bool | None
    """Whether kernels run beside each other."""
    host_memory_mapping: bool | None
    """Whether kernels can read host memory."""
    unified_addressing: bool | None
    """Whether host and GPU share one address space."""
    managed_memory: bool | None
    """Whether it has managed memory."""
    concurrent_managed_access: bool | None
    """Whether host and GPU may use managed memory at the same time."""
    pageable_memory_access: bool | None
    """Whether kernels can read pageable host memory."""
    cooperative_launch: bool | None
    """Whether a whole grid can wait for itself."""
    cluster_launch: bool | None
    """Whether blocks can be launched in clusters."""
    memory_pools: bool | None
    """Whether it has pools for stream-ordered allocation."""
    compute_preemption: bool | None
    """Whether a kernel can be interrupted."""
    stream_priorities: bool | None
    """Whether streams can have priorities."""
    gpu_direct_rdma: bool | None
    """Whether other devices can reach its memory directly."""
    kernel_timeout: bool | None
    """Whether a long kernel is stopped, for a display."""
    texture_alignment_bytes: Annotated[Count, BYTES] | None
    """Alignment of textures."""
    texture_pitch_alignment_bytes: Annotated[Count, BYTES] | None
    """Alignment of the rows of a texture."""
    surface_alignment_bytes: Annotated[Count, BYTES] | None
    """Alignment of surfaces."""
    max_pitch_bytes: Annotated[Count, BYTES] | None
    """Longest row of a pitched copy."""


@record
class DeviceNvlink(Record):
    """Nvlink, in the answer of ``device``."""

    number: Count
    """Its number."""
    up: bool
    """Whether it works."""
    bytes_per_second: NotNegative | None
    """Bytes per second."""
    to: Literal["gpu", "switch", "processor", None]
    """The value to set."""
    peer: Count | None
    """What is at the other end."""
    resting: May[bool] = None
    """Whether the link sleeps or carries no traffic on purpose."""
    replays: Count | None = None
    """Packets that the link sent again, since the driver was loaded."""
    recoveries: Count | None = None
    """Times that the link was trained anew, since the driver was loaded."""
    crc_errors: Count | None = None
    """Packets that arrived damaged, since the driver was loaded."""


@record
class DevicePeer(Record):
    """Peer, in the answer of ``device``."""

    index: Count
    """Number of the GPU."""
    path: str | None
    """How loads are cached: l1 or l2."""
    access: bool | None
    """Whether they read each other's memory."""
    atomics: bool | None
    """Whether they have atomic operations on each other's memory."""
    why_not: str | None
    """Why not."""


@record
class DeviceTopology(Record):
    """nvlinks.

    One entry per link, bytes_per_second in one direction. peers: the other GPUs by index; path as
    nvidia-smi topo -m writes it.
    """

    nvlinks: tuple[DeviceNvlink, ...] | None
    """One record per NVLink."""
    peers: tuple[DevicePeer, ...]
    """The other GPUs of the machine."""
    numa_node: Count | None
    """NUMA node it is near to."""
    cpu_affinity: str | None
    """Processors it is near to."""
    pcie_path: tuple[str, ...] | None
    """What lies between GPU and processor."""
    pcie_own_generation: Count | None
    """PCI Express generation of the GPU."""
    pcie_own_lanes: Count | None
    """PCI Express lanes of the GPU."""
    pcie_slot_generation: Count | None
    """PCI Express generation of the slot."""
    pcie_slot_lanes: Count | None
    """PCI Express lanes of the slot."""
    nvlink_bandwidth_mode: str | None = None
    """How many of their NVLinks GPUs may use: full, or what was set instead."""
    reasons: Mapping[str, str]
    """Why what is unknown is unknown."""


@record
class GpuRecord(Record):
    """Gpu record, in the answer of ``device``."""

    name: str
    """Its name."""
    compute_capability: ComputeCapability
    """Compute capability: 9.0."""
    capability_variant: Literal["", "a", "f"]
    """Chip of one capability that differs from the others."""
    origin: Literal["catalogue", "capability", "live", "snapshot"]
    """Where the facts come from: catalogue, capability, live, snapshot."""
    extrapolated: bool
    """Whether limits are those of the nearest known capability."""
    catalogue_id: str | None
    """Name in the catalogue; --gpu takes it."""
    product_class: str | None
    """data-centre, workstation, desktop, laptop, embedded."""
    architecture: str | None
    """Architecture: Hopper, Ada."""
    chip: str | None
    """Chip: GH100, AD102."""
    sm_count: Count | None
    """Streaming multiprocessors (SMs)."""
    sm_clock_hz: Annotated[NotNegative, HERTZ] | None
    """SM clock."""
    sm_clock_max_hz: Annotated[NotNegative, HERTZ] | None
    """Highest SM clock."""
    tensor_clock_hz: Annotated[NotNegative, HERTZ] | None
    """Clock that tensor peaks are stated for."""
    memory_type: str | None
    """Kind of memory: HBM3, GDDR6X."""
    memory_bytes: Annotated[Count, BYTES] | None
    """Device memory, bytes."""
    memory_bus_bits: Count | None
    """Width of the memory bus."""
    memory_clock_hz: Annotated[NotNegative, HERTZ] | None
    """Memory clock."""
    memory_data_rate: Count | None
    """Transfers per memory clock."""
    memory_bandwidth: Annotated[NotNegative, BYTES_PER_SECOND] | None
    """Theoretical bandwidth of device memory, bytes/s."""
    published_bandwidth: Annotated[NotNegative, BYTES_PER_SECOND] | None
    """Bandwidth that the maker publishes, bytes/s."""
    l2_bytes: Annotated[Count, BYTES] | None
    """L2 cache, bytes."""
    persisting_l2_bytes: Annotated[Count, BYTES] | None
    """L2 that can be set aside for data that stay."""
    async_engines: Count | None
    """Copy engines that work beside kernels (asyncEngineCount)."""
    integrated: bool | None
    """Whether the GPU shares the host's memory."""
    coherent_host_memory: bool | None
    """Whether the GPU reads the host's pages over a coherent link."""
    ecc: bool | None
    """Whether memory errors can be corrected."""
    pcie_generation: Count | None
    """PCI Express generation."""
    pcie_lanes: Count | None
    """PCI Express lanes."""
    nvlink_bandwidth: Annotated[NotNegative, BYTES_PER_SECOND] | None
    """NVLink, both ways together, bytes/s."""
    power_limit_watts: Annotated[NotNegative, WATTS] | None
    """Power limit."""
    peaks: Mapping[str, NotNegative]
    """Peaks by number type and unit, operations/s."""
    notes: tuple[str, ...]
    """Remarks."""
    sources: Mapping[str, str]
    """Where each number comes from."""
    reasons: Mapping[str, str]
    """Why what is unknown is unknown."""
    warp_size: Count
    """Threads of a warp."""
    max_threads_per_block: Count
    """Most threads per block."""
    max_block_dim: Annotated[tuple[Count, ...], Keywords(minItems=3, maxItems=3)]
    """Largest block dimensions."""
    max_grid_dim: Annotated[tuple[Count, ...], Keywords(minItems=3, maxItems=3)]
    """Largest grid dimensions."""
    max_warps_per_sm: Count
    """Most warps resident on an SM."""
    max_threads_per_sm: Count
    """Most threads resident on an SM."""
    max_blocks_per_sm: Count
    """Most blocks resident on an SM."""
    registers_per_sm: Count
    """Registers of an SM."""
    registers_per_block: Count
    """Registers of a block."""
    max_registers_per_thread: Count
    """Most registers per thread."""
    register_allocation: Literal["block", "warp"]
    """Whether registers are allocated by warp or by block."""
    register_allocation_unit: Count
    """Registers are handed out in units of this."""
    register_allocation_unit_special: Count | None
    """Another unit, for some counts."""
    register_allocation_unit_special_counts: tuple[Count, ...]
    """Register counts that take it."""
    register_subpartitions: Count
    """Parts that the registers of an SM are divided into."""
    warp_allocation_granularity: Count
    """Warps are placed in units of this."""
    shared_memory_per_sm: Annotated[Count, BYTES]
    """Shared memory of an SM, bytes."""
    shared_memory_per_block: Annotated[Count, BYTES]
    """Shared memory of a block, bytes."""
    shared_memory_per_block_optin: Annotated[Count, BYTES]
    """Most shared memory of a block that opts in, bytes."""
    shared_memory_reserved_per_block: Annotated[Count, BYTES]
    """Shared memory that the system keeps per block, bytes."""
    shared_memory_allocation_unit: Annotated[Count, BYTES]
    """Shared memory is handed out in units of this, bytes."""
    shared_memory_configs: tuple[Count, ...]
    """Splits that there are, bytes."""
    shared_memory_config_mode: Literal["fixed", "cache_config", "carveout"]
    """How the split of L1 and shared memory is chosen."""
    shared_memory_banks: Count
    """Banks of shared memory."""
    shared_memory_bank_width: Count
    """Bytes per bank and cycle."""
    warp_schedulers: Count
    """Warp schedulers of an SM."""
    arithmetic_latency_cycles: Count | None
    """Cycles until a dependent arithmetic instruction may start."""
    named_barriers_per_block: Count
    """Named barriers of a block."""
    barriers_per_sm: Count | None
    """Named barriers of an SM."""
    barrier_limit_applied: bool
    """Whether barriers limit the blocks of an SM."""
    max_cluster_size_portable: Count | None
    """Most blocks per cluster on any such GPU."""
    max_cluster_size_nonportable: Count | None
    """Most blocks per cluster where the launch opts in."""
    max_blocks_per_sm_in_clusters: Count | None = None
    """Most blocks resident on an SM of a launch with clusters."""
    partitioned_global_caching: bool
    """Whether caching of global loads costs blocks."""
    virtual_resources_per_sm: Count | None
    """Whether resources of an SM are virtual."""
    max_resident_grids: Count | None
    """Most grids that run at a time."""
    unified_l1_shared: Count | None
    """Whether L1 and shared memory are one memory."""
    l1_texture_cache: Annotated[Count, BYTES] | None
    """L1 and texture cache of an SM, bytes."""
    local_memory_per_thread: Annotated[Count, BYTES]
    """Most local memory of a thread, bytes."""
    constant_memory: Annotated[Count, BYTES]
    """Constant memory, bytes."""
    constant_cache_per_sm: Annotated[Count, BYTES]
    """Constant cache of an SM, bytes."""
    index: Count | None
    """Number of the GPU."""
    cuda_index: Count | None
    """Number that the CUDA runtime gives the GPU."""
    uuid: str | None
    """UUID of the GPU."""
    pci_bus_id: str | None
    """PCI address."""
    mig: DeviceMig | None
    """The MIG slice, null for a whole GPU."""
    telemetry: DeviceTelemetry | None
    """Clocks, power, heat and load now."""
    minor: Count | None = None
    """Number of the device file /dev/nvidiaN."""
    visible: bool | None = None
    """Whether programs of this environment see the GPU."""
    hidden_because: str | None = None
    """Why programs do not see it."""
    features: DeviceFeatures | None = None
    """What the GPU can do, as the driver says."""
    topology: DeviceTopology | None = None
    """How it is connected."""


@record
class DeviceResult(GpuRecord):
    """What ``device`` answers."""

    driver_version: str | None
    """Version of the driver."""
    cuda_version: str | None
    """Newest CUDA that the driver accepts."""
    problems: tuple[str, ...]
    """What could not be asked."""


@record
class MachineResult(Record):
    """What ``device`` answers."""

    devices: tuple[GpuRecord, ...]
    """One record per GPU."""
    driver_version: str | None
    """Version of the driver."""
    cuda_version: str | None
    """Newest CUDA that the driver accepts."""
    problems: tuple[str, ...]
    """What could not be asked."""
    notes: tuple[str, ...]
    """Remarks."""


DECLARATION = AnswerDeclaration(
    command="device",
    title="JSON answer of gpuadvise device",
    description="Base units: bytes, hertz, watts, bytes per second, shares from 0 to 1. null is not known; reasons says why. With --all, result holds a list of devices. A saved answer is what --from reads.",
    named={"gpu": GpuRecord, "telemetry": DeviceTelemetry},
    results=(
        DeviceResult,
        MachineResult,
    ),
)
