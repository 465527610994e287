#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh - the .deb and .rpm: what is in them; installed, used and removed in a Debian that has none of it
#
# usage: sh tests/install/packages.sh     builds into build-packages/; the last line is "N passed, N failed, N skipped"
#
# Needs root. The .rpm is unpacked, verified and erased by rpm in the same root: Debian's libraries have other names than
# those of the systems that use rpm, so it is installed without looking at what it requires.
set -eu

cd "$(dirname "$0")/../.."
build=$PWD/build-packages
sku=Standard_NC48ads_A100_v4
. tests/install/root.sh
log=$build/log
begin packages "$log"

need_tools cmake ninja dpkg-shlibdeps:dpkg-dev lintian rpmbuild:rpm debootstrap unshare:util-linux

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root

say "building"
{
	cmake -S . -B "$build" -G Ninja -DMUSTER_TESTS=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo && ninja -C "$build" &&
		rm -f "$build"/*.deb "$build"/*.rpm && (cd "$build" && cpack -G DEB && cpack -G RPM)
} >"$log" 2>&1 </dev/null || broken
version=$(sed -n 's/^project(muster VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
deb=$build/muster_${version}_$(dpkg --print-architecture).deb
sim=$build/muster-sim_${version}_$(dpkg --print-architecture).deb
spank=$build/muster-spank_${version}_$(dpkg --print-architecture).deb
doc=$build/muster-doc_${version}_all.deb
rpm=$build/muster-$version-1.$(uname -m).rpm
sim_rpm=$build/muster-sim-$version-1.$(uname -m).rpm
spank_rpm=$build/muster-spank-$version-1.$(uname -m).rpm
doc_rpm=$build/muster-doc-$version-1.noarch.rpm

# ---- what is in them ----

# Each file that cmake installs is in a package, where only the folder of zsh and the licence have other names on Debian.
nothing_is_lost() {
	DESTDIR=$scratch/installed cmake --install "$build" --prefix /usr >/dev/null
	(cd "$scratch/installed" && find . ! -type d) | sed -e 's|^\.||' -e '/\/man1\//s|$|.gz|' | sort >"$scratch/wanted"
	rpm -qlp "$rpm" "$sim_rpm" "$spank_rpm" "$doc_rpm" | sort >"$scratch/rpm-files"
	for package in "$deb" "$sim" "$spank" "$doc"; do dpkg -c "$package"; done | awk '$1 !~ /^d/ { print $6 }' | sed 's|^\.||' |
		sed -e 's|/vendor-completions/|/site-functions/|' -e '$a /usr/share/doc/muster/LICENSE' | sort >"$scratch/deb-files"
	test "$(wc -l <"$scratch/wanted")" -gt 60 && test -z "$(comm -23 "$scratch/wanted" "$scratch/rpm-files" | tee /dev/stderr)" &&
		test -z "$(comm -23 "$scratch/wanted" "$scratch/deb-files" | tee /dev/stderr)"
}

field() {
	dpkg-deb -f "$1" "$2"
}

# Version of the program 0.2.0+g1a2b3c4d, of the package 0.2.0+20261129122643.g1a2b3c4d.
says_its_commit() {
	program=$("$build/muster" --version) && program=${program#muster } && field "$deb" Version &&
		field "$deb" Version | sed 's/+[0-9]*\./+/' | grep -qxF "$program" &&
		test "$(rpm -qp --qf '%{VERSION}' "$rpm")" = "$(field "$deb" Version)" || return 1
	dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/share/doc/muster/changelog.gz | gzip -dc >"$scratch/changelog"
	dpkg-parsechangelog -l "$scratch/changelog" -S Version | grep -qxF "$(field "$deb" Version)" &&
		dpkg-parsechangelog -l "$scratch/changelog" -S Changes | grep -q '^ *\* .*`muster --version`' &&
		test "$(dpkg-parsechangelog -l "$scratch/changelog" -S Timestamp)" = "$(git log -1 --format=%ct)"
}
# Hosts in production have the program alone: no library with a vendor's name, no document but README and man page.
has_no_more_than_the_program() {
	dpkg -c "$deb" | awk '{ print $6 }' >"$scratch/files"
	! grep -E 'lib(cuda|nccl|nvidia|ibverbs)|/muster/sim/|/docs/|examples' "$scratch/files"
}

# Libraries by what was built; an MPI is wanted, but not needed.
dependencies_of_deb() {
	field "$deb" Depends && field "$deb" Recommends
	for library in libc6 libcjson1 libhwloc15; do
		field "$deb" Depends | grep -q "$library " || return 1
	done
	field "$deb" Recommends | grep -q '^muster-sim, libopenmpi' && field "$sim" Depends | grep -qF "muster (= $(field "$deb" Version))" && ! field "$deb" Depends | grep -q mpi &&
		field "$spank" Depends | grep -qF "muster (= $(field "$deb" Version))" && field "$spank" Recommends | grep -q 'slurm-client (>= [0-9]'
}

# The stand-ins have the names of the vendors' libraries: no package may be told that they are here.
claims_of_rpm() {
	rpm -qp --provides "$rpm" "$sim_rpm" "$spank_rpm" && rpm -qp --requires "$rpm" && rpm -qp --recommends "$rpm" | grep -qx muster-sim
	! rpm -qp --provides "$rpm" "$sim_rpm" "$spank_rpm" | grep -vE '^muster(-sim|-spank)?(\([a-z0-9-]+\))? = ' &&
		! rpm -qp --requires "$rpm" "$sim_rpm" | grep -E 'libmpi|libcuda|libnccl|libnvidia|libibverbs' &&
		rpm -qp --requires "$rpm" | grep -q '^libhwloc\.so' && test "$(rpm -qpc "$rpm")" = /etc/default/muster
}

# The maintainer's address has no domain, on purpose: packages.cmake.
check "lintian finds no error" lintian --allow-root --fail-on error \
	--suppress-tags bad-whatis-entry,bogus-mail-host,bogus-mail-host-in-debian-changelog "$deb" "$sim" "$spank" "$doc"
check "the packages name the commit, and the changelog what is new" says_its_commit
check "the package muster has no stand-ins and no documents" has_no_more_than_the_program
check "every installed file is in a package" nothing_is_lost
check "dependencies of the .deb" dependencies_of_deb
check "what the .rpm provides and requires" claims_of_rpm

# ---- a Debian with none of it ----

make_root bookworm "$root"
files_of_root() {
	(cd "$root" && find etc usr var/log opt ! -path 'var/log/apt*' ! -name 'dpkg.log' ! -name 'alternatives.log' ! -path '*/__pycache__*' |
		sort)
}
install_in_root() {
	inside "$root" apt-get -qy -o Dpkg::Options::=--force-confold --no-install-recommends "$@"
}
passes() {
	inside "$root" "$@" | tee "$scratch/text"
	tail -n 1 "$scratch/text" | grep -q "^MUSTER PASS sku=$sku "
}
mkdir "$root/packages"
cp "$build"/*.deb "$build"/*.rpm "$root/packages/"
install_in_root update >"$log" 2>&1 || skip "apt-get update fails in the root: $(tail -n 1 "$log")"

# Its libraries stay after this one, so that what the package itself leaves behind can be told.
without_a_network() {
	mkdir -p "$root/fetched/partial"
	cp "$deb" "$root/fetched/"
	install_in_root install --download-only -o Dir::Cache::archives=/fetched "/packages/${deb##*/}" && ls "$root/fetched" &&
		offline=--net inside "$root" sh -c "apt-get -qy --no-install-recommends install /fetched/*.deb" &&
		inside "$root" muster --version && inside "$root" apt-get -qy purge muster
}
check "installed without a network, from what was fetched elsewhere" without_a_network
files_of_root >"$scratch/before"

