#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# text.sh - what every C file keeps to
#
# usage: text.sh FOLDER     (with src/, include/, tests/ and slurm/ in it)
#
# No banned function, the licence in the first line, a second line that names the file and says what it is, no line over 120 columns, no comment whose
# columns a formatter has joined; muster's own environment variables are read in env.c alone.
set -u

cd "$1" || exit 1
banned='sprintf|vsprintf|strcpy|strcat|strncpy|strncat|strtok|gets|atoi|atol|atoll|atof|system|alloca'
status=0

# complain_of WORDS GREP-OPTIONS... FILES...: every line that grep finds
complain_of() {
	words=$1
	shift
	found=$(grep -HnE "$@") || return 0
	echo "$found" | sed "s/^/$words: /"
	status=1
}

files=$(find src include tests slurm -name '*.[ch]' | LC_ALL=C sort)
if [ -z "$files" ]; then
	echo "no C file found below $1"
	exit 1
fi

# The files' names have no blanks.
# shellcheck disable=SC2086
{
	LC_ALL=C awk '
		FNR == 1 && $0 != "/* SPDX-License-Identifier: Apache-2.0 */" {
			print FILENAME ":1: the first line must be the SPDX line of Apache-2.0"
			bad = 1
		}
		FNR == 2 {
			name = FILENAME
			sub(/.*\//, "", name)
			start = "/* " name " - "
			if (substr($0, 1, length(start)) != start || length($0) == length(start)) {
				print FILENAME ":2: the second line must be \"" start "what it is\""
				bad = 1
			}
		}
		length($0) > 15 { # fewer are no 121 columns even if all are tabs
			line = $0
			gsub(/[\200-\277]/, "", line) # of a character, only the first byte counts
			while ((at = index(line, "\t")) > 0)
				line = substr(line, 1, at - 1) substr("        ", 1, 8 - (at - 1) % 8) substr(line, at + 1)
			if (length(line) > 120) {
				print FILENAME ":" FNR ": over 120 columns: " $0
				bad = 1
			}
		}
		END { exit bad }' $files || status=1
	complain_of "banned function" "(^|[^[:alnum:]_])($banned)[[:space:]]*\(" $files
	# tables are indented; a usage and what somebody prints have a colon or quotes
	complain_of "blanks inside a comment: a table that was joined" \
		'^[[:space:]]*(/\*|\*) [^[:space:]:"][^:"]*[^[:space:]:"] {5,}[^[:space:]*\]' $files
	own=$(echo "$files" | grep '^src/') || exit $status
	complain_of "muster_env() reads a variable of muster's" 'getenv\("?MUSTER_' $own
}
exit $status
