#!/bin/sh
# text.sh - what every C file keeps to
#
# usage: text.sh FOLDER     (with src/, include/, tests/ and slurm/ in it)
#
# No banned function, a first line that names the file and says what it is, no line over 120 columns; muster's own
# environment variables are read in env.c alone.
set -u

cd "$1" || exit 1
banned='sprintf|vsprintf|strcpy|strcat|strncpy|strncat|strtok|gets|atoi|atol|atoll|atof|system|alloca'
status=0

complain() {
	echo "$1"
	status=1
}

files=$(find src include tests slurm -name '*.[ch]' | LC_ALL=C sort)
[ -n "$files" ] || complain "no C file found below $1"

for file in $files; do
	name=$(basename "$file")
	case $(head -n 1 "$file") in
	"/* $name - "?*) ;;
	*) complain "$file:1: the first line must be \"/* $name - what it is\"" ;;
	esac
	found=$(grep -nE "(^|[^[:alnum:]_])($banned)[[:space:]]*\(" "$file") &&
		complain "$file: banned function: $found"
	case $file in
	src/*) found=$(grep -n 'getenv("\{0,1\}MUSTER_' "$file") &&
		complain "$file: muster_env() reads a variable of muster's: $found" ;;
	esac
	found=$(expand -t 8 "$file" | grep -nE '^.{121}') && complain "$file: over 120 columns: $found"
done
exit $status
