#!/bin/sh
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

expect 4xh200 generic-nvidia 0 "MUSTER PASS sku=generic-nvidia nodes=1 ranks=4 failed=0 warned=0"
grep -q '^all-reduce busbw, 512 MiB  *347\.7  *347\.7 ' "$scratch/text" || {
	cat "$scratch/text"
	echo "the summary does not show the all-reduce of 512 MiB"
	exit 1
}
expect 1xh100 generic-nvidia 0 "MUSTER PASS sku=generic-nvidia nodes=1 ranks=1 failed=0 warned=0"

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
