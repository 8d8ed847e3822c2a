#!/usr/bin/env bash
# Record the truth corpus on one GPU: bash tests/truth/record.sh OUTPUT_FOLDER [SECONDS]
# Builds the samples, times every pair, then profiles one launch of each kernel with
# `ncu --set full`. Needs nvcc, ncu and a python3 with PyTorch, Triton, CuPy and JAX; whatever
# is not there, fails or takes too long costs its own group only. Keeps to SECONDS in all (540).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:?output folder}" && cd "$1" && pwd)
deadline=${2:-540}
packing=45   # seconds kept back for the pages and for packing
work=$(mktemp -d)
recorded=$work/recorded
mkdir -p "$recorded" "$work/objects"
export TORCHINDUCTOR_COMPILE_THREADS=1 TORCHINDUCTOR_CACHE_DIR=$work/inductor TRITON_CACHE_DIR=$work/triton
export XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONUNBUFFERED=1 PYTHONPATH=$here/library

say() { printf '[%3d s] %s\n' "$SECONDS" "$*"; }
left() { echo $((deadline - packing - SECONDS)); }
# cases_of PATTERN...: the cases that the matching sources register, the patterns quoted.
# shellcheck disable=SC2068
cases_of() { (cd "$here" && sed -n 's/^CASE(\([a-z0-9_]*\)).*/\1/p' $@); }

# compile SOURCE: one object per file, so that a file that does not compile costs its own cases.
compile() {
    local source=$1
    timeout 200 nvcc -std=c++17 -O3 -lineinfo -arch=native -Xptxas -v -c "$here/$source" \
        -o "$work/objects/$(basename "$source" .cu).o" > "$work/objects/$(basename "$source").log" 2>&1 ||
        { echo "does not compile: $source"; tail -n 5 "$work/objects/$(basename "$source").log"; }
}

# profile GROUP SECONDS PROGRAM...: one report, its log and, later, its two pages.
profile() {
    local group=$1 limit=$2
    shift 2
    (( limit > $(left) )) && limit=$(left)
    if (( limit < 15 )); then say "no time left for $group"; return; fi
    timeout -s INT -k 10 $((limit + 25)) ncu --clock-control none --set full --profile-from-start off \
        --force-overwrite -o "$recorded/$group" "${@//SECONDS/$limit}" > "$recorded/$group.log" 2>&1
    local status=$?
    say "$group: $(grep -c '==PROF== Profiling' "$recorded/$group.log") launches, exit status $status"
    grep -E '^(failed|time is up)|==ERROR==' "$recorded/$group.log" | cut -c1-200 | head -n 12
    [ -f "$recorded/$group.ncu-rep" ] || { tail -n 5 "$recorded/$group.log"; return; }
    for page in raw details; do
        timeout 100 ncu --import "$recorded/$group.ncu-rep" --csv --page $page > "$recorded/$group.$page.csv" 2> /dev/null &
        exporters+=($!)
    done
}
exporters=()
say_versions() {
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    ncu --version | tail -n 2
    nvcc --version | tail -n 2
    python3 -c 'import torch, triton, cupy, jax; print(torch.__version__, triton.__version__, cupy.__version__, jax.__version__)'
}

# 1. Build; meanwhile let the Python programs run once, which fills their caches.
say "building"
warming=()
for program in torch triton cupy jax; do
    timeout 120 python3 "$here/library/${program}_cases.py" --seconds 85 > "$recorded/$program.warm-up.txt" 2>&1 &
    warming+=($!)
done
(cd "$here" && ls library/*.cu textbook/*.cu pairs/*.cu truth.cu) |
    { export -f compile; export here work; xargs -P 16 -I{} bash -c 'compile {}'; }
cat "$work"/objects/*.log > "$recorded/ptxas.txt"
nvcc -arch=native -o "$work/truth" "$work"/objects/*.o || say "the samples do not link"
say "built"
wait "${warming[@]}"
say_versions > "$recorded/versions.txt" 2>&1
cat "$recorded/versions.txt"
grep -h -A4 -E '^failed|Error' "$recorded"/*.warm-up.txt | cut -c1-200 | head -n 40
say "warmed up: $(cat "$recorded"/*.warm-up.txt | grep -c '^case') cases of Python programs"

# 2. Time the pairs and the textbook kernels on the quiet device.
timeout 90 "$work/truth" --seconds 70 $(cases_of 'pairs/*.cu') > "$recorded/times.jsonl" 2> "$recorded/times.err.txt"
timeout 40 "$work/truth" --seconds 25 $(cases_of 'textbook/*.cu' 'library/*.cu') >> "$recorded/times.jsonl" 2>> "$recorded/times.err.txt"
grep -v '^{' "$recorded/times.jsonl" | cut -c1-200
say "timed: $(grep -c '^{' "$recorded/times.jsonl") variants"

# 3. Profile, the most wanted first.
profile pairs-1 45 "$work/truth" --profile --seconds SECONDS $(cases_of 'pairs/[a-f]*.cu')
profile pairs-2 45 "$work/truth" --profile --seconds SECONDS $(cases_of 'pairs/[g-m]*.cu')
profile pairs-3 45 "$work/truth" --profile --seconds SECONDS $(cases_of 'pairs/[n-r]*.cu')
profile pairs-4 45 "$work/truth" --profile --seconds SECONDS $(cases_of 'pairs/[s-z]*.cu')
profile torch-1 45 python3 "$here/library/torch_cases.py" --seconds SECONDS --part 1/4
profile textbook 40 "$work/truth" --profile --seconds SECONDS $(cases_of 'textbook/*.cu')
profile triton 25 python3 "$here/library/triton_cases.py" --seconds SECONDS
profile torch-2 45 python3 "$here/library/torch_cases.py" --seconds SECONDS --part 2/4
profile cupy 40 python3 "$here/library/cupy_cases.py" --seconds SECONDS
profile cub 30 "$work/truth" --profile --seconds SECONDS $(cases_of 'library/*.cu')
profile torch-3 45 python3 "$here/library/torch_cases.py" --seconds SECONDS --part 3/4
profile jax 25 python3 "$here/library/jax_cases.py" --seconds SECONDS
profile torch-4 45 python3 "$here/library/torch_cases.py" --seconds SECONDS --part 4/4

# 4. Pages and packing.
(( ${#exporters[@]} )) && wait "${exporters[@]}"
say "launches in all: $(cat "$recorded"/*.log | grep -c '==PROF== Profiling'), pages: $(ls "$recorded"/*.csv | wc -l), bytes: $(du -sb "$recorded" | cut -f1)"
python3 "$here/pack.py" "$recorded" "$out"
say "done"
rm -rf "$work"
