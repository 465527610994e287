#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recorded.sh - reports that were recorded on real GPUs are judged as they were then
#
# usage: recorded.sh MUSTER FOLDER
set -eu
muster=$1 folder=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect NAME SKU EXIT-STATUS LAST-LINE
expect() {
	status=0
	"$muster" check "$folder/$1.json" --sku "$2" --report "$scratch/report.json" >"$scratch/text" || status=$?
	last=$(tail -n 1 "$scratch/text")
	if [ "$status" -ne "$3" ] || [ "${last%% report=*}" != "$4" ]; then
		cat "$scratch/text"
		echo "$1 as $2: exit status $status, not $3, or another last line than: $4"
		exit 1
	fi
}

# says PATTERN: of the last summary
says() {
	grep -q -- "$1" "$scratch/text" || {
		cat "$scratch/text"
		echo "the summary has no line: $1"
		exit 1
	}
}

expect 4xh200 generic-nvidia 0 "MUSTER PASS sku=generic-nvidia nodes=1 ranks=4 failed=0 warned=0"
says '^all-reduce busbw, 512 MiB  *347\.7  *347\.7 '
expect 1xh100 generic-nvidia 0 "MUSTER PASS sku=generic-nvidia nodes=1 ranks=1 failed=0 warned=0"

# Two H200, and the same two while another program multiplied matrices on the first one: the all-reduce shows it.
expect 2xh200 generic-nvidia 0 "MUSTER PASS sku=generic-nvidia nodes=1 ranks=2 failed=0 warned=0"
expect 2xh200-shared generic-nvidia 1 "MUSTER FAIL sku=generic-nvidia nodes=1 ranks=2 failed=1 warned=1"
says '^all-reduce busbw, 256 MiB .* 29 % of NVLink (18 x 26.6)  FAIL$'

# Under load: a minute at the power limit, and a program that held 60 GiB of the first GPU and multiplied matrices.
expect 2xh200-soak generic-nvidia 0 "MUSTER PASS sku=generic-nvidia nodes=1 ranks=2 failed=0 warned=0"
expect 2xh200-stranger generic-nvidia 1 "MUSTER FAIL sku=generic-nvidia nodes=1 ranks=2 failed=2 warned=2"
says '^FAIL node-1, GPU 0 (0000:00:06.0), rank 0: writing GPU memory, share of its limit \[load.memory_write\]$'
says '^warn node-1, GPU 0 (0000:00:06.0), rank 0: nearly all of the GPU.s memory was tested \[load.memory_tested\]$'

# Judged as a whole machine, they lack much; their speeds are right, or not.
says_of() {
	"$muster" check "$folder/$1.json" --sku Standard_ND96isr_H200_v5 >"$scratch/text" || true
	says "$2"
}
says_of 2xh200 '^all-reduce busbw, 64 MiB .* 55 % of NVLink (18 x 26.6)  pass$'
says_of 2xh200-shared '^FAIL whole job, bytes 64 MiB, .* part of the GPUs of one node'

# Four H200 are no ND96asr_v4: the count, the name and the missing InfiniBand must all be named.
status=0
"$muster" check "$folder/4xh200.json" --sku Standard_ND96asr_v4 >"$scratch/text" || status=$?
for check in gpu.count gpu.name ib.count; do
	if [ "$status" -ne 1 ] || ! grep -q "^FAIL .*\[$check\]\$" "$scratch/text"; then
		cat "$scratch/text"
		echo "four H200 as ND96asr_v4: exit status $status, not 1, or no word of $check"
		exit 1
	fi
done
