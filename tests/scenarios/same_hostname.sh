#!/bin/sh
# same_hostname.sh - two hosts of one name are two nodes
#
# usage: same_hostname.sh MUSTER
set -eu
muster=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
boot=/proc/sys/kernel/random/boot_id
if ! unshare -m sh -c "echo 00000000-0000-0000-0000-000000000000 >boot && mount --bind boot $boot" 2>/dev/null; then
	echo "skipped: no mount namespace of our own, in which a host could have another name for its start"
	exit 77
fi
cat >wrapper <<END
#!/bin/sh
[ "\$2" = run ] || exec "\$@"
export SLURMD_NODENAME=twin
[ "\$OMPI_COMM_WORLD_RANK" -lt 2 ] && exec "\$@"
exec unshare -m sh -c 'mount --bind $scratch/boot $boot && exec "\$@"' sh "\$@"
END
chmod +x wrapper
MUSTER_SIM_WRAPPER=$scratch/wrapper "$muster" sim --sku Standard_NC80adis_H100_v5 --nodes 2 --report report.json \
	-- --profile quick --spool spool >out 2>err && status=0 || status=$?
for sign in '"name": "twin"' '"name": "twin#2"' '"nodes": 2'; do
	grep -qF "$sign" report.json || { echo "not in the report: $sign"; status=1; }
done
grep -qF 'muster: 2 hosts have the name twin; here one of them is named twin#2' err || { echo "not said"; status=1; }
"$muster" assemble spool --expect-nodes twin,twin#2 --report again.json >again || status=1
grep -qF '"name": "twin#2"' again.json || { echo "not in the assembled report"; status=1; }
[ "$status" -eq 0 ] || cat out err again
exit "$status"
