#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shell.sh - shellcheck warns of nothing in any script
#
# usage: shell.sh FOLDER
set -eu

cd "$1"
if ! command -v shellcheck >/dev/null; then
	echo "skipped: no shellcheck here; it comes in the package of that name"
	exit 77
fi
scripts=$(find .ci src tests slurm docs -type f ! -name '*.[ch]' -exec grep -lE '^#!.*[/ ](ba)?sh|^# shellcheck shell=' {} + 2>/dev/null ||
	true)
[ -n "$scripts" ]
# shellcheck disable=SC2086
shellcheck --external-sources --severity=warning $scripts src/packaging/completion.bash
