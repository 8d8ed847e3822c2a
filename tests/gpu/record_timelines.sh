#!/usr/bin/env bash
# Record the timelines that the readers are tested with, on a GPU of capability 9.0.
#
#   record_timelines.sh OUT DEBS
#
# writes torch.tar, nsys.tar, jax.tar, driver.csv and log.txt to OUT. Each case is timed without a
# profiler, then recorded. DEBS holds the packages libdw1 and libelf1, which nsys needs and the
# toolkit does not bring. Nothing of the machine is left in the recordings (scrub.py).
set -uo pipefail
out=$(realpath "$1")
debs=$(realpath "$2")
here=$(cd "$(dirname "$0")/timelines" && pwd)
work=$(mktemp -d)
exec > >(tee "$out/log.txt") 2>&1
mkdir -p "$work"/{torch,nsys,stats,jax,kernels,clean/{torch,nsys,jax}}
say() { echo "[$SECONDS s] $*"; }

for deb in "$debs"/*.deb; do dpkg -x "$deb" "$work/system"; done
nsys=$(command -v nsys || ls -d /opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys | tail -1)
record() { # record NAME PROGRAM...: one Nsight Systems report of what the profiler range holds
  local name=$1
  shift
  LD_LIBRARY_PATH="$work/system/usr/lib/x86_64-linux-gnu:$work/system/lib/x86_64-linux-gnu:${LD_LIBRARY_PATH:-}" \
    timeout 60 "$nsys" profile --trace=cuda --sample=none --cpuctxsw=none --force-overwrite=true \
    $range --cuda-memory-usage=true $extra -o "$work/nsys/$name" "$@" >"$work/nsys/$name.log" 2>&1
  [ -f "$work/nsys/$name.nsys-rep" ] || { say "no report of $name"; tail -5 "$work/nsys/$name.log"; }
}

say "PyTorch"
cd "$here"
timeout 150 python3 torch_faults.py "$work/torch" $(python3 - <<'PY'
import re
names = re.findall(r"@case\ndef (\w+)", open("torch_faults.py").read())
print(*[name for name in names if name != "transformer_compiled"])
PY
)
timeout 120 python3 torch_faults.py "$work/torch" transformer_compiled

say "CUDA"
nvcc -O2 -std=c++17 -arch=sm_90 -o "$work/faults" faults.cu
cases="h2d_pageable h2d_pinned d2h_pageable d2h_pinned small_copies one_copy serial staged \
tiny_launches graph sync_each_step sync_once host_gaps host_beside alloc_in_loop alloc_once \
one_warp_blocks four_warp_blocks large_shared small_shared managed_faults managed_prefetched"
for name in $cases; do timeout 20 "$work/faults" "$name" 7; done >"$work/nsys/seconds.ndjson"
cat "$work/nsys/seconds.ndjson"
extra="" range="--capture-range=cudaProfilerApi --capture-range-end=stop"
record h2d_pageable "$work/faults" h2d_pageable
if [ ! -f "$work/nsys/h2d_pageable.nsys-rep" ]; then
  range=""
  say "recording whole programs instead of ranges"
  record h2d_pageable "$work/faults" h2d_pageable
fi
for name in $cases; do [ "$name" = h2d_pageable ] || record "$name" "$work/faults" "$name"; done
extra="--cuda-graph-trace=node"
record graph_nodes "$work/faults" graph
extra=""
for name in gemm_fp32 gemm_bf16; do record "torch_$name" python3 torch_faults.py capture "$name"; done
range=""
record whole_program "$work/faults" serial

say "exports"
export nsys work
export LD_LIBRARY_PATH="$work/system/usr/lib/x86_64-linux-gnu:$work/system/lib/x86_64-linux-gnu:${LD_LIBRARY_PATH:-}"
ls "$work"/nsys/*.nsys-rep | xargs -P 8 -I{} bash -c '
  name=$(basename {} .nsys-rep)
  "$nsys" export --type sqlite --force-overwrite=true -o "$work/nsys/$name.sqlite" {} >/dev/null 2>&1
  "$nsys" stats --force-export=false --format csv --output "$work/stats/$name" \
    --report cuda_gpu_kern_sum --report cuda_gpu_mem_time_sum --report cuda_gpu_mem_size_sum \
    --report cuda_api_sum "$work/nsys/$name.sqlite" >"$work/stats/$name.log" 2>&1'
ls "$work/stats" | wc -l

say "JAX"
XLA_PYTHON_CLIENT_PREALLOCATE=false timeout 120 python3 jax_faults.py "$work/jax"

say "scrub"
for kind in torch nsys jax; do
  python3 scrub.py "$work/$kind" "$work/clean/$kind"
  cp "$work/$kind/seconds.ndjson" "$work/clean/$kind/"
done
mkdir -p "$work/clean/nsys/stats"
cp "$work"/stats/*.csv "$work/clean/nsys/stats/"
for kind in torch nsys jax; do tar -C "$work/clean/$kind" -cJf "$out/$kind.tar.xz" .; done

say "occupancy by the driver"
timeout 120 python3 launch_shapes.py "$work/clean" "$work/kernels" >"$out/driver.csv"
python3 - >"$out/machine.json" <<'PY'
import json
import torch
import jax
from torch.cuda import get_device_properties as properties
device = properties(0)
print(json.dumps({"name": device.name, "sms": device.multi_processor_count, "torch": torch.__version__, "jax": jax.__version__}))
PY
rm -rf "$work"
ls -l "$out"
say "done"
