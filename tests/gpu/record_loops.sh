#!/usr/bin/env bash
# Record loops, ranks, a JAX loop and a program marked by NVTX, on a GPU of capability 9.0.
#
#   record_loops.sh OUT DEBS [PART...]
#
# writes loops.tar and log.txt to OUT; PART is torch, ranks, jax or nvtx, all of them unless named.
# Each case is timed without a profiler, then recorded. DEBS holds the packages libdw1 and libelf1,
# which nsys needs and the toolkit does not bring. Nothing of the machine is left (scrub.py).
set -uo pipefail
out=$(realpath "$1")
debs=$(realpath "$2")
shift 2
parts=${*:-torch ranks jax nvtx}
here=$(cd "$(dirname "$0")/timelines" && pwd)
work=$(mktemp -d)
exec > >(tee "$out/log.txt") 2>&1
say() { echo "[$SECONDS s] $*"; }
cd "$here"
for part in $parts; do
  say "$part"
  case $part in
  torch) timeout 85 python3 torch_loops.py "$work/loops" ${LOOPS:-} ;;
  ranks)
    timeout 45 python3 torch_ranks.py "$work/ranks" nccl ||
      { say "NCCL did not run"; timeout 30 python3 torch_ranks.py "$work/ranks" gloo; } ;;
  jax) XLA_PYTHON_CLIENT_PREALLOCATE=false timeout 60 python3 jax_loops.py "$work/jax" ;;
  nvtx)
    mkdir -p "$work/nvtx/stats"
    for deb in "$debs"/*.deb; do dpkg -x "$deb" "$work/system"; done
    nsys=$(command -v nsys || ls -d /opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys | tail -1)
    nvcc -O2 -std=c++17 -arch=sm_90 -o "$work/nvtx_loop" nvtx_loop.cu -lpthread
    export LD_LIBRARY_PATH="$work/system/usr/lib/x86_64-linux-gnu:$work/system/lib/x86_64-linux-gnu:${LD_LIBRARY_PATH:-}"
    for name in before after; do
      "$work/nvtx_loop" $name 5 | tee -a "$work/nvtx/seconds.ndjson"
      timeout 40 "$nsys" profile --trace=cuda,nvtx,osrt --sample=none --cpuctxsw=none \
        --capture-range=cudaProfilerApi --capture-range-end=stop --force-overwrite=true \
        -o "$work/$name" "$work/nvtx_loop" $name >"$work/nsys.log" 2>&1 || tail -3 "$work/nsys.log"
      [ -f "$work/$name.nsys-rep" ] || { say "no report"; tail -5 "$work/nsys.log"; continue; }
      timeout 30 "$nsys" export --type sqlite --force-overwrite=true \
        -o "$work/nvtx/nvtx_loop_$name.sqlite" "$work/$name.nsys-rep" >/dev/null 2>&1
      for report in cuda_gpu_trace cuda_api_trace cuda_gpu_kern_sum nvtx_sum osrt_sum; do
        timeout 30 "$nsys" stats --format csv --report $report \
          --output "$work/nvtx/stats/nvtx_loop_$name" "$work/nvtx/nvtx_loop_$name.sqlite" >/dev/null 2>&1
      done
    done ;;
  esac
done
say "scrub"
mkdir -p "$work/clean"
find "$work" -maxdepth 3 -name "*.json" -o -maxdepth 3 -name "*.sqlite" -o -maxdepth 3 -name "*.pb" | head -60
for folder in loops jax nvtx ranks/uneven_ranks ranks/even_ranks ranks/ddp_ranks; do
  [ -d "$work/$folder" ] && python3 scrub.py "$work/$folder" "$work/clean/$folder"
done
for part in loops ranks jax nvtx; do
  [ -f "$work/$part/seconds.ndjson" ] && cp "$work/$part/seconds.ndjson" "$work/clean/$part/"
done
[ -d "$work/nvtx/stats" ] && cp -r "$work/nvtx/stats" "$work/clean/nvtx/"
tar -C "$work/clean" -cf "$out/loops.tar" .
find "$work/clean" -type f -size +150k -exec ls -l {} +
rm -rf "$work"
say "done"
