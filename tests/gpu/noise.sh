#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# noise.sh - how noisy is this GPU host, and what does muster say of it while all is healthy
#
# usage: tests/gpu/noise.sh [-s SECONDS] [-q QUICK] [-n STANDARD] [-l LIMIT] [-o TREE]
#   -s  seconds of each of the seven series that noise.py records (default 60; 0: none)
#   -q, -n  runs of profile quick and standard, on one GPU and again on all (default 60 and 20; about 6 minutes)
#   -l  after so many seconds noise.py ends and no run starts (default 3600). Where a call may take ten minutes: once with
#       -q 0 -n 0, and once with -s 0 -l 560
#   -o  a portable tree with an older muster, which runs in turns with the new one
#
# Needs what run.sh needs, and PyTorch for the series. Writes to $OUT (default tests/gpu/out/noise) the series, and a report of each run,
# NAME-GPUSgpu-PROFILE-NUMBER.json; prints how noisy each series is, and the share of findings by check.
# Exit status 1: a run of the new muster failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
out=${OUT:-$here/out/noise}
seconds=60 quick=60 standard=20 limit=3600 old=
while getopts s:q:n:l:o: option; do
	case $option in
	s) seconds=$OPTARG ;;
	q) quick=$OPTARG ;;
	n) standard=$OPTARG ;;
	l) limit=$OPTARG ;;
	o) old=$OPTARG ;;
	*) exit 2 ;;
	esac
done
began=$(date +%s)
mkdir -p "$out"
out=$(cd "$out" && pwd)
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# shellcheck source=tests/gpu/with_muster.sh
. "$here/with_muster.sh"
gpus=$(nvidia-smi -L | grep -c '^GPU')

# one NAME GPUS PROFILE NUMBER: unless the time is up
one() {
	[ $(($(date +%s) - began)) -lt "$limit" ] || return 0
	report=$out/$1-${2}gpu-$3-$4.json
	if [ "$2" -eq 1 ]; then
		set -- env CUDA_VISIBLE_DEVICES=0 muster run --overlay "$out/overlay" --profile "$3"
	else
		set -- mpirun --bind-to none -np "$2" muster run --overlay "$out/overlay" --profile "$3"
	fi
	with_muster "$@" --sku generic-nvidia --report "$report" >"$out/last.txt" 2>&1
	[ -s "$report" ] || cat "$out/last.txt"
}

# both PROFILE NUMBER: on one GPU and on all, the new muster and the old one
both() {
	for count in $(printf '1\n%s\n' "$gpus" | sort -u); do
		one new "$count" "$1" "$2"
		[ -z "$old" ] || (MUSTER_TREE=$old && one old "$count" "$1" "$2")
	done
}

nvidia-smi -L | sed 's/ (UUID.*//'
# the others are not used, on purpose
echo '{"checks": {"launch.ranks_per_gpu": null}}' >"$out/overlay"
[ "$seconds" -eq 0 ] || timeout "$limit" python3 "$here/noise.py" "$out" "$seconds"
number=0 most=$((quick > standard ? quick : standard))
while [ $number -lt $most ]; do # the fewer ones are spread over the others
	for profile in quick standard; do
		[ $profile = quick ] && runs=$quick || runs=$standard
		[ $((number * runs / most)) -eq $(((number + 1) * runs / most)) ] || both $profile $number
	done
	number=$((number + 1))
done
python3 "$here/findings.py" "$out"
