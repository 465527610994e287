#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# same_hostname.sh - two machines of one host name are two nodes
#
# usage: same_hostname.sh MUSTER
set -eu
muster=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
"$muster" sim --sku Standard_NC80adis_H100_v5 --nodes 2 --fault host-name@node2=sim-1 --report report.json \
	-- --profile quick --spool spool >out 2>err && status=0 || status=$?
for sign in '"name": "sim-1"' '"name": "sim-1#2"' '"nodes": 2'; do
	grep -qF "$sign" report.json || { echo "not in the report: $sign"; status=1; }
done
grep -qF 'muster: 2 hosts have the name sim-1; here one of them is named sim-1#2' err || { echo "not said"; status=1; }
"$muster" assemble spool --expect sim-1,sim-1#2 --report again.json >again || status=1
grep -qF '"name": "sim-1#2"' again.json || { echo "not in the assembled report"; status=1; }
[ "$status" -eq 0 ] || cat out err again
exit "$status"
