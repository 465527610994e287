#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# text_finds_faults.sh - a check that finds nothing is only worth something if it can find
#
# usage: text_finds_faults.sh SCRATCH
set -eu

check=$(cd "$(dirname "$0")" && pwd)/text.sh
scratch=$1
rm -rf "$scratch"
mkdir -p "$scratch/src" "$scratch/include" "$scratch/tests" "$scratch/slurm" "$scratch/.ci"

# try NAME VERDICT LINE...: one file of these lines, and whether the check must let it pass
try() {
	name=$1 verdict=$2
	shift 2
	rm -f "$scratch"/src/*
	printf '%s\n' '/* SPDX-License-Identifier: Apache-2.0 */' "$@" >"$scratch/src/$name"
	if sh "$check" "$scratch" >"$scratch/found"; then got=good; else got=bad; fi
	if [ "$got" != "$verdict" ]; then
		echo "$name with \"$*\" was found $got, not $verdict"
		cat "$scratch/found"
		exit 1
	fi
}

columns_120='/* '$(printf '%0113d' 0)' */*'
try fine.c good '/* fine.c - nothing wrong */' 'int n = snprintf(0, 0, "x");'
try fine.c good '/* fine.c - nothing wrong */' "$columns_120"
try fine.c bad '/* fine.c - a line too long */' "$columns_120*"
try fine.c good '/* fine.c - a letter of two bytes is one column */' "/*é$(printf '%0115d' 0)*/"
try fine.c bad '/* fine.c - a letter of two bytes is one column */' "/*é$(printf '%0116d' 0)*/"
try fine.c bad '/* fine.c - tabs count as they show */' "	$columns_120"
try fine.c bad '/* other.c - another name */'
try fine.c bad '/* fine.c */'
try fine.h bad '#pragma once'
for function in sprintf strcpy strcat strtok atoi atof system alloca; do
	try fine.c bad '/* fine.c - a banned function */' "	x = $function(y);"
	try fine.c bad '/* fine.c - a banned function */' "$function (y);"
	try fine.c good '/* fine.c - another function */' "my_$function(y);"
done
try fine.c good '/* fine.c - a variable of another program */' 'x = getenv("HOME");'
try fine.c bad '/* fine.c - a variable that no table has */' 'x = getenv("MUSTER_X");'
try fine.c bad '/* fine.c - a variable that no table has */' 'x = getenv(MUSTER_X);'
try fine.c bad '/* fine.c - a table in a comment that was joined */' '/* a - the first      b      - the second */'
try fine.c bad '/* fine.c - a table in a comment that was joined */' '/* two lines' ' * a - the first      b      - the second */'
try fine.c good '/* fine.c - blanks at the ends */' '/*       a' ' *     b' ' * c            */' 'int a = 1;      /* d */' 'a      * b;' ' *   {a}      a table' ' * usage: a b      prints'
rm -f "$scratch"/src/*
if sh "$check" "$scratch" >/dev/null; then
	echo "a folder without any C file was found good"
	exit 1
fi
