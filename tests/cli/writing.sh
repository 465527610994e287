#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# writing.sh - a report that was asked for and could not be written is never a pass, and what was there before stays whole
#
# usage: writing.sh MUSTER
set -eu
muster=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
sku=Standard_NC40ads_H100_v5
bad=0

complain() {
	echo "$1"
	cat out err 2>/dev/null || :
	bad=1
}

# full COMMAND...: on a disk that is full but for a few kilobytes, with an old report on it
full() {
	unshare -m sh -c 'mount -t tmpfs -o size=16k none disk && echo old >disk/report.json && shift 0 && "$@"
		status=$?; cat disk/report.json >left; ls -A disk >names; exit $status' sh "$@" >out 2>err
}

# expect NAME EXIT-STATUS LAST-LINE COMMAND...
expect() {
	name=$1 wanted=$2 line=$3
	shift 3
	status=0
	"$@" || status=$?
	[ "$status" -eq "$wanted" ] || complain "$name: exit status $status, not $wanted"
	case $(tail -n 1 out) in
	"$line"*) ;;
	*) complain "$name: the last line is not $line" ;;
	esac
}

mkdir disk
"$muster" sim --sku $sku --report good.json -- --profile quick >out 2>err || complain "no good report to begin with"
if unshare -m sh -c 'mount -t tmpfs -o size=16k none disk' 2>/dev/null; then
	none="MUSTER INCONCLUSIVE sku=$sku nodes=1 ranks=1 failed=0 warned=0 report=none"
	for command in "check good.json --report disk/report.json" \
		"sim --sku $sku --report $scratch/disk/report.json -- --profile quick"; do
		# a list of words
		# shellcheck disable=SC2086
		expect "a full disk: $command" 3 "$none" full "$muster" $command
		[ "$(cat left)" = old ] || complain "a full disk: $command: the old report is not whole"
		[ "$(cat names)" = report.json ] || complain "a full disk: $command: left on it: $(cat names)"
		grep -q 'could not be written: .*No space left on device' err || complain "a full disk: no reason on stderr"
		grep -q '^The JSON report could not be written' out || complain "a full disk: no word of it in the summary"
	done
	sed 's/"metric": "gpu.h2d_gbps", \(.*\)"value": [0-9.]*/"metric": "gpu.h2d_gbps", \1"value": 1/' good.json >slow.json
	expect "a full disk, and a failure" 1 "MUSTER FAIL sku=$sku nodes=1 ranks=1 failed=1 warned=0 report=none" \
		full "$muster" check slow.json --report disk/report.json
	read_only() {
		unshare -m sh -c 'mount -t tmpfs none disk && echo old >disk/report.json && mount -o remount,ro disk && "$@"
			status=$?; cat disk/report.json >left; exit $status' sh "$@" >out 2>err
	}
	expect "a read-only folder" 3 "$none" read_only "$muster" check good.json --report disk/report.json
	[ "$(cat left)" = old ] || complain "a read-only folder: the old report is not whole"
	grep -q 'could not be written: .*Read-only file system' err || complain "a read-only folder: no reason on stderr"
	expect "a run that could not write its report" 2 "" \
		read_only "$muster" run --sku $sku --report disk/report.json
	grep -q 'Read-only file system' err || complain "a run that could not write its report: no reason on stderr"
else
	echo "no mount namespace of our own: full and read-only disks are left out"
fi

# written FILE: it is a report, whole
written() {
	"$muster" check "$1" >checked 2>&1 || complain "$1 is no report: $(cat checked)"
}

# A writer that is killed, at one moment or another, leaves the old report or the new one. The many spaces make it long.
sed 's/"elapsed_s": /"elapsed_s":                /' good.json >old.json
for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	cp old.json killed.json
	"$muster" check good.json --report killed.json >out 2>err &
	sleep "0.00$((turn % 10))$turn"
	kill -9 $! 2>/dev/null || :
	wait $! 2>/dev/null || :
	cmp -s killed.json old.json || written killed.json
	rm -f killed.json.* # between its name and its place nobody is left to remove it
