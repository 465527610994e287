#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# portable.sh - one folder and one tarball with muster and all it needs but glibc and the vendor libraries
#
# usage: src/packaging/portable.sh [FOLDER]     writes FOLDER/muster-VERSION-ARCH/ and FOLDER/muster-VERSION-ARCH.tar.gz
#                                               (default: build-portable, where it builds as well)
#
# For hosts and images that have no Open MPI, hwloc or cJSON, or where nothing can be installed. Needs Debian 12 or Ubuntu
# 22.04 with the build's packages and patchelf: what is built on a newer system wants its glibc. The result runs on any
# Linux of the same processor with glibc 2.34 or later.
#
# In the folder are the tree that cmake installs, the libraries in lib/muster/lib, and Open MPI with PMIx in
# lib/muster/mpi/openmpi (src/transport/module.h). Every file finds the libraries relative to itself (RPATH), so that
# nothing has to be set, and no library of the host comes between. Left out: Open MPI's plugins for fabrics, because
# muster's own messages use TCP and shared memory, and libcurl, which would bring some thirty libraries: muster opens the
# host's where there is one.
set -eu

glibc=2.34
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${1:-$source/build-portable}"
folder=$(cd "${1:-$source/build-portable}" && pwd)
build=$source/build-portable/build

fail() {
	echo "portable.sh: $*" >&2
	exit 1
}

for tool in cmake ninja patchelf objcopy ompi_info mpirun cc; do
	command -v "$tool" >/dev/null || fail "there is no $tool: apt-get install patchelf, and the packages of src/setup.sh"
done
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=OFF -DCMAKE_INSTALL_LIBDIR=lib \
	>/dev/null
ninja -C "$build" >/dev/null
[ -e "$build/lib/muster/mpi/openmpi.so" ] || fail "no MPI module was built: is libopenmpi-dev installed?"

