#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# worlds.sh - a launcher that starts many jobs of one rank: the first one writes and prints, the others end as it does
#
# usage: worlds.sh MUSTER
#
# Each process is started alone, in the environment that it would have; there need be no GPU.
set -eu
muster=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export MUSTER_METADATA_URL= # nobody is asked
bad=0

complain() {
	echo "$1"
	cat out err
	bad=1
}

# task PROCID OPTION...: as srun --mpi=none would start it; its exit status is in $status
task() {
	procid=$1
	shift
	status=0
	env SLURM_STEP_ID=0 SLURM_PROCID="$procid" SLURM_LOCALID="$procid" SLURM_NTASKS=16 \
		"$muster" run --sku Standard_ND96asr_v4 --profile quick "$@" >out 2>err </dev/null || status=$?
}

# both NAME EXIT-STATUS OPTION...: with these options tasks 0 and 3 end so, and only task 0 says anything
both() {
	name=$1 wanted=$2
	shift 2
	task 0 "$@"
	[ "$status" -eq "$wanted" ] || complain "$name: task 0 ends with $status, not $wanted"
	[ -s out ] || [ -s err ] || complain "$name: task 0 says nothing"
	task 3 "$@"
	[ "$status" -eq "$wanted" ] || complain "$name: task 3 ends with $status, not $wanted"
	[ ! -s out ] && [ ! -s err ] || complain "$name: task 3 is not silent"
}

task 0 --report report.json
grep -q '"check": "launch.mpi"' report.json || complain "the report does not say that MPI and Slurm differ"
case $(tail -n 1 out) in
"MUSTER FAIL "*" report=report.json") ;;
*) complain "task 0 prints no summary" ;;
esac
echo old >report.json
task 3 --report report.json
[ "$(cat report.json)" = old ] || complain "task 3 has written the report"

echo '{"checks":{"copy.h2d":{"min":"8"}}}' >type.json
both "a plain run" 1 --report report.json
both "a report on standard output" 1 --report -
both "lines for a log collector" 1 --report report.json --log-format json
both "a bad overlay" 2 --report report.json --overlay type.json
both "a report that cannot be written" 2 --report nowhere/report.json

# an mpirun that MPI does not know, outside Slurm: nothing but the launcher's own size tells
for rank in 0 3; do
	env PMI_RANK=$rank PMI_SIZE=16 "$muster" run --sku generic-nvidia --profile quick --report $rank.json \
		>out$rank 2>err$rank </dev/null || :
done
cp out0 out && cp err0 err
grep -q 'the launcher started 16 processes, but MPI sees only one' err || complain "rank 0 of a foreign launcher: no warning"
[ -s 0.json ] || complain "rank 0 of a foreign launcher: no report"
cp out3 out && cp err3 err
[ ! -s out ] && [ ! -s err ] && [ ! -e 3.json ] || complain "rank 3 of a foreign launcher is not silent"
exit $bad
