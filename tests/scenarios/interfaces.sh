#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# interfaces.sh - two hosts that each have a docker0 with the same address are two nodes of one run, under mpirun
#
# usage: interfaces.sh MUSTER
#
# The hosts are network namespaces with host names of their own, joined by eth0. Needs root, ip and unshare: exit status
# 77 without them. No GPU is needed: what counts is that all four ranks send their records, by one way.
set -eu
muster=$1
[ "$(id -u)" -eq 0 ] && command -v ip unshare mpirun >/dev/null && ip netns list >/dev/null 2>&1 || exit 77
scratch=$(mktemp -d)
one=muster-$$-1 two=muster-$$-2
end() {
	ip netns del "$one" 2>/dev/null || true
	ip netns del "$two" 2>/dev/null || true
	rm -rf "$scratch"
}
trap end EXIT
cd "$scratch"

# host NAME ADDRESS
host() {
	ip netns add "$1" || exit 77
	ip -n "$1" link set lo up
	ip -n "$1" link add docker0 type bridge || exit 77
	ip -n "$1" addr add 172.17.0.1/16 dev docker0
	ip -n "$1" link set docker0 up
	ip link set "$2" netns "$1"
	ip -n "$1" link set "$2" name eth0
	ip -n "$1" addr add "$3/24" dev eth0
	ip -n "$1" link set eth0 up
}
ip link add "mu$$a" type veth peer name "mu$$b" || exit 77
host "$one" "mu$$a" 10.77.0.1
host "$two" "mu$$b" 10.77.0.2

# in place of ssh: HOST COMMAND...
cat >agent <<END
#!/bin/sh
shift
exec ip netns exec $two unshare -u sh -c 'hostname node-2; exec sh -c "\$*"' sh "\$@"
END
chmod 755 agent
# mpirun's own daemons are the site's to set up, as with ssh
ip netns exec "$one" unshare -u sh -c 'hostname node-1; exec "$@"' sh \
	timeout 120 mpirun --allow-run-as-root --mca plm rsh --mca plm_rsh_agent "$scratch/agent" --mca oob_tcp_if_include eth0 \
	--host node-1:2,node-2:2 -np 4 "$muster" run --profile quick --deadline 60 --report report.json >out 2>err || true
status=0
for sign in '"name": "node-1"' '"name": "node-2"' '"missing_ranks": []' '"ranks": 4'; do
	grep -qF "$sign" report.json || { echo "not in the report: $sign"; status=1; }
done
for sign in 'btl_tcp' 'btl-tcp'; do
	! grep -F "$sign" err || { echo "MPI has tried an interface that leads nowhere"; status=1; }
done
[ "$status" -eq 0 ] || cat out err
exit "$status"
