#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench_sim.sh - start to exit of two simulated nodes, 16 ranks, in seconds
#
# usage: bench_sim.sh MUSTER
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
for turn in 1 2 3 4 5; do
	began=$(date +%s.%N)
	"$1" sim --sku Standard_ND96asr_v4 --nodes 2 >text 2>&1 || {
		cat text
		exit 1
	}
	ended=$(date +%s.%N)
	echo "$turn $began $ended" | awk '{ printf "16 simulated ranks, turn %d: %.2f s\n", $1, $3 - $2 }'
done
