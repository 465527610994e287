# SPDX-License-Identifier: Apache-2.0
"""What PyTorch measures: all-reduce over all GPUs, and pinned copies of the first one. One JSON line for each figure.

Started by torch.distributed.run with one process for each GPU.
"""
import json
import os

import torch
import torch.distributed as dist

MIB = 1 << 20


def timed_ms(repeats, work):
    """The mean time of one of `repeats` calls that follow each other on the stream."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeats):
        work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / repeats


def say(**line):
    print(json.dumps({"by": "torch", **line}), flush=True)


def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        host = torch.empty(64 * MIB, dtype=torch.uint8).pin_memory()
        device = torch.empty_like(host, device="cuda")
        for what, to, source in (("h2d", device, host), ("d2h", host, device)):
            to.copy_(source, non_blocking=True)
            ms = sorted(timed_ms(1, lambda: to.copy_(source, non_blocking=True)) for _ in range(9))[4]
            gpu = str(torch.cuda.get_device_properties(0).uuid)
            say(what=what, gpu=gpu, bytes=host.numel(), gbps=host.numel() / 1e6 / ms)
    dist.barrier()
    for mib in (8, 64, 256, 512) if ranks > 1 else ():
        data = torch.zeros(mib * MIB // 4, device="cuda")
        timed_ms(5, lambda: dist.all_reduce(data))
        us = torch.tensor([timed_ms(20, lambda: dist.all_reduce(data)) * 1e3], device="cuda")
        dist.all_reduce(us, op=dist.ReduceOp.MAX)
        if rank == 0:
            gbps = mib * MIB / 1e3 / us.item() * 2 * (ranks - 1) / ranks
            say(what="busbw", bytes=mib * MIB, ranks=ranks, us=us.item(), gbps=gbps)
    dist.destroy_process_group()


main()
