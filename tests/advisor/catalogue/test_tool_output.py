"""The GPUs that pasted text names: found as written, or refused with a sentence that helps."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.catalogue import find, named_gpus
from gpuadvise.advisor.catalogue.names import NamedGpu, without_uuids
from gpuadvise.advisor.catalogue.tool_output import gpus_in
from gpuadvise.advisor.errors import BadInput

HERE = Path(__file__).parent
TEXTS = tomllib.loads((HERE / "texts_that_name_gpus.toml").read_text(encoding="utf-8"))
KERNEL_MODULES = tomllib.loads((HERE / "kernel_module_names.toml").read_text(encoding="utf-8"))
GIB, MIB = 2**30, 2**20
UUID = "GPU-deadbeef-dead-beef-dead-beefdeadbeef"
TORCH = (
    "_CudaDeviceProperties(name='{}', major=9, minor=0, total_memory={}MB, "
    "multi_processor_count={}, uuid=deadbeef-dead-beef-dead-beefdeadbeef, L2_cache_size=50MB)"
)


def _found(text: str) -> str:
    try:
        device = find(text)
    except BadInput as error:
        assert "beef" not in f"{error.message} {error.hint}"
        return ""
    return device.id or device.name


def test_every_text_means_what_was_checked_by_hand() -> None:
    assert len(TEXTS) >= 700
    assert {text: _found(text) for text in TEXTS} == TEXTS


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "  {}\n",
        "GPU 0: {} (UUID: " + UUID + ")",
        "GPU 0: {0} (UUID: " + UUID + ")\nGPU 1: {0} (UUID: " + UUID + ")",
        "name\n{}",
        "index, name, uuid\n0, {}, " + UUID,
        "'{}'",
        "b'{}'",
        'Device 0: "{}"',
        "  Device 0: {}, compute capability 8.6, VMM: yes",
        "|   0  {}          On  | 00000000:1B:00.0 Off |                    0 |",
        "Product Name                          : {}",
        "device: 0, name: {}, pci bus id: 0000:00:04.0, compute capability: 8.0",
        "{}/PCIe/SSE2",
        "deviceName     = {}",
        "ANGLE (NVIDIA, {} (0x00002504) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "8 x {}",
        "[0] {} | 42'C,   0 % |     1 / 24564 MB |",
    ],
)
def test_a_driver_name_is_found_in_what_tools_print(form: str) -> None:
    wrong = {
        name: found
        for name, id in KERNEL_MODULES.items()
        if (found := _found(form.format(name))) != id
    }
    assert wrong == {}


def test_a_label_of_a_node_is_the_driver_name_with_dashes() -> None:
    for name, id in KERNEL_MODULES.items():
        label = "nvidia.com/gpu.product=" + name.replace(" ", "-")
        if not name.endswith("Super"):  # counts letter by letter
            assert _found(label) == id, label


def test_what_a_tool_says_beside_the_name_is_kept() -> None:
    text = TORCH.format("NVIDIA H100 80GB HBM3", 81079, 132)
    assert gpus_in(text) == (
        NamedGpu("NVIDIA H100 80GB HBM3", sm_count=132, memory_bytes=81079 * MIB),
    )
    assert gpus_in("01:00.0 VGA: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)") == (
        NamedGpu("GeForce RTX 3090", chip="GA102"),
    )
    assert gpus_in("NVIDIA GeForce RTX 3060, 8192 MiB") == (
        NamedGpu("NVIDIA GeForce RTX 3060", memory_bytes=8 * GIB),
    )
    rows = "name, memory.total [MiB]\nTesla T4, 15360 MiB\nNVIDIA L4, 23034 MiB"
    assert [each.name for each in gpus_in(rows)] == ["Tesla T4", "NVIDIA L4"]


def test_memory_and_sm_count_tell_modules_of_one_name_apart() -> None:
    assert find(TORCH.format("Orin", 15657, 8)).id == "jetson-orin-nx-16"
    assert find(TORCH.format("Orin", 62841, 16)).id == "jetson-agx-orin-64"
    with pytest.raises(BadInput, match=r"can be jetson-orin-nano-8, .* or jetson-orin-nx-8"):
        find(TORCH.format("Orin", 7620, 8))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            TORCH.format("NVIDIA A100-SXM4-40GB", 4864, 14),
            'The catalogue has no "NVIDIA A100-SXM4-40GB" with 14 SMs and 4,864 MiB.',
            "It has a100-sxm4-40 (GA100). A MIG slice is named after its GPU, as h100 1g.10gb.",
        ),
        (
            "GA104 [GeForce RTX 3060]",
            'The catalogue has no "GeForce RTX 3060" with the chip GA104.',
            "It has rtx-3060 (GA106).",
        ),
        (
            "h100,a100",
            '"h100, a100" names 2 GPUs, h100-sxm and a100-sxm4-80, where one is accepted.',
            "Name one of them; gpuadvise gpus compares several.",
        ),
        (
            f"GPU 0: Tesla T4 (UUID: {UUID})\nGPU 1: NVIDIA L4 (UUID: {UUID})",
            '"Tesla T4, NVIDIA L4" names 2 GPUs, t4 and l4, where one is accepted.',
            "Name one of them; gpuadvise gpus compares several.",
        ),
        (
            "CudaDevice(id=0)",
            '"CudaDevice(id=0)" says which GPU of a machine it is, not what it is called.',
            "torch.cuda.get_device_name(0), jax.devices()[0].device_kind and nvidia-smi -L name it.",
        ),
        (
            "10de:2204",
            '"10de:2204" is the PCI id of a device; the catalogue goes by names.',
            "lspci and nvidia-smi -L print the name.",
        ),
        (
            "Tesla V100-SXM2...",
            '"Tesla V100-SXM2..." is cut short.',
            "nvidia-smi -L prints the whole name.",
        ),
        (
            "GRID T4-16Q",
            '"GRID T4-16Q" is a vGPU, a share of a GPU.',
            "Name the GPU itself: of its shares the catalogue knows the MIG slices alone.",
        ),
        (
            "Standard_NV36ads_A10_v5",
            '"Standard_NV36ads_A10_v5" has a part of a GPU.',
            "Name the GPU itself: of its shares the catalogue knows the MIG slices alone.",
        ),
        (
            "AMD Radeon RX 7900 XTX",
            '"AMD Radeon RX 7900 XTX" is no GPU of NVIDIA\'s.',
            "The catalogue has NVIDIA's GPUs alone.",
        ),
        (
            "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb",
            '"NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb" is a compute instance, a part of a slice.',
            "Name the slice: 3g.20gb.",
        ),
    ],
)
def test_what_names_no_single_gpu_is_refused_with_a_reason(
    text: str, message: str, hint: str
) -> None:
    with pytest.raises(BadInput) as error:
        find(text)
    assert (error.value.message, error.value.hint) == (message, hint)


def test_the_slices_of_a_listing_stand_for_their_gpu() -> None:
    listing = f"GPU 0: NVIDIA A30 (UUID: {UUID})\n  MIG 2g.12gb     Device  0: (UUID: MIG-0)\n"
    assert find(listing).name == "NVIDIA A30 PCIe MIG 2g.12gb"
    both = listing + "  MIG 1g.6gb      Device  1: (UUID: MIG-1)\n"
    assert [each.name for each in gpus_in(both)] == [
        "NVIDIA A30 MIG 2g.12gb",
        "NVIDIA A30 MIG 1g.6gb",
    ]
    assert gpus_in("  MIG 1g.6gb      Device  1: (UUID: MIG-1)")[0].name == "MIG 1g.6gb"


def test_a_size_after_a_comma_belongs_to_the_name() -> None:
    assert find("A100, 40GB").id == "a100-sxm4-40"
    assert find("RTX 3060, 8 GB").id == "rtx-3060-8gb"
    assert find("V100, 32").id == "v100-sxm2-32"


def test_the_header_of_a_query_says_which_memory_is_meant() -> None:
    used = "name, memory.used [MiB]\nNVIDIA GeForce RTX 3060, 512 MiB"
    assert gpus_in(used) == (NamedGpu("NVIDIA GeForce RTX 3060"),)
    both = "memory.used [MiB], memory.total [MiB], name\n512 MiB, 8192 MiB, NVIDIA GeForce RTX 3060"
    assert find(both).id == "rtx-3060-8gb"
    assert find("name, memory.total [MiB]\nTesla T4").id == "t4"
    assert gpus_in("NVIDIA GeForce RTX 3060, 512 MiB, 8192 MiB")[0].memory_bytes is None


SMI = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA A100-SXM4-40GB          On  | 00000000:07:00.0 Off |                    0 |
| N/A   34C    P0              61W / 400W |      0MiB / 40960MiB |      0%      Default |
|                                         |                      |             Disabled |
+-----------------------------------------+----------------------+----------------------+
|   1  Tesla T4                       Off | 00000000:0F:00.0 Off |                    0 |
| N/A   33C    P8               9W /  70W |      0MiB / 15360MiB |      0%      Default |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+
| Processes:                                                                            |
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|    0   N/A  N/A      1234      C   python                                       N/A   |
+---------------------------------------------------------------------------------------+
"""
LSPCI = """\
01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)
01:00.1 Audio device: NVIDIA Corporation GA102 High Definition Audio Controller (rev a1)
"""
DEVICE_QUERY = """\
./deviceQuery Starting...

 CUDA Device Query (Runtime API) version (CUDART static linking)

Detected 1 CUDA Capable device(s)

Device 0: "NVIDIA H100 PCIe"
  CUDA Driver Version / Runtime Version          12.2 / 12.2
  CUDA Capability Major/Minor version number:    9.0
  (114) Multiprocessors, (128) CUDA Cores/MP:    14592 CUDA Cores
  Maximum Texture Dimension Size (x,y,z)         1D=(131072), 2D=(131072, 65536)
  Device PCI Domain ID / Bus ID / location ID:   0 / 1 / 0
  Compute Mode:
     < Default (multiple host threads can use ::cudaSetDevice() with device simultaneously) >
Result = PASS
"""


