#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Another program on a GPU, by the CUDA driver alone: usage: stranger.py GPU hold|busy MIB

Says "ready", waits for a line on standard input, takes MIB of memory on the GPU and says "here". With "busy" it writes this
memory again and again. Ends when standard input ends.
"""
import ctypes
import sys
import threading


def main():
    gpu, how, mib = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    cuda = ctypes.CDLL("libcuda.so.1")
    context, memory, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t(mib << 20)

    def ask(name, *args):
        result = getattr(cuda, name)(*args)
        if result != 0:
            sys.exit(f"{name}: CUDA error {result}")

    ask("cuInit", 0)
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), gpu)
    ask("cuCtxSetCurrent", context)
    ask("cuMemAlloc_v2", ctypes.byref(memory), size)
    ask("cuMemsetD32_v2", memory, 1, ctypes.c_size_t(size.value // 4))
    ask("cuCtxSynchronize")
    print("here", flush=True)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while not ended.is_set():
        if how == "hold":
            ended.wait()
            continue
        for _ in range(100):
            ask("cuMemsetD32Async", memory, 2, ctypes.c_size_t(size.value // 4), None)
        ask("cuCtxSynchronize")


main()
