#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - muster built for aarch64, its unit tests and a small simulation, on this machine under qemu-user
#
# usage: sh tests/arm64/run.sh     builds into build-arm64/; the last line is "N passed, N failed, N skipped"
#
# The unit tests see pages of 64 KiB, as kernels for Grace have them. The simulation sees 4 KiB: Open MPI's MPI_Init ends
# with a segmentation fault when qemu makes pages larger than this machine's, in a program of three lines too.
set -eu

cd "$(dirname "$0")/../.."
build=build-arm64 log=build-arm64/arm64.log
mkdir -p "$build"

say() {
	printf '== %s\n' "$*"
}

skip() {
	say "aarch64: skipped: $*"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}

fail() {
	tail -n 40 "$log"
	say "aarch64: $*"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

if [ "$(uname -m)" = aarch64 ]; then
	skip "this machine is one, so the other tests have shown it"
fi
for tool in apt-get dpkg-deb cmake ninja pkg-config mpirun python3; do
	command -v "$tool" >/dev/null || skip "there is no $tool here (sh src/setup.sh test installs what it can)"
done

if ! command -v aarch64-linux-gnu-gcc >/dev/null; then
	if [ "$(id -u)" -eq 0 ]; then
		as_root=
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		as_root=sudo
	else
		skip "the package gcc-aarch64-linux-gnu is missing, and only root can install it"
	fi
	say "installing gcc-aarch64-linux-gnu"
	# $as_root is no word or one.
	# shellcheck disable=SC2086
	{
		$as_root apt-get -q update &&
			$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends install \
				gcc-aarch64-linux-gnu
	} >"$log" 2>&1 </dev/null || skip "gcc-aarch64-linux-gnu cannot be installed: $(tail -n 1 "$log")"
fi
say "unpacking arm64 packages in $build/packages/"
sh tests/arm64/sysroot.sh "$build/packages" >"$log" 2>&1 </dev/null ||
	skip "the arm64 packages cannot be had: $(tail -n 1 "$log")"

sysroot=$PWD/$build/packages/root
# qemu finds the loader and libraries of aarch64 below here, and is itself found, by bare name: paths may hold blanks.
export QEMU_LD_PREFIX="$sysroot" PATH="$PWD/$build/packages/host/usr/bin:$PATH"
export MUSTER_SIM_WRAPPER=qemu-aarch64-static

say "building for aarch64 with gcc, warnings are errors, in $build/"
{
	cmake -S . -B "$build" -G Ninja --toolchain tests/arm64/toolchain.cmake -DCMAKE_SYSROOT="$sysroot" \
		-DCMAKE_CROSSCOMPILING_EMULATOR="$(command -v qemu-aarch64-static)" -DMUSTER_WERROR=ON \
		-DMUSTER_TESTS=ON -DMUSTER_VENDOR_INCLUDE="$PWD/build/vendor/usr/include" &&
		cmake --build "$build" -j "$(nproc)"
} >"$log" 2>&1 </dev/null || fail "the build failed"

# CFLAGS are for the tests that compile something. What the emulator cannot do is left out by the tests themselves.
say "running the unit tests and a small simulation for aarch64 under qemu"
QEMU_PAGESIZE=65536 MUSTER_TEST_EMULATED=1 CK_TIMEOUT_MULTIPLIER=10 CFLAGS="--sysroot=$sysroot" ctest \
	--test-dir "$build" \
	-L '^(unit|standins|abi|arm64)$' -j "$(nproc)" --no-tests=error --output-on-failure >"$log" 2>&1 </dev/null ||
	true
cat "$log"

summary=$(sed -nE 's/.* ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log")
[ -n "$summary" ] || fail "ctest ended without a summary"
failed=${summary% *} all=${summary#* } skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$log" || true)
checks=$(grep -ohE 'Checks: [0-9]+' "$build/Testing/Temporary/LastTest.log" | awk '{ n += $2 } END { print n + 0 }')
say "aarch64: $all test programs and simulations ran or were skipped, with $checks unit tests in them"
echo "$((all - failed - skipped)) passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
