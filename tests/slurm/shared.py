# SPDX-License-Identifier: Apache-2.0
"""The cluster that the tests of a file have one after the other, and the proof that each finds it as if it were new.

A test holds the lock of the cluster's home for as long as it runs. A cluster whose home nobody holds any more ends by
itself after some seconds, and takes its home along: so nothing is left when a test is killed. A test whose predecessor
was killed sees what that one left, and starts a new cluster.
"""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DAEMONS = {"munged", "slurmctld", "slurmscriptd", "slurmd"}
KEPT = ("etc", "bin")  # what a test may change in the cluster's folder, and gets back
SETTLED_S = 40      # after a test
COMPLETING_S = 100  # Slurm ends a step: KillWait (30 s), then UnkillableStepTimeout (60 s)
tempfile.tempdir = "/tmp"  # seen from all nodes, which have a /dev/shm of their own
SPOOL = re.compile(r"hwloc_topo_\w+(\.\d+)*\.xml|cred_state(\.\w+)?")  # what an idle slurmd has in its own folder


def home_of(*what):
    """The folder for the clusters of this kind: of this program, these options, these scripts."""
    digest = hashlib.sha256(repr(what).encode())
    for script in ("cluster.sh", "simulated.sh", "mpirun.sh"):
        with open(os.path.join(HERE, script), "rb") as file:
            digest.update(file.read())
    return os.path.join(tempfile.gettempdir(), f"muster-slurm-{os.getuid()}-{digest.hexdigest()[:12]}")


def is_file(descriptor, path):
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def hold(home, seconds=280):
    """Make the folder and take its lock: a file descriptor, and nobody else has the lock until it is closed."""
    end = time.monotonic() + seconds
    path = os.path.join(home, "lock")
    while time.monotonic() < end:
        os.makedirs(home, mode=0o700, exist_ok=True)
        seen = os.lstat(home)
        if seen.st_uid != os.getuid() or seen.st_mode & 0o170077 != 0o40000:
            raise OSError(f"{home} is not a folder of this user alone")
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:  # the home has just gone away with its cluster
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_file(lock, path):
                return lock
        except BlockingIOError:
            time.sleep(0.2)
        os.close(lock)
    raise OSError(f"{home} has been in use for {seconds} s")


def folder(cluster, *names):
    return os.path.join(cluster.environment["MUSTER_CLUSTER"], *names)


def contents(path):
    """Every file below the folder with what is in it, every link with where it leads."""
    found = {}
    for where, _, names in os.walk(path):
        for name in names:
            file = os.path.join(where, name)
            if os.path.islink(file):
                found[os.path.relpath(file, path)] = os.readlink(file)
            else:
                with open(file, "rb") as data:
                    found[os.path.relpath(file, path)] = data.read()
    return found


def simulation(cluster):
    """What is simulated, without the name of the simulation's own folder."""
    path = os.path.realpath(folder(cluster, "sim"))
    with open(os.path.join(path, "cluster.json"), encoding="utf-8") as file:
        return file.read().replace(path, "")


def keep(cluster):
    """Remember what the new cluster is like."""
    for name in KEPT:
        shutil.copytree(folder(cluster, name), os.path.join(cluster.home, "kept", name), symlinks=True)
    with open(os.path.join(cluster.home, "kept", "simulation"), "w", encoding="utf-8") as file:
        file.write(simulation(cluster))


def changed(cluster):
    """The files of the cluster that are not what they were."""
    for name in KEPT:
        now, then = contents(folder(cluster, name)), contents(os.path.join(cluster.home, "kept", name))
        yield from (f"{name}/{file}" for file in sorted(now.keys() | then.keys()) if now.get(file) != then.get(file))
    with open(os.path.join(cluster.home, "kept", "simulation"), encoding="utf-8") as file:
        if file.read() != simulation(cluster):
            yield "the simulation"


def nodes(cluster):
    """Of each node its name, its state, and why it is so. (Slurm 24.11 still shows a reason after RESUME.)"""
    for text in cluster.ask("scontrol", "show", "node", "-o").splitlines():
        reason = re.search(r" Reason=(.*)", text)
        state = re.search(r" State=(\S+)", text)[1]
        yield re.search(r"NodeName=(\S+)", text)[1], state, reason[1] if reason and state != "IDLE" else ""


