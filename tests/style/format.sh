#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# format.sh - C files are as clang-format leaves them
#
# usage: format.sh FOLDER
#
# Releases of clang-format differ in details; .clang-format is written for this one.
set -eu

cd "$1"
for clang_format in clang-format-14 clang-format ""; do
	"${clang_format:-false}" --version 2>/dev/null | grep -q 'version 14\.' && break
done
if [ -z "$clang_format" ]; then
	echo "skipped: no clang-format 14 here; Debian's and Ubuntu's package clang-format-14 has it"
	exit 77
fi
find src include tests slurm -name '*.[ch]' -exec "$clang_format" --dry-run -Werror {} +
