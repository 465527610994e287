#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Records how long each of many equal operations takes on real GPUs, one by one, so that the noise of a host can be played again.

usage: noise.py FOLDER SECONDS [SERIES...]
    all GPUs at once, SECONDS for each of SERIES, in this order unless some are named:
    copies, memory, product, launch; with two GPUs or more also allreduce, exchange, step

Writes FOLDER/gpuN-SERIES.csv.gz. Each line is one operation, in the order in which they ran, back to back:
    copies     t_ms, direction (h2d or d2h, 16 of each in turns), gbps: 64 MiB of pinned memory
    memory     t_ms, kind (write or copy, 16 of each in turns), gbps: 1 GiB written, or 512 MiB read and written
    product    t_ms, us: 4096 x 4096 x 4096 in BF16
    launch     t_ms, us: an empty kernel, launched and waited for, on the host's clock
    allreduce  t_ms, mib (8, 64 and 512 in turns), us: over all GPUs
    exchange   t_ms, mib (64), us: with the next GPU (the GPU before it, where the number is odd), both ways
    step       t_ms, us: a product of 4096 x 8192 x 8192 and an all-reduce of 32 MiB beside it
Times are those of the GPU, by events, unless another clock is named. Needs PyTorch. Changes nothing on the host.
"""
import gzip
import os
import sys
import time

import torch
import torch.distributed as dist

MIB = 1 << 20
BATCH = 64  # operations whose events are read together
ALONE = ("copies", "memory", "product", "launch")
TOGETHER = ("allreduce", "exchange", "step")


def copies(_rank, _world):
    device = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    host = torch.empty(64 * MIB, dtype=torch.uint8, pin_memory=True)
    h2d = ("h2d", lambda: device.copy_(host, non_blocking=True), 64 * MIB / 1e6)
    d2h = ("d2h", lambda: host.copy_(device, non_blocking=True), 64 * MIB / 1e6)
    return [h2d] * 16 + [d2h] * 16


def memory(_rank, _world):
    words = torch.empty(1024 * MIB // 8, dtype=torch.int64, device="cuda")
    half = words.numel() // 2
    write = ("write", lambda: words.fill_(7), 1024 * MIB / 1e6)
    copy = ("copy", lambda: words[:half].copy_(words[half:]), 1024 * MIB / 1e6)
    return [write] * 16 + [copy] * 16


def product(_rank, _world):
    a, b = (torch.randn(4096, 4096, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    return [("", lambda: torch.mm(a, b, out=c), None)]


def allreduce(_rank, _world):
    kinds = []
    for mib in (8, 64, 512):
        data = torch.ones(mib * MIB // 4, device="cuda")
        kinds.append((str(mib), lambda data=data: dist.all_reduce(data), None))
    return kinds


def exchange(rank, world):
    peer = rank ^ 1
    out, into = (torch.ones(64 * MIB // 4, device="cuda") for _ in range(2))

    def run():
        if peer < world:
            for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, out, peer), dist.P2POp(dist.irecv, into, peer)]):
                work.wait()
    return [("64", run, None)]


def step(_rank, _world):
    a = torch.randn(4096, 8192, dtype=torch.bfloat16, device="cuda")
    b = torch.randn(8192, 8192, dtype=torch.bfloat16, device="cuda")
    c = torch.empty(4096, 8192, dtype=torch.bfloat16, device="cuda")
    gradient = torch.ones(32 * MIB // 4, device="cuda")

    def run():
        work = dist.all_reduce(gradient, async_op=True)
        torch.mm(a, b, out=c)
        work.wait()
    return [("", run, None)]


HEADERS = {"copies": "t_ms,direction,gbps", "memory": "t_ms,kind,gbps", "product": "t_ms,us", "launch": "t_ms,us",
           "allreduce": "t_ms,mib,us", "exchange": "t_ms,mib,us", "step": "t_ms,us"}


def record(kinds, seconds, out, rounds):
    """Operations one after the other; the next batch is enqueued before the last one is read, so that the GPU never waits."""
    origin = torch.cuda.Event(enable_timing=True)
    for _, run, _ in kinds * 3:
        run()
    torch.cuda.synchronize()
    origin.record()
    waiting, number, began = [], 0, time.monotonic()

    def read(batch):
        for kind, megabytes, first, last in batch:
            last.synchronize()
            took = first.elapsed_time(last)
            value = f"{megabytes / took:.2f}" if megabytes else f"{took * 1e3:.1f}"
            out.write(",".join(part for part in (f"{origin.elapsed_time(first):.3f}", kind, value) if part) + "\n")

    while number < rounds if rounds else time.monotonic() - began < seconds:
        batch = []
        for _ in range(BATCH):
            kind, run, megabytes = kinds[number % len(kinds)]
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            run()
            last.record()
            batch.append((kind, megabytes, first, last))
            number += 1
        read(waiting)
        waiting = batch
    read(waiting)
    return number


def launches(seconds, out):
    word = torch.zeros(1, device="cuda")
    began = time.perf_counter()
    while (now := time.perf_counter()) - began < seconds:
        word.zero_()
        torch.cuda.synchronize()
        out.write(f"{(now - began) * 1e3:.3f},{(time.perf_counter() - now) * 1e6:.1f}\n")


def calibrated(kinds, seconds):
    """How many operations fill that time on rank 0, the same on all ranks: a collective needs them all."""
    for _, run, _ in kinds * 4:
        run()
    torch.cuda.synchronize()
    began = time.monotonic()
    for _, run, _ in kinds * 20:
        run()
    torch.cuda.synchronize()
    count = torch.tensor([len(kinds) * 20 * seconds / (time.monotonic() - began)], device="cuda", dtype=torch.float64)
    dist.broadcast(count, 0)
    return int(count.item())


def work(rank, world, folder, seconds, names):
    torch.cuda.set_device(rank)
    if world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
        dist.init_process_group("nccl", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
    for name in names:
        if name in TOGETHER and world < 2:
            continue
        with gzip.open(os.path.join(folder, f"gpu{rank}-{name}.csv.gz"), "wt") as out:
            out.write(HEADERS[name] + "\n")
            if world > 1:
                dist.barrier()
            if name == "launch":
                launches(seconds, out)
                continue
            kinds = globals()[name](rank, world)
            number = record(kinds, seconds, out, 0 if name in ALONE else calibrated(kinds, seconds))
        if rank == 0:
            print(f"{name}: {number} operations", flush=True)
        torch.cuda.empty_cache()
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


def main():
    folder, seconds = sys.argv[1], float(sys.argv[2])
    names = sys.argv[3:] or ALONE + TOGETHER
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    os.makedirs(folder, exist_ok=True)
    world = torch.cuda.device_count()
    if world == 1:
        work(0, 1, folder, seconds, names)
    else:
        torch.multiprocessing.spawn(work, (world, folder, seconds, names), nprocs=world)


if __name__ == "__main__":
    main()
