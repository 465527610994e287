#!/bin/sh
# bench_scale.sh - a report of 4,096 nodes: time and memory to read, evaluate and write it, as it is and as gzip
#
# usage: bench_scale.sh MUSTER BENCH_REPORT [COPIES]     (of 16 nodes, default: 256; some minutes, 1.8 GB in $TMPDIR)
set -eu

muster=$1 bench=$2 copies=${3:-256} here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$muster" sim --sku Standard_ND128isr_NDR_GB200_v6 --nodes 16 --fault h2d-slow@node3/gpu2=12 --report "$folder/few.json" \
	-- --profile quick >/dev/null 2>&1 || [ $? -eq 1 ]
python3 "$here/multiplied.py" "$folder/few.json" "$copies" "$folder/made.json"
"$muster" check "$folder/made.json" --report "$folder/report.json" >/dev/null || [ $? -eq 1 ]
rm "$folder/made.json"
gzip -3 -k "$folder/report.json"
TMPDIR=$folder "$bench" "$folder/report.json" "$folder/report.json.gz"
