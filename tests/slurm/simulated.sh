#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# simulated.sh - muster, as a node of cluster.sh's cluster has it: on the stand-ins of that node and of this task
#
# It is called muster in the PATH of the cluster's nodes. What Slurm gave the task reaches the worker: its GPUs, its CPU
# mask, and what the job script sets for CUDA, NCCL and UCX.
set -euo pipefail

directory=$(cd "$(dirname "$0")/.." && pwd)
gpus='' all_cpus='' program=''
# shellcheck source=/dev/null
source "$directory/facts"
node=$(hostname)
node=${node#gpu-}
# mpirun in a batch job leaves SLURM_LOCALID as it was for the job's first process.
local_rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-0}}
simulation=$(readlink "$directory/sim")

[[ $node =~ ^[0-9]+$ ]] || exec "$program" "$@" # on the login node there is no GPU to simulate

# srun's mask for this task, or the one that it has given itself (bind, below); without any, it may run anywhere on its
# node.
mask=${SIMULATED_CPU_MASK:-$all_cpus}
if [[ ${SLURM_CPU_BIND_TYPE:-} == mask_cpu: ]]; then
	IFS=, read -ra masks <<<"${SLURM_CPU_BIND_LIST:-}"
	mask=${masks[local_rank % ${#masks[@]}]}
fi
if grep -q '^TaskPlugin=task/affinity' "$directory/etc/slurm.conf"; then # Slurm binds tasks to this machine's CPUs
	mask=$(taskset --pid $$)
	mask=${mask##* }
fi

words=("MUSTER_SIM_CPU_MASK=$mask")
while IFS= read -r line; do
	words+=("$line")
done < <(env | grep -E '^(CUDA_|NCCL_|UCX_|OMPI_MCA_coll_hcoll)[A-Za-z0-9_]*=[^[:space:]]+$' || true)
place=("$simulation/muster-sim" sim-worker "$simulation" "$(((node - 1) * gpus + local_rank % gpus))" env "${words[@]}")

case ${1:-} in
drain | resume) # here the cluster is a test, and simulated reports count
	exec "$program" "$@" --simulated
	;;
run | node) # the ranks that `muster node` starts count on from the node's first
	# For a test: a rank that takes its time before it begins.
	[[ ${SIMULATED_LATE_RANK:-} != "${SLURM_PROCID:-0}" ]] || sleep 180
	export MUSTER_WORKER_WRAPPER="${place[*]}"
	exec "$program" "$@"
	;;
bind) # what it starts has the CPUs that it took, as from a kernel, and is simulated anew
	if [[ ${2:-} == --exec ]]; then
		SIMULATED_CPU_MASK=$("${place[@]}" "$program" bind --exec -- sh -c 'echo "$MUSTER_SIM_CPU_MASK"')
		export SIMULATED_CPU_MASK
		shift 3
		exec "$@"
	fi
	;;
esac
exec "${place[@]}" "$program" "$@"
