#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# words.sh - no metaphor and no second word for a thing: what users and readers of the source read is plain English
#
# usage: words.sh FOLDER     (with src/, include/, docs/, configs/, slurm/ and README.md in it)
#
# One line for each word that is found, with its place. The right word is in the comment beside its list.
set -u

cd "$1" || exit 1
status=0

# find_words LIST ALLOWED FILES...: whole words in any case; lines that match ALLOWED are right as they are. HTML has
# elements of such names.
find_words() {
	list=$1 allowed=$2
	shift 2
	found=$(grep -rnwiE --exclude='*.html' "$list" "$@" 2>/dev/null | grep -vE "$allowed") || return 0
	echo "$found"
	status=1
}

# In sources and in everything that users read: not evaluated; cancelled; faulty node, cause; failed; no node, unset;
# the owner, another; other GPUs; options; compared with; heartbeat; checked; skipped; exits; undrain; a worker's names.
everywhere='untold|called off|culprits?|condemn(s|ed)?|hopeless|nobody|whoever|somebody|its like|their like|ways out'
everywhere="$everywhere|held against|signs? of life|to blame|blamed|crime|musters|mustered|unmustered|left alone"
everywhere="$everywhere|gives? way|gives? back|errands?|crew|docket|office"

# In what users read only: check, evaluate; result; blocked; threshold; value; excluded, absent; set; full all-reduce.
for_users='judged?|judges|judgements?|unjudged|floors?|figures?|left out|leaves? out|told|alike|ring of all'

# Names in the JSON forms, which do not change: "unjudged", the kinds of a difference.
names_of_json='"unjudged"|figure: a metric|"figure"'

for part in src include docs configs slurm README.md; do
	[ -e "$part" ] || { echo "$part is missing" && exit 1; }
done
sources=$(find src include -name '*.[ch]')
# shellcheck disable=SC2086
find_words "$everywhere" '^$' $sources docs configs slurm README.md
find_words "$for_users" "$names_of_json" docs configs slurm README.md
exit $status
