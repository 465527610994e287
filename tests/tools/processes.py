# SPDX-License-Identifier: Apache-2.0
"""The processes of a simulated run, wherever it stands in it."""

import os


def command_in(words):
    """The muster command that this command line runs, behind the words of any wrapper; None when it is another program."""
    for word, following in zip(words, words[1:]):
        if os.path.basename(word) in ("muster", "muster-sim"):
            return following
    return None


def processes_of(rank, command, mark):
    """Process ids of the rank's `muster COMMAND` (any rank's: None) in the run that has this mark in its environment."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().split("\0")
            with open(f"/proc/{entry}/environ", encoding="utf-8", errors="replace") as file:
                environment = file.read().split("\0")
        except OSError:
            continue
        if command_in(words) == command and mark in environment \
                and (rank is None or f"OMPI_COMM_WORLD_RANK={rank}" in environment):
            yield int(entry)
