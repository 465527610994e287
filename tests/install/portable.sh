#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# portable.sh - the portable tree: what its files ask for, and that it runs in systems that have none of its libraries
#
# usage: sh tests/install/portable.sh     builds into build-portable/; the last line is "N passed, N failed, N skipped"
#
# Needs root. In minimal roots of Debian 12 and 13, mpirun of Open MPI 4 and 5 is installed after the first runs, and starts
# the tree's muster.
set -eu

cd "$(dirname "$0")/../.."
build=$PWD/build-portable glibc=2.34
sku=Standard_NC48ads_A100_v4
. tests/install/root.sh
log=$build/log
begin "portable tree" "$log"

need_tools cmake ninja patchelf objdump:binutils debootstrap unshare:util-linux

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say "building"
sh src/packaging/portable.sh "$build" >"$log" 2>&1 </dev/null || broken
tail -n 1 "$log"
tree=$(basename "$build"/muster-*.tar.gz .tar.gz)
mkdir "$scratch/unpacked"
tar -C "$scratch/unpacked" -xzf "$build/$tree.tar.gz"

# ---- its files ----

elf_files() {
	find "$scratch/unpacked" -type f | while read -r file; do
		[ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || echo "$file"
	done
}

versions_are_old() {
	elf_files >"$scratch/elf"
	wc -l <"$scratch/elf"
	[ "$(wc -l <"$scratch/elf")" -gt 50 ] || return 1
	while read -r file; do
		objdump -p "$file" | sed -n "s/.* GLIBC_\\([0-9.]*\\)\$/\\1 ${file##*/}/p"
	done <"$scratch/elf" | sort -V >"$scratch/versions"
	grep -q '^2\.34 ' "$scratch/versions" || return 1 # it was built here, and objdump prints what is expected
	tail -n 3 "$scratch/versions"
	latest=$(tail -n 1 "$scratch/versions" | cut -d' ' -f1)
	[ "$(printf '%s\n' "$latest" "$glibc" | sort -V | tail -n 1)" = "$glibc" ]
}

# Each library is glibc's, in the tree, or a plugin's that is loaded already; and the tree's are found without a variable.
libraries_are_inside() {
	while read -r file; do
		objdump -p "$file" | sed -n 's/^ *NEEDED *//p' | while read -r library; do
			case $library in
			libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | libresolv.so.2 | ld-linux*) ;;
			*) [ -e "$scratch/unpacked/$tree/lib/muster/lib/$library" ] || echo "$file: $library is not in the tree" ;;
			esac
		done
		objdump -p "$file" | grep -q 'RPATH *\$ORIGIN/' || echo "$file: has no RPATH"
		! objdump -p "$file" | grep -q RUNPATH || echo "$file: has a RUNPATH, which comes after the host's libraries"
	done <"$scratch/elf" | tee "$scratch/outside"
	[ ! -s "$scratch/outside" ]
}
nothing_of_vendors() {
	find "$scratch/unpacked/$tree/lib/muster/lib" "$scratch/unpacked/$tree/lib/muster/mpi" |
		grep -E 'libcuda|libnccl|libnvidia|ibverbs|libuc[pst]|libfabric|libpsm|libnl' && return 1
	for package in libopenmpi3 libhwloc15 libcjson1; do
		[ -s "$scratch/unpacked/$tree/share/doc/muster/libraries/$package/copyright" ] || return 1
	done
}

check "no file asks for more than glibc $glibc" versions_are_old
check "every library is glibc's or in the tree, and found there" libraries_are_inside
check "no library of a vendor or fabric; the others with their licences" nothing_of_vendors

# ---- in other systems ----

# passes RANKS COMMAND...: in $root, with a last line that says PASS
passes() {
	ranks=$1
	shift
	inside "$root" "$@" >"$scratch/text" 2>&1 || :
	cat "$scratch/text"
	grep "^MUSTER PASS sku=$sku " "$scratch/text" | grep -q " ranks=$ranks failed=0 "
}
# A place with a blank, as /opt may be a mount of anything.
muster="/opt/some place/$tree/bin/muster"

# system NAME SUITE: a minimal root with the tree
system() {
	name=$1 root=$scratch/$2
	make_root "$2" "$root"
	mkdir "$root/opt/some place"
	tar -C "$root/opt/some place" -xzf "$build/$tree.tar.gz"
	none_of_its_libraries() {
		! inside "$root" sh -c 'ls /usr/lib/*/libmpi* /usr/lib/*/libhwloc* /usr/lib/*/libcjson* /usr/lib/*/libevent* 2>/dev/null'
	}
	check "$name has none of its libraries" none_of_its_libraries
	check "$name: muster sim --alone" passes 2 "$muster" sim --sku $sku --alone --report /root/report.json
	check "$name: a history keeps its report" inside "$root" "$muster" history add /root/report.json --db /root/history.db
	check "$name: muster sim, under the tree's mpirun" passes 4 "$muster" sim --sku $sku --nodes 2 --report /tmp/report.json
}

# under_mpirun VERSION: the root's own mpirun, and a simulated node for each of its ranks
under_mpirun() {
	inside "$root" apt-get -qy update >"$log" 2>&1 &&
		inside "$root" apt-get -qy --no-install-recommends install openmpi-bin >>"$log" 2>&1 ||
		skip "openmpi-bin cannot be installed in $name: $(tail -n 1 "$log")"
	has_version() {
		inside "$root" mpirun --version | grep -F "(Open MPI) $1."
	}
	check "$name has an mpirun of Open MPI $1" has_version "$1"
	# shellcheck disable=SC2016
	check "$name: muster run, under mpirun $1" passes 2 sh -c '"$1" sim --sku "$2" --prepare /tmp/sim &&
		exec mpirun --oversubscribe --bind-to none -np 2 "$1" sim-rank /tmp/sim -- "$1" run --sku "$2" --report /tmp/r.json' \
		sh "$muster" $sku
	check "$name: muster sim still takes the tree's mpirun" passes 2 "$muster" sim --sku $sku --report /tmp/report.json
}

system "Debian 12" bookworm
under_mpirun 4
rm -rf "$root"
system "Debian 13" trixie
under_mpirun 5
rm -rf "$root"
closing 0