def first_process(cluster):
    """Of the cluster's PID namespace; None when there is no cluster."""
    try:
        with open(folder(cluster, "holder"), encoding="utf-8") as file:
            holder = file.read().split()[0]
        with open(f"/proc/{holder}/task/{holder}/children", encoding="utf-8") as file:
            return int(file.read())
    except (OSError, ValueError, IndexError):
        return None


def processes(cluster):
    """The cluster's processes: number, name, parent."""
    first = first_process(cluster)
    there = os.readlink(f"/proc/{first}/ns/pid")
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{entry}/ns/pid") != there:
                continue
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                name, _, fields = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        yield int(entry), name, int(fields.split()[1])


def leftovers(cluster):
    """What the cluster has that a new one has not, one sentence each."""
    found = [f"job {line}" for line in cluster.ask("squeue", "-h", "-o", "%i %T").splitlines()]
    found += [f"node {name} is {state} {reason}" for name, state, reason in nodes(cluster) if (state, reason) != ("IDLE", "")]
    found += [f"changed: {name}" for name in changed(cluster)]
    found += [f"log/{name}" for name in os.listdir(folder(cluster, "log")) if name.startswith("muster-")]
    found += [f"tmp/{name}" for name in os.listdir(folder(cluster, "tmp"))]
    for node in os.listdir(folder(cluster, "nodes")):
        found += [f"var/{node}/{name}" for name in os.listdir(folder(cluster, "var", node))]
        found += [f"nodes/{node}/{name}" for name in os.listdir(folder(cluster, "nodes", node)) if not SPOOL.fullmatch(name)]
    first, daemons = first_process(cluster), 0
    for number, name, parent in processes(cluster):
        if name == "slurmd" and parent == first:
            daemons += 1
            found += [f"/dev/shm/{file} of process {number}" for file in os.listdir(f"/proc/{number}/root/dev/shm")]
        elif number != first and name not in DAEMONS:
            found.append(f"process {number} ({name})")
    return found + ([] if daemons == cluster.nodes else [f"{daemons} slurmd and not {cluster.nodes}"])


def removed(path):
    """Also where an epilog that has not ended yet writes one more file: then the next attempt."""
    shutil.rmtree(path, ignore_errors=True)
    return not os.path.exists(path)


def tidy(cluster):
    """Give back all that a test may have changed."""
    cluster.run("scancel", "--user=root")
    for name, state, _ in nodes(cluster):
        if "DRAIN" in state or "DOWN" in state:
            cluster.run("scontrol", "update", f"NodeName={name}", "State=RESUME")
    if any(changed(cluster)):
        cluster.fault()
        for name in set(contents(folder(cluster, "etc"))) - set(contents(os.path.join(cluster.home, "kept", "etc"))):
            os.unlink(folder(cluster, "etc", name))
        shutil.copytree(os.path.join(cluster.home, "kept", "etc"), folder(cluster, "etc"), dirs_exist_ok=True)
        shutil.rmtree(folder(cluster, "bin"))
        shutil.copytree(os.path.join(cluster.home, "kept", "bin"), folder(cluster, "bin"), symlinks=True)
    for name in os.listdir(folder(cluster, "log")):
        if name.startswith("muster-"):
            cluster.wait_for(f"the folder {name} is removed", lambda path=folder(cluster, "log", name): removed(path))
    for node in os.listdir(folder(cluster, "var")):
        shutil.rmtree(folder(cluster, "var", node, "muster"), ignore_errors=True)


def is_as_new(cluster):
    """There is a cluster here that the last test has left as it was."""
    if not first_process(cluster) or not os.path.exists(os.path.join(cluster.home, "kept", "simulation")):
        return False
    found = leftovers(cluster)
    if found:
        print(f"a new cluster, for the last test left: {found}")
    return not found


def is_of_step(line):
    """Slurm's own process of a step, or its sockets."""
    return bool(re.search(r"\(slurmstepd\)$|^nodes/\S+/(stepd\.slurm\.)?pmix\.[\d.]+$", line))


def is_completing(line):
    """Slurm is still ending a step: what it has of the step, or the job or node of it."""
    return is_of_step(line) or "COMPLETING" in line


def leave(cluster):
    """Prove, after a test, that the next one finds the cluster as this one did; else say why not."""
    begin = time.monotonic()
    tidy(cluster)
    found = leftovers(cluster)
    while found and time.monotonic() - begin < (COMPLETING_S if all(map(is_completing, found)) else SETTLED_S):
        time.sleep(0.1)
        tidy(cluster)
        found = leftovers(cluster)
    return found
