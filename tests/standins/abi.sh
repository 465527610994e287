#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# abi.sh SOURCE_DIR STANDIN_DIR - the stand-ins export what the vendors' libraries export under their names, no more
set -u
source=$1
standins=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail()
{
	echo "abi.sh: $*" >&2
	failures=$((failures + 1))
}

# exported LIBRARY: names of its dynamic symbols with their versions, without the version nodes themselves
exported()
{
	readelf --dyn-syms -W "$standins/$1" |
		awk '$1 ~ /^[0-9]+:$/ && $7 != "UND" && $7 != "ABS" && $5 != "LOCAL" && NF == 8 &&
			$8 !~ /^__odr_asan/ { print $8 }' | sort
}

# functions FILE PREFIX: the names in an X list
functions()
{
	sed -n "s/^[[:space:]]*X(\(.*[ ,]\)\{0,1\}\($2[A-Za-z0-9_]*\),.*/\2/p" "$source/$1"
}

# check LIBRARY: compares with $work/wanted
check()
{
	readelf -d "$standins/$1" | grep -q "SONAME.*\[$1\]" || fail "$1 has another soname"
	sort "$work/wanted" >"$work/sorted"
	test "$(wc -l <"$work/sorted")" -gt 5 || fail "$1: the list of wanted functions is empty"
	exported "$1" >"$work/found"
	diff "$work/sorted" "$work/found" >"$work/diff" || fail "$1 exports other symbols (< wanted, > found):
$(cat "$work/diff")"
}

{
	functions src/vendor/cuda_abi.h cu
	functions src/sim/standins/base.h muster_standin_cuda_
	echo muster_standin_mark
} >"$work/wanted"
check libcuda.so.1

{
	functions src/vendor/cublaslt_abi.h cublasLt
	echo cublasLtGetVersion
	echo muster_standin_mark
} >"$work/wanted"
check libcublasLt.so.13

{
	functions src/vendor/cufile_abi.h cuFile
	echo muster_standin_mark
} >"$work/wanted"
check libcufile.so.0

{
	functions src/vendor/nvml_abi.h nvml
	echo nvmlErrorString
	echo muster_standin_mark
} >"$work/wanted"
check libnvidia-ml.so.1

{
	functions src/vendor/nccl_abi.h nccl
	echo ncclGetErrorString
	echo ncclGetLastError
	echo muster_standin_mark
} >"$work/wanted"
check libnccl.so.2

for name in get_device_list free_device_list get_device_name open_device close_device query_port; do
	echo "ibv_$name@@IBVERBS_1.1"
done >"$work/wanted"
echo muster_standin_mark@@MUSTER_STANDIN >>"$work/wanted"
check libibverbs.so.1

# The versions are those of the real library, where there is one.
real=$(ldconfig -p 2>/dev/null | awk '/libibverbs\.so\.1 / { print $NF; exit }')
if [ -n "$real" ]; then
	for symbol in $(grep ^ibv_ "$work/wanted"); do
		readelf --dyn-syms -W "$real" | grep -qF " $symbol" || fail "$real has no $symbol"
	done
fi

# The program finds all that it calls of liburing in the preloaded library, and so never the real one.
needed=$(readelf --dyn-syms -W "$standins/../../../muster" | awk '$7 == "UND" && $8 ~ /io_uring_/ { sub(/@.*/, "", $8); print $8 }')
exported libmuster-preload.so >"$work/found"
for symbol in $needed; do
	grep -qx "$symbol" "$work/found" || fail "libmuster-preload.so has no $symbol"
done

[ "$failures" -eq 0 ]
