#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 10-muster.sh - CycleCloud, when a node of the cluster starts: install muster
#
# jetpack config, for the cluster template:
#   muster.package   name of the package among the blobs of this project (default: muster_0.2.0_amd64.deb)
#   muster.options   options of muster node (--sku, --overlay), for /etc/default/muster
#
# A node on which muster cannot be installed stays in service: nothing is checked there. The log of cluster-init says why.
set -uo pipefail

package=$(jetpack config muster.package muster_0.2.0_amd64.deb)
options=$(jetpack config muster.options '')
settings=/etc/default/muster

give_up() {
	echo "muster is not installed on this node: $*" >&2
	exit 0
}

folder=$(mktemp -d) || give_up "no folder for the package"
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
jetpack download --project muster "$package" "$folder/$package" || give_up "jetpack cannot download $package"
case $package in
*.deb)
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qy -o DPkg::Lock::Timeout=300 --no-install-recommends install "$folder/$package" ||
		{ apt-get -qy -o DPkg::Lock::Timeout=300 update &&
			apt-get -qy -o DPkg::Lock::Timeout=300 --no-install-recommends install "$folder/$package"; } ||
		give_up "apt-get failed"
	;;
*.rpm) dnf -qy install "$folder/$package" || give_up "dnf failed" ;;
*) give_up "$package is neither a .deb nor a .rpm" ;;
esac
if [[ -n $options ]]; then
	sed -i '/^MUSTER_NODE_OPTIONS=/d' "$settings"
	printf 'MUSTER_NODE_OPTIONS=%q\n' "$options" >>"$settings"
fi
muster --version
exit 0
