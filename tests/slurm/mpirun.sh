#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpirun.sh - mpirun, as the cluster's nodes have it: this machine lacks their NUMA nodes and cores
#
# Binding is left to the simulation (simulated.sh); all else is what the caller wants.
set -euo pipefail

real=$(PATH=${PATH#*:} command -v mpirun) # this one is in the first folder
words=(--oversubscribe)
while (($# > 0)); do
	if [[ $1 == --bind-to ]]; then
		words+=(--bind-to none)
		shift
	else
		words+=("$1")
	fi
	shift
done
exec "$real" "${words[@]}"