done
# a link at the report's path is replaced, and never followed
echo precious >target
ln -s target link.json
expect "a link" 0 "MUSTER PASS" sh -c '"$@" >out 2>err' sh "$muster" check good.json --report link.json
[ "$(cat target)" = precious ] && [ ! -L link.json ] || complain "a link at the report's path was followed"
written link.json

# past a limit on the sizes of files a write fails, and no signal ends the program without a word
limited() {
	{ (ulimit -f 1 && "$@" 2>&1; echo "status $?") | cat; } >out
}
expect "a limit on sizes" 0 "status 3" limited "$muster" check good.json --report limited.json
grep -q 'could not be written: .*File too large' out || complain "a limit on sizes: no reason"
expect "a limit on sizes, and a simulation" 0 "status 3" limited "$muster" sim --sku $sku --report limited.json
grep -q '^muster: .*File too large' out || complain "a limit on sizes, and a simulation: no reason"

mkdir folder
expect "a folder" 3 "MUSTER INCONCLUSIVE" sh -c '"$@" >out 2>err' sh "$muster" check good.json --report folder
grep -q 'is a directory' err || complain "a folder: no reason on stderr"

# a FIFO and a device are written to, and stay what they are
mkfifo fifo.json
cat fifo.json >read.json &
expect "a FIFO" 0 "MUSTER PASS" sh -c '"$@" >out 2>err' sh "$muster" check good.json --report fifo.json
wait
[ -p fifo.json ] || complain "a FIFO was replaced"
written read.json
expect "a FIFO that nobody reads" 3 "MUSTER INCONCLUSIVE" \
	sh -c '"$@" >out 2>err' sh "$muster" check good.json --report fifo.json
expect "a device" 0 "MUSTER PASS" sh -c '"$@" >out 2>err' sh "$muster" check good.json --report /dev/null
[ -c /dev/null ] || complain "/dev/null was replaced"
expect "a full device" 3 "MUSTER INCONCLUSIVE" sh -c '"$@" >out 2>err' sh "$muster" check good.json --report /dev/full
expect "a pipe that has closed" 3 "MUSTER INCONCLUSIVE" \
	sh -c '"$@" 2>err >out 3>&- --report /dev/fd/3' sh "$muster" check good.json
# a file that is open already is written to where it stands
echo before >open
expect "an open file" 0 "" sh -c '"$@" >>open 2>err' sh "$muster" check good.json --report /dev/stdout
[ "$(head -n 1 open)" = before ] || complain "an open file: what was in it is lost"
"$muster" check good.json >wanted
expect "an open file" 0 "" sh -c '"$@" >open 2>err' sh "$muster" check good.json --report /dev/fd/1
[ "$(tail -n 3 open | head -n 2)" = "$(tail -n 3 wanted | head -n 2)" ] || complain "an open file: overwritten"
sed -n '/^{/,/^}/p' open >open.report
written open.report

# a reader that does not read: the run is over soon after its deadline all the same
mkfifo stuck.json
sh -c 'exec sleep 100' <stuck.json &
reader=$!
status=0
timeout 90 "$muster" sim --sku Standard_ND96asr_v4 --report stuck.json -- --profile quick --deadline 40 >out 2>err ||
	status=$?
case $status:$(tail -n 1 out) in
*:*" report=none") ;;
*) complain "a report that hangs: the last line names it" ;;
esac
# on a machine that is too busy for the ring it fails
case $status:$(tail -n 1 out) in
"3:MUSTER INCONCLUSIVE "* | "1:MUSTER FAIL "*) ;;
*) complain "a report that hangs: exit status $status" ;;
esac
grep -q 'could not be written in time' err || complain "a report that hangs: no reason on stderr"
kill "$reader"

[ -z "$(find . -name '*.json.*')" ] || complain "left behind: $(find . -name '*.json.*')"
exit $bad
