#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# version.sh - which commit a build names, and when the file with the version is written anew
#
# usage: version.sh CMAKE SOURCE-FOLDER
set -eu

cmake=$1 source=$2
command -v git >/dev/null || { echo "skipped: there is no git" && exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@localhost GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost

# says VERSION FOLDER HASH WHERE
says() {
	"$cmake" "-DSOURCE=$2" -DRELEASE=1.2.3 "-DHASH=$3" "-DOUTPUT=$scratch/version.c" -P "$source/src/packaging/version.cmake"
	grep -qxF "const char muster_version[] = \"$1\";" "$scratch/version.c" || {
		echo "$4: not $1, but:" && cat "$scratch/version.c" && exit 1
	}
}

mkdir -p "$tree/src/packaging"
cp "$source/src/packaging/commit" "$tree/src/packaging/"
cp "$source/.gitattributes" "$tree/"
says 1.2.3 "$tree" "" "without git"
says 1.2.3+gabc123 "$tree" abc123 "with a hash that was given"

git -C "$tree" init -q
git -C "$tree" add .
git -C "$tree" commit -qm first
hash=$(git -C "$tree" rev-parse --short=8 HEAD)
says "1.2.3+g$hash" "$tree" "" "in a commit"
touch -d 2001-01-01 "$scratch/version.c"
says "1.2.3+g$hash" "$tree" "" "again"
[ -n "$(find "$scratch/version.c" ! -newermt 2001-01-02)" ] || { echo "the file is written although the version is the same" && exit 1; }
touch "$tree/new"
says "1.2.3+g$hash" "$tree" "" "with a file that git does not know"
git -C "$tree" add new
says "1.2.3+g$hash.dirty" "$tree" "" "with changes that are not committed"

# A tarball names its commit, also inside another repository.
mkdir "$tree/tarball"
git -C "$tree" archive HEAD | tar -x -C "$tree/tarball"
says "1.2.3+g$hash" "$tree/tarball" "" "in a tarball"
grep -qx "/\* committed $(git -C "$tree" log -1 --format=%ct) \*/" "$scratch/version.c" || { echo "a tarball has no time" && exit 1; }
cp "$source/src/packaging/commit" "$tree/tarball/src/packaging/"
says 1.2.3 "$tree/tarball" "" "copied into another repository"

# Documents and the man page name the release.
release=$(sed -n 's/^project(muster VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
for file in docs/report.md docs/man/muster.1; do
	grep -qF "muster $release" "$source/$file" || { echo "$file does not name muster $release" && exit 1; }
done
grep -qx "## $release" "$source/docs/changelog.md" || { echo "docs/changelog.md has nothing of $release" && exit 1; }
