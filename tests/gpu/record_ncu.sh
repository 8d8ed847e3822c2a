#!/usr/bin/env bash
# Record Nsight Compute reports of real kernels as CSV, for tests/advisor/profiles/recorded/.
# Needs nvcc, ncu and a python3 with PyTorch: bash tests/gpu/record_ncu.sh OUTPUT_FOLDER
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:?output folder}" && cd "$1" && pwd)
work=$(mktemp -d)
cd "$work"

nvcc -O3 -lineinfo -arch=native -Xptxas -v -o kernels "$here/ncu_kernels.cu" 2> "$out/ptxas.log" || exit 1

# One profile per program, printed twice; --clock-control none where clocks may not be set.
ncu --clock-control none --set full -o hand ./kernels > hand.log 2>&1 || { cat hand.log; exit 1; }
ncu --import hand.ncu-rep --csv --page details > "$out/hand_details.csv"
ncu --import hand.ncu-rep --csv --page raw > "$out/hand_raw.csv"

ncu --clock-control none --set full --profile-from-start off -o torch python3 "$here/ncu_torch.py" > torch.log 2>&1 || cat torch.log
ncu --import torch.ncu-rep --csv --page details > "$out/torch_details.csv"
ncu --import torch.ncu-rep --csv --page raw > "$out/torch_raw.csv"

# As a user pipes it: the program's own words and ncu's notes among the lines.
ncu --clock-control none --set full --csv --page details --launch-count 2 ./kernels > "$out/noisy_details.csv" 2>&1
ncu --version > "$out/ncu_version.txt"
wc -l "$out"/*
