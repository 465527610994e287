#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh - muster on another release of Debian: the demo, unit tests, the protocol, faults, and a real Slurm
#
# usage: tests/distro/run.sh [SUITE]     default trixie (Debian 13); the last line is "N passed, N failed, N skipped"
#
# Makes a root file system of that release with debootstrap in a scratch folder, and runs src/setup.sh there on a copy of
# this tree, in mount and process namespaces of its own. Needs root.
set -euo pipefail

suite=${1:-trixie}
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
# what the release's MPI, Slurm and libraries decide
tests='^(coord|install)\.|^unit\.(coord|probes|storage|system|transport|util|vendor|worker)\.|^scenarios\.ends\.|'
tests+='^slurm\.(preflight|spank)\.|^machines\.'

say() {
	printf '== %s\n' "$*"
}

skip() {
	say "$suite: skipped: $*"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}

((EUID == 0)) || skip "debootstrap needs root"
unshare -mpf true 2>/dev/null || skip "this machine allows no namespaces"
scratch=$(mktemp -d -p /var/tmp muster-distro-XXXXXX)
trap 'rm -rf --one-file-system "$scratch"' EXIT
root=$scratch/root log=$scratch/log

if ! command -v debootstrap >/dev/null; then
	say "installing debootstrap"
	{ apt-get -q update && apt-get -qy --no-install-recommends install debootstrap; } >"$log" 2>&1 </dev/null ||
		skip "debootstrap cannot be installed: $(tail -n 1 "$log")"
fi
say "debootstrap $suite"
debootstrap --variant=minbase "$suite" "$root" >"$log" 2>&1 </dev/null ||
	skip "the packages of $suite cannot be had: $(tail -n 1 "$log")"

# What git knows or would know, and nothing that was built; all of it where this is no checkout.
mkdir -p "$root/root/muster"
if git -C "$source" rev-parse >/dev/null 2>&1; then
	git -C "$source" ls-files -z --cached --others --exclude-standard
else
	(cd "$source" && find . \( -name build -o -name 'build-*' \) -prune -o -type f -print0)
fi | tar -C "$source" --null --ignore-failed-read -T - -cf - | tar -C "$root/root/muster" -xf -
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

# inside COMMAND...: in the new root; everything that it starts ends with it
inside() {
	# shellcheck disable=SC2016 # expanded in there
	unshare --mount --pid --fork --kill-child --propagation private bash -euc '
		root=$0
		mount --bind "$root" "$root"
		cd "$root"
		mount -t proc proc proc
		mount --rbind /sys sys
		mount --rbind /dev dev
		mount -t tmpfs tmpfs run
		mount -t tmpfs -o mode=1777 tmpfs tmp
		mkdir -p .outside
		pivot_root . .outside
		umount -l .outside
		cd /root/muster
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
	' "$root" "$@" </dev/null
}

passed=0 failed=0 skipped=0
say "$suite: sh src/setup.sh run"
if inside sh src/setup.sh run >"$log" 2>&1 && grep -q '^MUSTER PASS ' "$log"; then
	passed=1
else
	tail -n 40 "$log"
	failed=1
fi
tail -n 1 "$log"

say "$suite: sh src/setup.sh test-some '$tests'"
inside sh src/setup.sh test-some "$tests" 2>&1 | tee "$log" | sed -uE '/^[0-9]+ passed, /d' || true
read -r p _ f _ s _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1) || true
[[ -n ${p:-} ]] || f=1
echo "$((passed + ${p:-0})) passed, $((failed + ${f:-0})) failed, $((skipped + ${s:-0})) skipped"
((failed + ${f:-0} == 0))
