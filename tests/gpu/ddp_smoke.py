# SPDX-License-Identifier: Apache-2.0
"""The usual smoke test before a training job: import PyTorch, join all GPUs, one all-reduce, one step of a tiny model.

Started by torch.distributed.run; run.sh takes its wall time to compare muster's with.
"""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl", device_id=torch.device("cuda", local))
ones = torch.ones(1 << 20, device="cuda")
dist.all_reduce(ones)
assert ones[0].item() == dist.get_world_size()
model = DistributedDataParallel(torch.nn.Linear(64, 64).cuda(), device_ids=[local])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(8, 64, device="cuda")).sum().backward()
optimizer.step()
torch.cuda.synchronize()
dist.destroy_process_group()
