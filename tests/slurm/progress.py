#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The progress of a run under srun: a line that moves only where it is asked for and ends on a terminal.

usage: progress.py MUSTER NAME
"""

import errno
import os
import pty
import re
import select
import time

from cluster import HERE, check, check_equal, main, skip

NODES = 2


def options(muster):
    plugin = os.path.join(os.path.dirname(os.path.abspath(muster)), "lib/muster/spank_muster.so")
    return ("--plugstack", f"optional {plugin}") if os.path.exists(plugin) else ()


SRUN = "srun -N2 --exclusive --mpi=pmix --ntasks-per-node=2 --gpus-per-node=2"
MUSTER = "muster run --profile quick"
ESCAPE = "\x1b["
MOVES = r"\r\x1b\[K *\d+\.\d s  [a-z:, -]+: \d of 4 ranks done, [a-z0-9 ]+"


def on_terminal(cluster, command):
    """A shell command on the login node, on a terminal: its exit code, and all that the terminal shows."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cluster.folder)
        program = os.path.join(HERE, "cluster.sh")
        os.execve(program, [program, "run", "sh", "-c", command], dict(cluster.environment, TERM="xterm"))
    text, end = b"", time.monotonic() + 90
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            break
        text += piece
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode()


def check_lines(text):
    check(ESCAPE not in text, "escape codes", text)
    check(re.search(r"muster: \d+\.\d s: starting ranks\r?\n", text), "lines of progress", text)


def test_srun_on_a_terminal_moves_the_line_when_asked(cluster):
    for command in (f"{SRUN} {MUSTER} --progress line", f"MUSTER_PROGRESS=line {SRUN} {MUSTER}"):
        code, text = on_terminal(cluster, command)
        check_equal(code, 0, text)
        check(re.search(MOVES + r"\r\n", text), "a line that moves", text)
        check(re.search(r"\x1b\[A\r\x1b\[K", text), "the line before it is replaced", text)
        check("MUSTER PASS" in text, "the last line", text)


def test_srun_with_the_plugin_knows_of_its_terminal(cluster):
    if not options(cluster.environment["MUSTER_PROGRAM"]):
        skip("the plugin is not built: no slurm/spank.h here (package libslurm-dev)")
    code, text = on_terminal(cluster, f"{SRUN} {MUSTER}")
    check_equal(code, 0, text)
    check(re.search(MOVES + r"\r\n", text), "a line that moves", text)
    for more, where in (("", "2>err-0"), ("", "2>&1 | cat >err-0"), ("--error=err-0", ""), ("-o err-0", ""), ("-l", "")):
        code, text = on_terminal(cluster, f"{SRUN} {more} {MUSTER} {where}")
        check_equal(code, 0, text)
        check(ESCAPE not in text, "escape codes", text)
        if not more.startswith("-l"):
            with open(os.path.join(cluster.folder, "err-0"), encoding="utf-8") as file:
                check_lines(file.read())


def test_srun_without_the_plugin_has_lines(cluster):
    """A task cannot know where srun prints."""
    code, text = on_terminal(cluster, f"MUSTER_PROGRESS=auto {SRUN} {MUSTER}")
    check_equal(code, 0, text)
    check_lines(text)


def test_srun_with_a_terminal_for_rank_0(cluster):
    code, text = on_terminal(cluster, f"{SRUN} --pty {MUSTER}")
    check_equal(code, 0, text)
    check(re.search(MOVES, text), "a line that moves", text)


def test_labels_and_files_have_no_escape_codes(cluster):
    code, text = on_terminal(cluster, f"{SRUN} --label {MUSTER} --progress line")
    check_equal(code, 0, text)
    check(ESCAPE not in text and re.search(r"0: muster: \d+\.\d s: starting ranks\r?\n", text), "lines with labels", text)
    for number, options in enumerate(("--error=err-%t", "--output=out-%t")):
        code, text = on_terminal(cluster, f"{SRUN} {options} {MUSTER} --progress line")
        check_equal(code, 0, text)
        with open(os.path.join(cluster.folder, ("err-0", "out-0")[number]), encoding="utf-8") as file:
            check_lines(file.read())


def test_a_batch_job_has_lines(cluster):
    job = cluster.wait(cluster.submit("-N2", "--exclusive", "--ntasks-per-node=2", "--gpus-per-node=2", "--output=batch.log", "--wrap",
                                      f"srun --mpi=pmix {MUSTER}", MUSTER_PROGRESS="line"))
    check_equal(job.state, "COMPLETED", "the job")
    with open(os.path.join(cluster.folder, "batch.log"), encoding="utf-8") as file:
        check_lines(file.read())


main(globals())