@pytest.mark.parametrize(
    ("screen", "names"),
    [
        (SMI, ["NVIDIA A100-SXM4-40GB", "Tesla T4"]),
        (LSPCI, ["GeForce RTX 3090"]),
        (DEVICE_QUERY, ["NVIDIA H100 PCIe"]),
        ("h100\nTesla T4\nGPU 0: NVIDIA L4", ["h100", "Tesla T4", "NVIDIA L4"]),
        ("h100\nnonsense", ["h100", "nonsense"]),
    ],
)
def test_of_a_whole_screen_the_names_are_taken(screen: str, names: list[str]) -> None:
    assert [each.name for each in gpus_in(screen)] == names


def test_the_x_of_a_name_counts_nothing() -> None:
    assert find("GTX Titan X").id == "gtx-titan-x"
    assert _found("GTX Titan X 12") in ("", "gtx-titan-x")
    with pytest.raises(BadInput, match="can be jetson-tx2 or jetson-tx2-nx"):
        find("Tegra X2")


def test_text_that_nobody_pastes_is_one_name() -> None:
    for text in ("x, " * 5000, "h100, " * 100, "", ","):
        assert gpus_in(text) == (NamedGpu(text),)
    assert named_gpus("h100") == (NamedGpu("h100"),)


@given(st.lists(st.sampled_from(sorted(TEXTS)) | st.text(max_size=40), max_size=4))
def test_no_text_breaks_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    for named in gpus_in(text):
        assert "(UUID" not in named.name or named.name == text
    _found(text)


def test_uuids_are_left_out() -> None:
    text = f"GPU 0: Tesla T4 (UUID: {UUID}) MIG-deadbeef-dead-beef-dead-beefdeadbeef"
    assert without_uuids(text) == "GPU 0: Tesla T4 (UUID: GPU-***) MIG-***"
    assert "beef" not in without_uuids(TORCH.format("Tesla T4", 15102, 40))
    assert without_uuids("rtx-4090") == "rtx-4090"
