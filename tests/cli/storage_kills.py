#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever ends muster while it measures a disk, nothing is left there: no file, no process that has one open.

usage: storage_kills.py MUSTER [PLAIN_FS] [COUNT]

MUSTER node --storage is killed COUNT times (default 50) at random moments, by SIGKILL of its first process or of all,
SIGTERM and SIGINT: half of the times on a folder of this machine's disk, and half on a file system without O_TMPFILE
(PLAIN_FS, plain_fs.c), if it can be mounted here.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MUSTER = os.path.abspath(sys.argv[1])
PLAIN_FS = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 50
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))
WAYS = ("SIGKILL", "SIGKILL of all", "SIGTERM", "SIGINT")


def command(folder):
    return [MUSTER, "node", "--sku", "generic-nvidia", "--profile", "quick", "--storage", folder, "--storage-bytes", "192M",
            "--report", "/dev/null"]


def start(folder):
    return subprocess.Popen(command(folder), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def open_in(folder):
    """Processes that have a file below the folder open, by the links of /proc."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(folder + "/"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def end(process, way):
    if way == "SIGKILL of all":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.send_signal(getattr(signal, way.split()[0]))
    process.wait(60)


def when_open(folder):
    """The first and the last moment of a whole run at which a file was open, in seconds after its start."""
    process, began, seen = start(folder), time.monotonic(), []
    while process.poll() is None:
        if open_in(folder):
            seen.append(time.monotonic() - began)
    if not seen:
        sys.exit(f"no run of {command(folder)} has ever opened a file in {folder}")
    return seen[0], seen[-1]


def kill_often(folder, backing, count, draw):
    """The moments at which a file was open, of all; ends the test when something is left."""
    first, last = when_open(folder)
    caught = 0
    for number in range(count):
        process = start(folder)
        time.sleep(draw.uniform(max(0, first - 0.1), last + 0.1))
        caught += bool(open_in(folder))
        way = WAYS[number % len(WAYS)]
        end(process, way)
        until = time.monotonic() + 20
        while (open_in(folder) or open_in(backing)) and time.monotonic() < until:
            time.sleep(0.05)
        left = os.listdir(folder) + os.listdir(backing), open_in(folder) + open_in(backing)
        if left != ([], []):
            sys.exit(f"seed {SEED}: {way}, number {number}: left in {folder}: {left}")
    return caught


def main():
    draw = random.Random(SEED)
    scratch = tempfile.mkdtemp(prefix="muster-kills-", dir="/var/tmp")
    backing, mounted = (os.path.join(scratch, name) for name in ("disk", "mounted"))
    os.mkdir(backing)
    os.mkdir(mounted)
    file_system = None
    try:
        half = COUNT // 2
        print(f"seed {SEED}: {half} times on a disk, a file was open {kill_often(backing, backing, half, draw)} times")
        if PLAIN_FS and os.access("/dev/fuse", os.R_OK | os.W_OK):
            file_system = subprocess.Popen([PLAIN_FS, backing, mounted])
            until = time.monotonic() + 10
            while not os.path.ismount(mounted) and time.monotonic() < until and file_system.poll() is None:
                time.sleep(0.05)
        if file_system is None or not os.path.ismount(mounted):
            print("no file system without O_TMPFILE could be mounted here: not tried")
            return
        try:
            os.close(os.open(mounted, os.O_TMPFILE | os.O_RDWR, 0o600))
            sys.exit("this file system has O_TMPFILE: it proves nothing")
        except OSError:
            pass
        caught = kill_often(mounted, backing, COUNT - half, draw)
        print(f"{COUNT - half} times on a file system without O_TMPFILE, a file was open {caught} times")
    finally:
        if os.path.ismount(mounted):
            subprocess.run(["umount", mounted], check=False)
        if file_system:
            file_system.terminate()
            file_system.wait(20)
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
