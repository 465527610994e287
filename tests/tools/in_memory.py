# SPDX-License-Identifier: Apache-2.0
"""Where the thousands of small files of a simulation cost least."""

import os


def in_memory():
    """The folder for `dir` of tempfile; None, so the usual one, where memory has no room for them."""
    try:
        status = os.statvfs("/dev/shm")
        return "/dev/shm" if status.f_bavail * status.f_frsize > 4 << 30 and not status.f_flag & os.ST_NOEXEC else None
    except OSError:
        return None
