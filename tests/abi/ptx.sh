#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ptx.sh - the kernels are assembled for every architecture from sm_70 on that this machine's ptxas knows
#
# usage: ptx.sh KERNELS.ptx [PTXAS]
#
# The driver compiles them on the user's GPU, where a mistake would show too late. A warning is an error here.
set -eu

kernels=$1
for ptxas in "${2:-}" "$(command -v ptxas || true)" /usr/local/cuda*/bin/ptxas; do
	[ ! -x "$ptxas" ] || break
done
if [ ! -x "$ptxas" ]; then
	echo "skipped: no ptxas here; it comes with the CUDA Toolkit; -DMUSTER_PTXAS=FILE names another place"
	exit 77
fi

assembled=
number=70
while [ "$number" -lt 130 ]; do
	if said=$("$ptxas" -Werror -arch="sm_$number" -o /dev/null "$kernels" 2>&1) && [ -z "$said" ]; then
		assembled="$assembled sm_$number"
	elif ! printf '%s\n' "$said" | grep -q "'sm_$number' is not defined"; then
		echo "sm_$number: $said"
		exit 1
	fi
	number=$((number + 1))
done
for wanted in sm_80 sm_90; do
	case " $assembled " in
	*" $wanted "*) ;;
	*)
		echo "$ptxas knows no $wanted: this test cannot judge the kernels (assembled:$assembled)"
		exit 1
		;;
	esac
done
echo "assembled by $ptxas for$assembled"
