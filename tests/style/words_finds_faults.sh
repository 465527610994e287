#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# words_finds_faults.sh - words.sh finds a planted word, and lets the right ones pass
#
# usage: words_finds_faults.sh SCRATCH
set -eu

check=$(cd "$(dirname "$0")" && pwd)/words.sh
scratch=$1
rm -rf "$scratch"
for folder in src/eval src/coord include docs configs slurm; do mkdir -p "$scratch/$folder"; done
echo "Muster checks nodes." >"$scratch/README.md"

# try VERDICT FILE LINE: this file of one line, and whether the check must let it pass
try() {
	verdict=$1 file=$2
	shift 2
	printf '%s\n' "$*" >"$scratch/$file"
	if sh "$check" "$scratch" >"$scratch.found"; then got=good; else got=bad; fi
	rm "$scratch/$file"
	if [ "$got" != "$verdict" ]; then
		echo "$file with \"$*\" was found $got, not $verdict"
		cat "$scratch.found"
		exit 1
	fi
}

try good src/eval/fine.c '/* fine.c - the check is not evaluated */'
try bad src/eval/fine.c '/* fine.c - the culprit */'
try bad src/eval/fine.c 'puts("untold: fewer than 3 values");'
try bad include/fine.h '/* Nobody is missing. */'
try good src/eval/fine.c '	muster_crews = 1; /* a longer name */'
try bad src/coord/fine.c '/* nobody enters the barrier */'
for word in 'called off' condemned hopeless whoever 'its like' 'ways out' 'held against' mustered 'left alone'; do
	try bad docs/page.md "It is $word here."
done
for word in judged unjudged floors 'left out' told; do
	try bad docs/page.md "It is $word here."
	try bad configs/a.json "{ \"advice\": \"it is $word\" }"
	try good src/eval/fine.c "/* fine.c - $word, where only developers read */"
done
try good docs/page.schema.json '"unjudged": { "description": "checks that are blocked" }'
rm "$scratch/README.md"
if sh "$check" "$scratch" >/dev/null; then
	echo "a tree without README.md was found good"
	exit 1
fi
