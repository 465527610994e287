#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage.sh - what the user gets wrong: one clear line, exit code 2, nothing written; and what nobody knows: never a pass
#
# usage: usage.sh MUSTER
set -eu
muster=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export MUSTER_METADATA_URL= # nobody is asked
bad=0

# expect EXIT-STATUS TEXT COMMAND...: stderr holds the text, and exactly one line of muster's own; and that MPI starts.
expect() {
	wanted=$1 text=$2
	shift 2
	status=0
	"$@" >out 2>err </dev/null || status=$?
	if [ "$status" -ne "$wanted" ] || ! grep -qF -- "$text" err; then
		echo "$*: exit status $status, not $wanted, or no word of: $text"
		cat out err
		bad=1
	elif [ "$wanted" -eq 2 ] && [ "$(grep '^muster: ' err | grep -vc '^muster: [0-9.]* s: starting MPI: ')" -ne 1 ]; then
		echo "$*: more than one line:"
		cat err
		bad=1
	fi
}

echo '{"checks":{"copy.h2d":{"min":"8"}}}' >type.json
echo '{"checks":{"copy.h2d":{"min":8,}}}' >syntax.json
echo '{"checks":{"x":{"metric":"gpu.h2d_gps","min":1,"source":"a"}}}' >metric.json
echo '{"schema_version":1,"name":"a","extends":"b.json","checks":{}}' >a.json
echo '{"schema_version":1,"name":"b","extends":"a.json","checks":{}}' >b.json

run="$muster run --report report.json"
# $run is a list of words.
# shellcheck disable=SC2086
{
	expect 2 'unknown option --foo' $run --sku generic-nvidia --foo
	expect 2 '--deadline: a time from 10 to 86400 s is needed' $run --sku generic-nvidia --deadline 3
	expect 2 '--profile: quick, standard or full is needed' $run --sku generic-nvidia --profile fast
	expect 2 '--min-bytes is larger than --max-bytes' $run --sku generic-nvidia --min-bytes 2M --max-bytes 1M
	expect 2 '--soak needs --profile standard or full' $run --sku generic-nvidia --profile quick --soak 5
	expect 2 '--steps needs --profile standard or full' $run --sku generic-nvidia --profile quick --steps 5
	expect 2 '--steps: a whole number from 1 to 1000000 is needed, found "0"' $run --sku generic-nvidia --steps 0
	expect 2 '--storage x: an absolute path is needed' $run --sku generic-nvidia --storage=x
	expect 2 '--checkpoint x: an absolute path is needed' $run --sku generic-nvidia --checkpoint x
	expect 2 '--expect-path x: an absolute path is needed' $run --sku generic-nvidia --expect-path x
	expect 2 '--storage-bytes: a multiple of 1M from 16M to 1024G is needed' \
		$run --sku generic-nvidia --storage --storage-bytes 17
	for context in prolog_slurmd epilog_slurmd prolog_task; do
		expect 2 '--storage in a prolog or epilog needs MUSTER_STORAGE_IN_PROLOG=yes in /etc/default/muster' \
			env SLURM_SCRIPT_CONTEXT=$context $run --sku generic-nvidia --storage
	done
	expect 2 '--checkpoint in a prolog or epilog needs MUSTER_STORAGE_IN_PROLOG=yes' \
		env SLURM_SCRIPT_CONTEXT=prolog_slurmd $run --sku generic-nvidia --checkpoint /
	expect 2 '--checkpoint needs --profile standard or full' $run --sku generic-nvidia --profile quick --checkpoint /
	expect 2 '--broadcast-file needs --storage' $run --sku generic-nvidia --broadcast-file /etc/passwd
	expect 2 '--deadline 59 is too short: 40 s of load and at least 20 s for the rest of the run' \
		$run --sku generic-nvidia --steps 1000 --deadline 59
	expect 2 'type.json: $.checks["copy.h2d"].min: a number is needed, found "8"' \
		$run --sku Standard_ND96asr_v4 --overlay type.json
	expect 2 'syntax.json: line 1, column' $run --sku Standard_ND96asr_v4 --overlay syntax.json
	expect 2 'no such metric: "gpu.h2d_gps"; did you mean "gpu.h2d_gbps"' \
		$run --sku Standard_ND96asr_v4 --overlay metric.json
	expect 2 'a.json' $run --sku ./a.json
	# on rank 0 only, and all ranks leave
	expect 2 'type.json: $.checks' mpirun --oversubscribe -np 3 \
		$run --sku Standard_ND96asr_v4 --overlay type.json
	expect 2 'no machine type "H200" in ' $run --sku H200
	expect 2 'did you mean "Standard_ND96isr_H200_v5"' $run --sku H200
	expect 2 'no machine type "Nope" in ' mpirun --oversubscribe -np 3 $run --sku Nope
	if [ -e report.json ]; then
		echo "a report was written although nothing was measured"
		bad=1
	fi
}
expect 2 'unknown command "drian"; did you mean "drain"' "$muster" drian
expect 2 'unknown command "drian"' "$muster" help drian
expect 2 'there is no such fault; did you mean "h2d-slow", "d2h-slow"' \
	"$muster" sim --sku Standard_ND96asr_v4 --nodes 1 --fault h2d-slo@node1/gpu4
expect 2 'the node has no RDMA device "mlx5_ib9"' \
	"$muster" sim --sku Standard_ND96asr_v4 --nodes 1 --fault ib-down@node1/mlx5_ib9
expect 2 'unknown command "frobnicate"' "$muster" frobnicate
exit $bad
