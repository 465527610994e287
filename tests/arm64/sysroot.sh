#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh - the arm64 packages that muster is built with, and qemu, unpacked into a folder
#
# usage: sysroot.sh FOLDER     makes FOLDER/root (libraries and headers for aarch64) and FOLDER/host (qemu for this machine)
#
# Nothing is installed, and apt's lists and architectures on this machine stay as they are; root is not needed. What is
# already there is kept.
set -eu

mkdir -p "$1"
folder=$(cd "$1" && pwd) apt=$folder/apt
host=$(dpkg --print-architecture)
cd "$(dirname "$0")/../.."

# setup.sh knows what muster is built and tested with: of that, the libraries.
packages=$(sed -nE '/^(test_)?packages="/,/"$/p' src/setup.sh | grep -owE 'lib[a-z0-9-]+|check')
stamp=$(printf '%s\n' "$packages" qemu-user-static)
if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then
	exit 0
fi
rm -rf "$apt" "$folder/root" "$folder/host" "$folder/stamp"
mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/root" "$apt/host" "$folder/root" "$folder/host"

# The distribution's own archive, as this machine is told to reach it.
for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources /etc/apt/sources.list; do
	[ ! -e "$file" ] || cp "$file" "$apt/sources/"
done
: >"$apt/status"
cat >"$apt/apt.conf" <<END
#clear APT::Architectures;
APT::Architecture "arm64";
APT::Architectures { "arm64"; "$host"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/sources";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
export APT_CONFIG="$apt/apt.conf"
apt-get -q update

# All that the packages need, as on an empty machine, less what only a running system needs.
# $packages and $needed are lists of words.
# shellcheck disable=SC2086
{
	needed=$(apt-get -qs install $packages | sed -nE 's/^Inst ([^ ]+) .*/\1/p' |
		grep -E '^(lib.*|zlib.*|linux-libc-dev|openmpi-common|check)$' |
		grep -vE '^lib(perl|icu|asan|hwasan|lsan|tsan|ubsan|js-)')
	(cd "$apt/root" && apt-get -q download $needed)
}
(cd "$apt/host" && apt-get -q download "qemu-user-static:$host")
for file in "$apt"/root/*.deb; do
	dpkg-deb -x "$file" "$folder/root"
done
# of all the processors that it has
dpkg-deb --fsys-tarfile "$apt"/host/*.deb | tar -xC "$folder/host" ./usr/bin/qemu-aarch64-static

# On a system these come from the package that has the folders of /, and from the links of update-alternatives.
for name in lib bin sbin; do
	[ -e "$folder/root/$name" ] || ln -s "usr/$name" "$folder/root/$name"
done
find "$folder/root" -type l -lname '/*' | while read -r link; do
	ln -sfnr "$folder/root$(readlink "$link")" "$link"
done
rm -rf "$apt"
printf '%s\n' "$stamp" >"$folder/stamp"