name=muster-$(sed -n 's/^project(muster VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")-$(uname -m)
tree=$folder/$name
rm -rf "$tree" "$tree.tar.gz"
cmake --install "$build" --strip --prefix "$tree" >/dev/null
libraries=$tree/lib/muster/lib mpi=$tree/lib/muster/mpi/openmpi
mkdir -p "$libraries" "$mpi/bin" "$mpi/lib/openmpi" "$mpi/share" "$mpi/etc" "$mpi/pmix/lib" "$mpi/pmix/share"

# ---- Open MPI and PMIx: programs, plugins, help texts ----

opal() {
	ompi_info --parsable --path "$1" | sed 's/.*://'
}
for program in mpirun orted; do
	cp -L "$(command -v $program)" "$mpi/bin/$program.bin"
	sed "s/@name@/$program/" "$source/src/packaging/portable/mpirun.in" >"$mpi/bin/$program"
	chmod 755 "$mpi/bin/$program"
done
for plugin in "$(opal pkglibdir)"/*.so; do
	ldd "$plugin" | grep -qE 'libuc[pst]\.|libfabric|libpsm|libibverbs|librdmacm|libnl|libflux|liboshmem|not found' ||
		cp -L "$plugin" "$mpi/lib/openmpi/"
done
cp -rL "$(opal pkgdatadir)" "$mpi/share/openmpi"
pmix=$(ldd "$mpi/lib/openmpi/mca_pmix_ext3x.so" | sed -n 's/.*libpmix\.so\.[0-9]* => \([^ ]*\) .*/\1/p')
pmix=$(dirname "$(readlink -f "$pmix")")
cp -rL "$pmix/pmix" "$mpi/pmix/lib/"
[ ! -d "$pmix/../share/pmix" ] || cp -rL "$pmix/../share/pmix" "$mpi/pmix/share/"
cat >"$mpi/environment" <<'END'
OPAL_PREFIX=./
OPAL_BINDIR=./bin
OPAL_LIBDIR=./lib
OPAL_PKGLIBDIR=./lib/openmpi
OPAL_DATADIR=./share
OPAL_PKGDATADIR=./share/openmpi
OPAL_SYSCONFDIR=./etc
PMIX_PREFIX=./pmix
PMIX_LIBDIR=./pmix/lib
PMIX_PKGLIBDIR=./pmix/lib/pmix
PMIX_DATADIR=./pmix/share
PMIX_PKGDATADIR=./pmix/share/pmix
PMIX_SYSCONFDIR=./etc
OMPI_MCA_mca_base_component_path=./lib/openmpi
HWLOC_PLUGINS_PATH=./share
PMIX_MCA_mca_base_component_path=./pmix/lib/pmix
OMPI_MCA_pml=ob1
END

# ---- libraries ----

binaries() {
	find "$tree" -type f \( -name '*.so' -o -name '*.so.*' -o -name '*.bin' -o -path '*/bin/muster' -o -name muster-sim \)
}
{
	for file in $(binaries); do
		ldd "$file" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p'
	done
	ldconfig -p | sed -n 's/.*libsqlite3\.so\.0 .*=> //p' | head -n 1 # opened at run time
} | sort -u | while read -r library; do
	case ${library##*/} in
	libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libresolv.so.* | ld-linux*) continue ;;
	esac
	cp -L "$library" "$libraries/"
	# what its licence says goes along
	package=$(dpkg-query -S "*/$(basename "$(readlink -f "$library")")" | sed 's/:.*//;q')
	mkdir -p "$tree/share/doc/muster/libraries/$package"
	cp -L "/usr/share/doc/$package/copyright" "$tree/share/doc/muster/libraries/$package/"
done

# needs FILE: the latest version of glibc that it asks for
needs() {
	objdump -p "$1" | sed -n 's/.* GLIBC_\([0-9.]*\)$/\1/p' | sort -V | tail -n 1
}
is_later() {
	[ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" != "$2" ]
}

names() {
	nm -D --defined-only "$1" | awk '{ print $2, $3 }' | sort
}

# libevent_core and libexpat of Debian 12 ask for arc4random_buf of glibc 2.36. The same object files, from the archive
# for programs, with that function from portable/arc4random.c, are a library that does not; it must have exactly the same
# names.
for library in "$libraries"/*; do
	is_later "$(needs "$library")" "$glibc" || continue
	soname=${library##*/}
	archive=$(cc -print-file-name="$(echo "$soname" | sed 's/\(-[0-9.]*\)\{0,1\}\.so\..*/.a/')")
	[ -e "$archive" ] || fail "$soname asks for GLIBC_$(needs "$library"), and there is no $archive to link it anew"
	objcopy --redefine-sym stderr=muster_stderr "$archive" "$build/archive.a"
	cc -O2 -fPIC -shared -Wall -Wextra -o "$build/$soname" "$source/src/packaging/portable/arc4random.c" \
		-Wl,--whole-archive "$build/archive.a" -Wl,--no-whole-archive -Wl,-soname,"$soname" -lm \
		-Wl,-Bsymbolic -Wl,-z,defs -Wl,-z,text -Wl,-z,relro -Wl,-z,now
	names "$library" >"$build/wanted"
	names "$build/$soname" >"$build/got"
	diff "$build/wanted" "$build/got" >&2 || fail "$soname from $archive has other names than the original"
	cp "$build/$soname" "$library"
done

for file in $(binaries); do
	strip --strip-unneeded "$file"
	patchelf --force-rpath --set-rpath "\$ORIGIN/$(realpath --relative-to="$(dirname "$file")" "$libraries")" "$file"
	needed=$(needs "$file")
	! is_later "$needed" "$glibc" || fail "${file#"$tree"/} asks for GLIBC_$needed: build on a system with an older glibc"
done

tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner -czf "$tree.tar.gz" "$name"
echo "$tree.tar.gz: $(du -m "$tree.tar.gz" | cut -f1) MiB, $(du -sm "$tree" | cut -f1) MiB unpacked, glibc $glibc or later"
