#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench_scale.sh - a report of 4,096 nodes: time and memory to read, evaluate and write it, as it is and as gzip
#
# usage: bench_scale.sh MUSTER BENCH_REPORT [COPIES]
# 16 simulated nodes, of which one has a slow GPU, become 16 * COPIES nodes (default of COPIES: 256, a report of 575 MB).
# Some minutes, and 1.8 GB in $TMPDIR.
set -eu

muster=$1 bench=$2 copies=${3:-256}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "16 nodes are simulated"
last=$("$muster" sim --sku Standard_ND128isr_NDR_GB200_v6 --nodes 16 --fault h2d-slow@node3/gpu2=12 \
	--report "$folder/few.json" -- --profile quick 2>/dev/null | tail -n 1)
case $last in
*" failed=1 "*) ;;
*)
	echo "bench_scale.sh: the slow GPU must be the only fault (is this machine too busy?): ${last:-no result}" >&2
	exit 1
	;;
esac

echo "the report of $((16 * copies)) nodes is made"
python3 "$here/multiplied.py" "$folder/few.json" "$copies" "$folder/made.json"
"$muster" check "$folder/made.json" --report "$folder/report.json" >/dev/null || [ $? -eq 1 ]
rm "$folder/made.json"
gzip -3 -k "$folder/report.json"

TMPDIR=$folder "$bench" "$folder/report.json" "$folder/report.json.gz"
