#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh - build the fuzzers, and run each for a while
#
# usage: tests/fuzz/run.sh [SECONDS [FUZZER...]]     (60 seconds each, all of them)
#
# One after the other, at the lowest priority. What one finds interesting is kept in build-fuzz/found/ from run to run;
# an input that breaks something is left as build-fuzz/broken/<fuzzer>-*, and ends the script with 1. At the end a line
# for each: seconds, executions, edges of the program reached.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "usage: tests/fuzz/run.sh [SECONDS [FUZZER...]]" >&2; exit 2; }
shift $(($# > 0 ? 1 : 0))
build="build-fuzz"
[[ $# -gt 0 ]] || set -- cpus expect gres hostlist kernel_log merge metadata nccl_files nccl_log report scenario spool strikes sysfs wire

generator=()
if [[ ! -e $build/CMakeCache.txt ]] && command -v ninja >/dev/null; then
	generator=(-G Ninja)
fi
cmake -S . -B $build "${generator[@]}" -DCMAKE_C_COMPILER=clang -DMUSTER_FUZZ=ON -DMUSTER_WERROR=ON >/dev/null
cmake --build $build --target fuzz >$build/fuzz-build.log || { cat $build/fuzz-build.log; exit 1; }

broken=0
table=()
for name; do
	mkdir -p "$build/found/$name" $build/broken
	echo "$name: $seconds s"
	status=0
	nice -n 19 "$build/tests/fuzz_$name" -dict="tests/fuzz/$name.dict" -max_total_time="$seconds" \
		-rss_limit_mb=2048 -timeout=25 -print_final_stats=1 -artifact_prefix="$build/broken/$name-" \
		"$build/found/$name" "tests/fuzz/corpus/$name" </dev/null >"$build/found/$name.log" 2>&1 || status=$?
	if ((status != 0)); then
		tail -n 40 "$build/found/$name.log"
		broken=1
	fi
	executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/found/$name.log")
	reached=$(grep -oE 'cov: [0-9]+' "$build/found/$name.log" | tail -n 1)
	table+=("$(printf '%-10s %6s s %12s executions %8s edges%s' "$name" "$seconds" "${executions:-?}" \
		"${reached#cov: }" "$( ((status == 0)) || echo ', BROKEN')")")
done
printf '%s\n' "${table[@]}"
exit $broken