says_which_mpi_is_missing() {
	code=0
	inside "$root" muster run >"$scratch/run" 2>&1 || code=$?
	cat "$scratch/run"
	[ "$code" -eq 2 ] && grep -qF 'openmpi.so: libmpi.so' "$scratch/run" && grep -qF '`muster node` needs none' "$scratch/run"
}
completes() {
	inside "$root" bash --norc -c '. /usr/share/bash-completion/completions/muster
		COMP_LINE="muster skus Standard_NC48" COMP_POINT=25
		_muster muster
		test "${COMPREPLY[*]}" = Standard_NC48ads_A100_v4'
}
slurm_knows_the_option() {
	install_in_root install slurm-client /packages/"${spank##*/}"
	printf 'ClusterName=a\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=a Nodes=ALL\n' >"$root/etc/slurm/slurm.conf"
	echo "optional /usr/lib/muster/spank_muster.so" >"$root/etc/slurm/plugstack.conf"
	inside "$root" srun --help | grep -e --muster
}
settings_survive() {
	grep -q '^#MUSTER=' "$root/etc/default/muster" || return 1
	echo 'MUSTER_LOG=/var/log/elsewhere' >>"$root/etc/default/muster"
	install_in_root install --reinstall "/packages/${deb##*/}" && grep elsewhere "$root/etc/default/muster" &&
		inside "$root" apt-get -qy remove muster muster-sim muster-spank && grep elsewhere "$root/etc/default/muster"
}
# Slurm drains a node for a link that leads nowhere, and for an empty prolog.d.
prolog_stays_harmless() {
	link=$root/etc/slurm/prolog.d/50-muster
	test -f "$link" && test ! -L "$link" && inside "$root" /etc/slurm/prolog.d/50-muster && test -L "$root/etc/slurm/prolog.d/99-other"
}
nothing_is_left() {
	mkdir -p "$root/var/log/muster" "$root/var/lib/muster" && touch "$root/var/log/muster/log" "$root/var/lib/muster/history.db"
	inside "$root" apt-get -qy purge muster muster-sim muster-spank
	inside "$root" apt-get -qy purge slurm-client
	rm -rf "$root/etc/slurm"
	files_of_root >"$scratch/after"
	test -z "$(comm -13 "$scratch/before" "$scratch/after" | grep muster | tee /dev/stderr)"
}

