# SPDX-License-Identifier: Apache-2.0
"""A real file system that stops answering: FUSE's protocol (include/uapi/linux/fuse.h), spoken on /dev/fuse.

It has one folder, in which files can be made, and keeps no data. It answers all but some kinds of request: writes and
reads only from a place in the file on.
"""

import ctypes
import errno
import os
import select
import struct
import tempfile
import threading

LOOKUP, FORGET, GETATTR, SETATTR, UNLINK, OPEN, READ, WRITE, STATFS, RELEASE = 1, 2, 3, 4, 10, 14, 15, 16, 17, 18
FSYNC, FLUSH, INIT, OPENDIR, RELEASEDIR, ACCESS, CREATE, INTERRUPT, BATCH_FORGET = 20, 25, 26, 27, 29, 34, 35, 36, 42
ENOENT, ENOSYS = 2, 38
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
ROOT = 1

libc = ctypes.CDLL(None, use_errno=True)


class StallingFs:
    """With `folder`, mounted; at the end it is gone, and requests that wait end with an error."""

    def __init__(self, never=(WRITE,), beyond=0):
        self.never = never
        self.beyond = beyond
        self.waiting = []  # requests without an answer: opcodes
        self.stop = False
        self.files = ROOT  # the last one's number
        self.size = 0

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="muster-stall-")
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK)
        options = f"fd={self.device},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
        if libc.mount(b"muster-stall", self.folder.encode(), b"fuse", MS_NOSUID | MS_NODEV, options) != 0:
            error = ctypes.get_errno()
            os.close(self.device)
            os.rmdir(self.folder)
            raise OSError(error, os.strerror(error))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        libc.umount2(self.folder.encode(), MNT_DETACH)
        self.stop = True
        self.thread.join(10)
        os.close(self.device)  # ends the connection, and whatever waits for it
        os.rmdir(self.folder)

    def _serve(self):
        while not self.stop:
            if not select.select([self.device], [], [], 0.1)[0]:
                continue
            try:
                request = os.read(self.device, 1 << 21)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.ENOENT, errno.EINTR):
                    continue  # the one who asked is gone
                return  # unmounted
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            place = struct.unpack_from("<Q", request, 48)[0] if opcode in (READ, WRITE) else self.beyond
            if opcode in self.never and place >= self.beyond:
                self.waiting.append(opcode)
                continue
            answer = self._answer(opcode, node, request[40:])
            if answer is None:
                continue
            error, body = answer
            try:
                os.write(self.device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
            except OSError:
                pass  # the one who asked is gone

    def _attributes(self, node):
        mode = 0o40755 if node == ROOT else 0o100600
        return struct.pack("<6Q10I", node, 0 if node == ROOT else self.size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0,
                           4096, 0)

    def _answer(self, opcode, node, body):
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if opcode == INIT:
            # Requests that wait for ever must not fill the kernel's queue, in which those of other ranks wait too.
            return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, 1 << 20, 0, 8192, 8191, 1 << 20, 1, 0, 0, 0, *[0] * 7)
        if opcode == GETATTR:
            return 0, struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if opcode == SETATTR:
            self.size = struct.unpack_from("<Q", body, 16)[0] or self.size
            return 0, struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if opcode == LOOKUP:
            return ENOENT, b""
        if opcode == CREATE:
            self.files += 1
            entry = struct.pack("<QQQQII", self.files, 0, 0, 0, 0, 0) + self._attributes(self.files)
            return 0, entry + struct.pack("<QII", 1, 0, 0)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("<QII", 1, 0, 0)
        if opcode == STATFS:
            return 0, struct.pack("<5Q4I6I", 1 << 24, 1 << 24, 1 << 24, 1 << 20, 1 << 20, 4096, 255, 4096, 0, *[0] * 6)
        if opcode == WRITE:
            return 0, struct.pack("<II", struct.unpack_from("<I", body, 16)[0], 0)
        if opcode == READ:
            return 0, bytes(struct.unpack_from("<I", body, 16)[0])
        if opcode in (UNLINK, RELEASE, RELEASEDIR, FSYNC, FLUSH, ACCESS):
            return 0, b""
        return ENOSYS, b""
