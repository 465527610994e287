#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench_history.sh - a history of many reports of 16 GPUs: how large it is, and how long each question takes
#
# usage: bench_history.sh MUSTER BENCH_HISTORY [REPORTS]     (default: 100000; some minutes, 1.5 GB in $TMPDIR)
set -eu

muster=$1 fill=$2 count=${3:-100000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$muster" sim --sku Standard_ND96asr_v4 --nodes 2 --report report.json >/dev/null 2>&1
"$fill" report.json history.db "$count" 1000

# ask OPTIONS...: the shortest of three times
ask() {
	for _ in 1 2 3; do
		start=$(date +%s%N)
		"$muster" history "$@" --db history.db >answer
		echo $((($(date +%s%N) - start) / 1000000))
	done | sort -n | head -n 1 | sed "s/\$/ ms: muster history $*/"
}
day=$(date -u -d "2026-01-01 +$((count / 500 - 1)) days" +%Y-%m-%d) # the last one
week=$(date -u -d "$day -7 days" +%Y-%m-%d)
ask
ask --node gpu-0007
ask --metric gpu.h2d_gbps
ask --metric gpu.h2d_gbps --node gpu-0007
ask --metric nccl.allreduce_busbw_gbps
ask flapping
ask worst --since "$week"
ask worst --since 2026-01-01
ask worst --since 2026-01-01 --reports 0
ask worst --metric gpu.h2d_gbps --since 2026-01-01
ask diff --since "$day"
ask diff --since "$day" --before 2026-01-01
ask diff --since "$day" --before 2026-01-01 --reports 0
ask diff --since "$day" --metric gpu.h2d_gbps --before 2026-01-01
ask --metric gpu.h2d_gbps --format json --rows 0
ask --format html --rows 0
