#!/bin/sh
# pack.sh - muster and all it needs but the vendor libraries, in one folder that runs on another host
#
# usage: tests/gpu/pack.sh [FOLDER]     (default tests/gpu/.pack, which git ignores)
#
# For GPU hosts that have no Open MPI, hwloc or cJSON and cannot install them. Built on Debian or Ubuntu with the
# build's packages; runs on any x86-64 or aarch64 Linux with the same or a newer glibc. tests/gpu/run.sh finds the
# folder by itself.
# Open MPI's plugins for fabrics are left out: muster's own messages use TCP and shared memory. libcurl and libexpat are
# left out too: libcurl needs some thirty more libraries, and other programs that run.sh starts would load these copies.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
pack=${1:-$source/tests/gpu/.pack}
build=$source/build-pack

cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=OFF \
	-DCMAKE_DISABLE_FIND_PACKAGE_CURL=ON -DCMAKE_DISABLE_FIND_PACKAGE_EXPAT=ON >/dev/null
ninja -C "$build" muster >/dev/null
[ -n "$(ls "$build"/lib/muster/mpi/*.so 2>/dev/null)" ] || {
	echo "pack.sh: there is no MPI module in $build/lib/muster/mpi: is mpi.h installed?" >&2
	exit 1
}

# Debian installs Open MPI and PMIx below folders that only they know.
# shellcheck disable=SC2046
set -- $(ompi_info --parsable --path prefix --path libdir --path pkglibdir --path pkgdatadir | sed 's/.*://')
prefix=$1 libdir=$2 plugins=$3 data=$4
libraries=$(dirname "$(ldconfig -p | sed -n 's/.*libopen-rte\.so\.[0-9]* .*=> //p' | head -n 1)")
libraries=$(readlink -f "$libraries")

rm -rf "$pack"
mkdir -p "$pack/bin" "$pack/share/muster" "$pack/lib/muster"
cp "$build/muster" "$pack/bin/"
cp -r "$source/configs" "$source/src/sim/hardware" "$pack/share/muster/"
cp -r "$build/lib/muster/mpi" "$build/lib/muster/sim" "$pack/lib/muster/"

# The libraries of a program or plugin, glibc and the vendors' apart.
add_libraries() {
	ldd "$1" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | while read -r library; do
		case ${library##*/} in
		libc.so.* | libm.so.* | libdl.so.* | librt.so.*) continue ;;
		libpthread.so.* | libresolv.so.* | ld-linux*) continue ;;
		esac
		[ -e "$pack/lib/${library##*/}" ] || cp -L "$library" "$pack/lib/"
	done
}

# Keep Open MPI's layout below its prefix, so that OPAL_PREFIX moves it.
mkdir -p "$pack$prefix/bin" "$pack$plugins" "$pack$data"
cp -L "$(command -v mpirun)" "$pack$prefix/bin/mpirun"
cp -L "$(command -v orted)" "$pack$prefix/bin/orted"
cp -r "$data/." "$pack$data/"
for plugin in "$plugins"/*.so; do
	if ! ldd "$plugin" | grep -qE 'libuc[pst]\.|libfabric|libpsm|libibverbs|librdmacm|libflux|not found'; then
		cp -L "$plugin" "$pack$plugins/"
		add_libraries "$plugin"
	fi
done
for program in "$pack/bin/muster" "$pack"/lib/muster/*/*; do
	add_libraries "$program"
done
add_libraries "$pack$prefix/bin/mpirun"
add_libraries "$pack$prefix/bin/orted"

# PMIx as well: its plugins, below the prefix that PMIX_INSTALL_PREFIX moves.
pmix=
for folder in "$libraries"/pmix2 "$libraries"/pmix; do
	[ ! -d "$folder/lib/pmix" ] || pmix=$folder
done
if [ -n "$pmix" ]; then
	mkdir -p "$pack$pmix/lib" "$pack$pmix/share"
	cp -r "$pmix/lib/pmix" "$pack$pmix/lib/"
	[ ! -d "$pmix/share/pmix" ] || cp -rL "$pmix/share/pmix" "$pack$pmix/share/"
	for plugin in "$pmix"/lib/pmix/*.so; do
		add_libraries "$plugin"
	done
fi

# What run.sh needs to know.
cat >"$pack/environment" <<END
export OPAL_PREFIX="\$pack$prefix"
export OPAL_LIBDIR="\$pack$libdir" OPAL_PKGLIBDIR="\$pack$plugins" OPAL_PKGDATADIR="\$pack$data"
export PATH="\$pack/bin:\$pack$prefix/bin:\$PATH"
export LD_LIBRARY_PATH="\$pack/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
END
[ -z "$pmix" ] || echo "export PMIX_INSTALL_PREFIX=\"\$pack$pmix\"" >>"$pack/environment"
strip --strip-unneeded "$pack"/lib/*.so* "$pack"/lib/muster/mpi/*.so "$pack$plugins"/*.so 2>/dev/null || :
du -sm "$pack" | { read -r size rest && echo "$rest: $size MiB, $(ls "$pack/lib" | wc -l) libraries"; }
