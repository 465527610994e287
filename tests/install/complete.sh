#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# complete.sh - whoever has built the program alone can install: every built file that is installed is built with it
#
# usage: complete.sh BUILD-FOLDER
set -eu

cd "$1"
[ -e build.ninja ] || { echo "skipped: only ninja says what belongs to a target" && exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

ninja -t inputs muster >"$scratch/inputs" || { echo "skipped: this ninja has no -t inputs" && exit 77; }
echo muster >>"$scratch/inputs"
find . -name cmake_install.cmake -exec grep -ho "\"$PWD/[^\"]*\"" {} + | tr -d '"' | sed "s|^$PWD/||" | sort -u >"$scratch/named"
while read -r file; do
	case $file in
	*'$'* | *cmake_install.cmake | *install_local_manifest.txt | CMakeFiles/CMakeRelink.dir/*) ;;
	*) grep -qxF -e "$file" -e "$PWD/$file" "$scratch/inputs" || echo "$file" ;;
	esac
done <"$scratch/named" >"$scratch/missing"
grep -qx muster "$scratch/named" || { echo "the list of installed files does not name the program" && exit 1; }
[ ! -s "$scratch/missing" ] || {
	echo "installed, and not built with the program:"
	cat "$scratch/missing"
	exit 1
}
