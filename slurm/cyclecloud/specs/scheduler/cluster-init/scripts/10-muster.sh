#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 10-muster.sh - CycleCloud, when the scheduler starts: Slurm is to check nodes with muster
#
# jetpack config, for the cluster template:
#   muster.check   prolog (default: before and after each job), healthcheck (idle nodes, each hour) or none
#
# azslurm shares prolog.d and epilog.d among all nodes. A link to a script of the package would lead nowhere on a node
# without muster, and Slurm would drain that node; so the script here looks for it first.
set -euo pipefail

slurm=${MUSTER_SLURM_DIRECTORY:-/etc/slurm} # another one for a test
check=$(jetpack config muster.check prolog)

# set_option NAME VALUE: in site_specific.conf, which azslurm keeps when it is updated
set_option() {
	local file
	file=$(realpath "$slurm/site_specific.conf")
	sed -i "/^$1=/d" "$file"
	[[ -z $(tail -c 1 "$file") ]] || echo >>"$file"
	echo "$1=$2" >>"$file"
}

case $check in
none) exit 0 ;;
prolog)
	for kind in prolog epilog; do
		mkdir -p "$slurm/$kind.d"
		cat >"$slurm/$kind.d/.muster" <<-END
			#!/bin/sh
			# 50-muster - muster's $kind, on nodes that have muster; on the others there is nothing to check
			script=/usr/share/muster/slurm/$kind.d/50-muster
			[ ! -x "\$script" ] || exec "\$script"
			exit 0
		END
		chmod 755 "$slurm/$kind.d/.muster"
		mv "$slurm/$kind.d/.muster" "$slurm/$kind.d/50-muster" # at once: jobs may be starting
	done
	set_option BatchStartTimeout 180 # the check takes seconds, 150 s at worst; Slurm's default is 10 s
	;;
healthcheck)
	if grep -qE '^HealthCheckProgram="?/' "$slurm/slurm.conf"; then
		echo "slurm.conf has a health check already, which stays: nothing was changed" >&2
		exit 0
	fi
	set_option HealthCheckProgram /usr/share/muster/slurm/healthcheck
	set_option HealthCheckInterval 3600
	set_option HealthCheckNodeState IDLE,CYCLE
	;;
*)
	echo "muster.check must be prolog, healthcheck or none, not \"$check\"" >&2
	exit 2
	;;
esac
scontrol reconfigure || echo "Slurm does not run yet: it reads its configuration when it starts" >&2
