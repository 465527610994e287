#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh - clang-tidy has nothing to say about the sources
#
# usage: tidy.sh SOURCE-FOLDER BUILD-FOLDER     (with compile_commands.json)
set -eu

source=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
for clang_tidy in clang-tidy-14 clang-tidy ""; do
	"${clang_tidy:-false}" --version 2>/dev/null | grep -q 'version 14\.' && break
done
if [ -z "$clang_tidy" ]; then
	echo "skipped: no clang-tidy 14 here; Debian's and Ubuntu's package clang-tidy-14 has it"
	exit 77
fi

# Files that the build knows, each with the analyzer's hints except the one that defines what they are about. Not the
# stand-ins: they have to declare other people's functions once more, which is what clang-tidy would say about them.
files=$(sed -nE 's/^ *"file": "(.*)",?$/\1/p' "$build/compile_commands.json" | grep -F "$source/src/" |
	grep -v '/src/sim/standins/' | LC_ALL=C sort -u)
[ -n "$files" ]
hints="--extra-arg=-include --extra-arg=$source/include/muster/error.h --extra-arg=-include --extra-arg=$here/hints.h"
# The compile commands may be gcc's, with warnings that clang has never heard of; and the analyzer would follow the
# parsers' paths for minutes.
common="-p $build --quiet --extra-arg=-Wno-unknown-warning-option"
for word in -Xclang -analyzer-config -Xclang max-nodes=20000; do
	common="$common --extra-arg=$word"
done
cd "$source"
# $common and $hints are lists of words.
# shellcheck disable=SC2086
printf '%s\n' "$files" | grep -v '/util/error\.c$' |
	xargs -P "$(nproc)" -n 1 "$clang_tidy" $common $hints 2>"$build/tidy.log" &&
	"$clang_tidy" $common "$source/src/util/error.c" 2>>"$build/tidy.log" && exit 0
grep -vE 'warnings? (and|generated)|errors? generated|Error while processing' "$build/tidy.log" || true
exit 1
