#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needed.sh - the program must start on a machine without any vendor library
#
# usage: needed.sh PROGRAM
set -eu

dynamic=$(LC_ALL=C readelf -d "$1")
case $dynamic in
*"(NEEDED)"*) ;;
*)
	echo "readelf shows no needed library of $1 at all: this test cannot judge it"
	exit 1
	;;
esac
vendors='cuda|cudart|cublas|cublasLt|nvidia-ml|nccl|ibverbs|mlx5'
if printf '%s\n' "$dynamic" | grep -E "\((NEEDED|FILTER|AUXILIARY)\).*\[lib($vendors)[.-]"; then
	echo "$1 is linked with a vendor library: it would not start where that is missing or broken"
	exit 1
fi