# With a jetpack that has the package, and the options of a site.
cyclecloud_installs_it() {
	cat >"$root/usr/local/bin/jetpack" <<-'END'
		#!/bin/sh
		case $1,$2 in
		config,muster.options) echo "--sku Standard_NC48ads_A100_v4" ;;
		config,*) echo "$3" ;;
		download,*) cp "/packages/$4" "$5" ;;
		esac
	END
	chmod 755 "$root/usr/local/bin/jetpack"
	cp slurm/cyclecloud/specs/execute/cluster-init/scripts/10-muster.sh "$root/packages/"
	inside "$root" /packages/10-muster.sh && inside "$root" muster --version &&
		! inside "$root" sh -c 'ls /usr/lib/*/libmpi.so*' && inside "$root" /packages/10-muster.sh &&
		inside "$root" sh -c '. /etc/default/muster && test "$MUSTER_NODE_OPTIONS" = "--sku Standard_NC48ads_A100_v4"' &&
		rm "$root/usr/local/bin/jetpack" && cp slurm/muster.default "$root/etc/default/muster"
}

says_where_the_simulator_is() {
	code=0
	inside "$root" muster sim --list-skus >"$scratch/run" 2>&1 || code=$?
	cat "$scratch/run"
	[ "$code" -eq 2 ] && [ "$(wc -l <"$scratch/run")" -eq 1 ] && grep -qF '/usr/libexec/muster/muster-sim' "$scratch/run" &&
		grep -qF 'the package muster-sim' "$scratch/run"
}

check "CycleCloud's script installs it, without MPI" cyclecloud_installs_it
check "dpkg finds every file as it was" inside "$root" sh -c 'dpkg -V muster && test -z "$(dpkg -V muster)"'
check "without the simulator, muster sim says which package has it" says_where_the_simulator_is
check "the simulator is installed" install_in_root install "/packages/${sim##*/}"
check "a simulated node passes without MPI" passes muster sim --sku $sku --alone --report /root/report.json
check "a history keeps its report" inside "$root" muster history add /root/report.json --db /root/history.db
check "muster run says which MPI is missing" says_which_mpi_is_missing
check "bash completes" completes
check "the man page is there" inside "$root" sh -c 'gzip -dc /usr/share/man/man1/muster.1.gz | grep -q "^\.TH MUSTER"'
check "apt installs the recommended MPI" install_in_root install openmpi-bin "$(field "$deb" Recommends | grep -o 'libopenmpi[^ ,]*')"
check "simulated nodes pass under mpirun" passes muster sim --sku $sku --nodes 2 --report /tmp/report.json
check "Slurm loads the plugin of muster-spank" slurm_knows_the_option
mkdir -p "$root/etc/slurm/prolog.d" "$root/etc/slurm/epilog.d"
ln -s /usr/share/muster/slurm/prolog.d/50-muster "$root/etc/slurm/prolog.d/50-muster"
ln -s /usr/share/other "$root/etc/slurm/prolog.d/99-other"
check "changed settings survive another installation and the removal" settings_survive
check "a prolog link becomes a script that does nothing" prolog_stays_harmless
check "purged, nothing of it is left" nothing_is_left

# ---- rpm ----

install_in_root install rpm >"$log" 2>&1 || skip "rpm cannot be installed in the root: $(tail -n 1 "$log")"
files_of_root >"$scratch/before"
verified_by_rpm() {
	inside "$root" rpm --nodeps -i "/packages/${rpm##*/}" "/packages/${sim_rpm##*/}" "/packages/${spank_rpm##*/}"
	changed=$(inside "$root" rpm -V --nodeps muster muster-sim muster-spank) && test -z "$changed"
}
erased_by_rpm() {
	echo 'MUSTER_LOG=/var/log/elsewhere' >>"$root/etc/default/muster"
	inside "$root" rpm --nodeps -e muster muster-sim muster-spank && grep elsewhere "$root/etc/default/muster.rpmsave" &&
		rm "$root/etc/default/muster.rpmsave" && files_of_root >"$scratch/after" &&
		test -z "$(comm -13 "$scratch/before" "$scratch/after" | grep -i muster | tee /dev/stderr)"
}
check "rpm finds every file as it was" verified_by_rpm
check "a simulated node passes" passes muster sim --sku $sku --alone --report /root/report.json
check "rpm erases it, and keeps changed settings" erased_by_rpm

closing 0
