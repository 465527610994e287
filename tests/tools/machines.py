# SPDX-License-Identifier: Apache-2.0
"""A healthy node of a machine type, as `muster sim --prepare` describes it."""
import json
import os
import subprocess


def healthy_node(muster, sku, folder):
    """The first of two nodes, as cluster.json has it. The files go into the folder."""
    path = os.path.join(folder, sku)
    subprocess.run([muster, "sim", "--sku", sku, "--nodes", "2", "--prepare", path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(os.path.join(path, "cluster.json"), encoding="utf-8") as file:
        return json.load(file)["nodes"][0]
