# SPDX-License-Identifier: Apache-2.0
# root.sh - roots of other systems for tests: made with debootstrap, entered with chroot in namespaces of their own
# shellcheck shell=sh
#
# It needs root.

# begin WHAT LOG: the words that each line begins with, and a file for what commands print
begin() {
	what=$1 log=$2 passed=0 failed=0
	mkdir -p "$(dirname "$log")"
}

say() {
	printf '== %s: %s\n' "$what" "$*"
}

closing() {
	echo "$passed passed, $failed failed, $1 skipped"
	[ "$failed" -eq 0 ]
}

# broken: nothing can be tested
broken() {
	tail -n 40 "$log"
	failed=$((failed + 1))
	closing 0
	exit 1
}

skip() {
	say "skipped: $*"
	closing 1
	exit 0
}

# check WORDS COMMAND...: one test; what the command printed is shown when it fails
check() {
	words=$1
	shift
	if "$@" >"$log" 2>&1 </dev/null; then
		passed=$((passed + 1))
		say "ok: $words"
	else
		failed=$((failed + 1))
		say "FAILED: $words"
		tail -n 25 "$log"
	fi
}

# need_tools TOOL[:PACKAGE]...: install what is missing
need_tools() {
	[ "$(id -u)" -eq 0 ] || skip "only root can make and enter another root"
	missing=
	for tool; do
		command -v "${tool%:*}" >/dev/null || missing="$missing ${tool#*:}"
	done
	[ -n "$missing" ] || return 0
	command -v apt-get >/dev/null || skip "these packages are missing, and there is no apt-get here:$missing"
	say "installing$missing"
	# $missing is a list of words.
	# shellcheck disable=SC2086
	{ apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends install $missing; } \
		>"$log" 2>&1 </dev/null || skip "cannot be installed:$missing: $(tail -n 1 "$log")"
}

# make_root SUITE FOLDER: packages that were fetched once are kept beside the log
make_root() {
	cache=$(dirname "$log")/packages-$1
	mkdir -p "$cache"
	say "making a root of $1"
	debootstrap --variant=minbase --cache-dir="$cache" "$1" "$2" >"$log" 2>&1 </dev/null ||
		skip "debootstrap cannot make a root of $1: $(tail -n 1 "$log")"
	printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d" # no service is started in there
	chmod 755 "$2/usr/sbin/policy-rc.d"
	for file in /etc/resolv.conf /etc/hosts; do
		[ ! -e "$file" ] || cp -L "$file" "$2$file"
	done
}

# inside FOLDER COMMAND...: nothing of this machine's environment, and nothing is left running; with offline=--net there is
# no network
inside() {
	folder=$1
	shift
	# shellcheck disable=SC2016,SC2086
	unshare ${offline:-} --mount --pid --fork --kill-child --propagation private sh -c 'root=$1 && shift &&
		mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t tmpfs tmpfs "$root/dev/shm" &&
		mount -t sysfs -o ro sysfs "$root/sys" && mount -t tmpfs tmpfs "$root/tmp" && cd "$root" &&
		exec chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
			MUSTER_METADATA_URL= "$@"' \
		inside "$folder" "$@"
}
