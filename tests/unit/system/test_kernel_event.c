/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel_event.c - lines of kernel logs, of faults and of healthy machines
 *
 * Lines are as real machines have logged them, with other names, process ids and addresses: from bug reports of
 * NVIDIA/open-gpu-kernel-modules (446, 507, 1150), NVIDIA/nvidia-docker (1553), NVIDIA/NVSentinel (155), NVIDIA/nvtrust
 * (124), leptonai/gpud (338, 1160, 1174, 1209), wilicc/gpu-burn (1), pop-os/pop (3363), from NVIDIA's Xid documents,
 * and as the sources of Linux print them, 4.18 to 6.18.
 */
#include "check_main.h"
#include "system/kernel_event.h"

#include <string.h>

static const struct {
	const char *text, *event; /* its kind, its device and its code, if it has one */
} events[] = {
	{ "NVRM: Xid (PCI:0000:3b:00): 79, pid=0, GPU has fallen off the bus.", "xid 0000:3b:00.0 79" },
	{ "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.", "xid 0000:02:00.0 79" },
	{ "NVRM: Xid (PCI:0000:61:00): 119, pid=4711, name=nvidia-smi, Timeout waiting for RPC from GSP! Expected "
	  "function 76 (GSP_RM_CONTROL) (0x20800110 0x84).",
		"xid 0000:61:00.0 119" },
	{ "NVRM: Xid (PCI:0000:9B:00): 94, pid=1234, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
		"xid 0000:9b:00.0 94" },
	{ "NVRM: Xid (PCI:0000:86:00): 74, pid=1234, name=python3, NVLink: fatal error detected on link 6(0x10000, "
	  "0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
		"xid 0000:86:00.0 74" },
	{ "NVRM: Xid (PCI:0008:01:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 0, TPC "
	  "1, SM 0): Out Of Range Address",
		"xid 0008:01:00.0 13" },
	{ "NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python3, Ch 00000010, intr 00000000. MMU Fault: ENGINE "
	  "GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f1a_b2c00000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
		"xid 0000:01:00.0 31" },
	{ "NVRM: Xid (PCI:0000:00:06): 31, pid=4711, name=fault, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE "
	  "GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ 0x0_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE",
		"xid 0000:00:06.0 31" },
	{ "NVRM: Xid (PCI:0000:9c:00): 48, pid='<unknown>', name=<unknown>, DBE (double bit error) ECC Error detected",
		"xid 0000:9c:00.0 48" },
	{ "NVRM: Xid (PCI:0000:9c:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x1b2) marked for "
	  "remapping, reset gpu to activate.",
		"xid 0000:9c:00.0 63" },
	{ "NVRM: Xid (PCI:0000:9c:00): 95, pid='<unknown>', name=<unknown>, Uncontained: FBHUB. RST: Yes, D-RST: No",
		"xid 0000:9c:00.0 95" },
	{ "NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000 0x00000000)",
		"xid 0019:01:00.0 149-fatal" },
	{ "NVRM: Xid (PCI:0018:01:00): 149, pid=4711, name=a Fatal XC0 b, NETIR_LINK_EVT Nonfatal XC0 i0 Link 13 "
	  "(0x0409a0c2 0x00000008)",
		"xid 0018:01:00.0 149-nonfatal" },
	{ "NVRM: Xid (PCI:0000:86:00): 74, pid=1234, name=python3, NVLink: fatal error detected on link 14(0x40800001, "
	  "0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
		"xid 0000:86:00.0 74-harmless" },
	{ "NVRM: Xid (PCI:0000:86:00): 74, pid=1234, name=python3, NVLink: fatal error detected on link 14(0x1, 0x0, "
	  "0x2, 0x0, 0x0, 0x0, 0x0)",
		"xid 0000:86:00.0 74" },
	{ "NVRM: Xid (0000:03:00): 14, Channel 00000001", "xid 0000:03:00.0 14" },
	{ "NVRM: Xid (PCI:0000:C1:00 GPU-I:05): 43, pid=4711, name=train, Ch 00000008", "xid 0000:c1:00.0 43" },
	{ "NVRM: Xid (PCI:00000008:06:00.0): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset "
	  "Required)",
		"xid 0008:06:00.0 154-gpu-reset-required, ends 1" },
	{ "NVRM: Xid (PCI:0000:61:00): 154, pid=4711, name=to 0x0 (None), GPU recovery action changed from 0x0 (None) "
	  "to 0x2 (Node Reboot Required)",
		"xid 0000:61:00.0 154-node-reboot-required, ends 1" },
	{ "NVRM: Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
		"gpu-reset 0000:61:00.0, ends 2" },
	{ "NVRM: Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x3 (Drain P2P) to 0x0 (None)",
		"gpu-reset 0000:61:00.0, ends 1" },
	{ "NVRM: Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x4 (Drain and Reset) to 0x5 (Recover "
	  "IMEX Domain)",
		"xid 0000:61:00.0 154-recover-imex-domain, ends 2" },
	{ "NVRM: Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x4 (Drain "
	  "and Reset)",
		"xid 0000:61:00.0 154-drain-and-reset, ends 1" },
	{ "NVRM: Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x0 (None) to 0x9",
		"xid 0000:61:00.0 154, ends 1" },
	{ "NVRM: Xid (PCI:0000:86:00): 74, NVLink: fatal error detected on link 2(0x0, 0x0, 0x40000, 0x0, 0x20000000, "
	  "0x0, 0x0)",
		"xid 0000:86:00.0 74-watch" },
	{ "NVRM: Xid (PCI:0000:86:00): 74, NVLink: fatal error detected on link 2(0x1, 0x0, 0x0, 0x10000, 0x0, 0x0, "
	  "0x0)",
		"xid 0000:86:00.0 74" },
	{ "NVRM: Xid (PCI:0000:86:00): 74, NVLink: fatal error detected on link 2(0x1, 0x0, 0x0",
		"xid 0000:86:00.0 74" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt",
		"sxid 0000:04:00.0 22013-nonfatal" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 24003, Correctable, Link 44 single bit", "sxid 0000:04:00.0 "
											       "24003-correctable" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 25008, Fatal, Link 44 Reset sequencer (First)",
		"sxid 0000:04:00.0 25008-fatal" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 25008, Severity 1 Engine instance 44 Sub-engine instance 00",
		"sxid 0000:04:00.0 25008-fatal, follows" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22012, Fatal, Link 44 Minion Link NA interrupt (First)",
		"sxid 0000:04:00.0 22012-na" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 27005, Module 3 faulty", "sxid 0000:04:00.0 27005" },
	{ "nvidia-nvswitch: Probing device 0000:04:00.0, Vendor Id = 0x10de, Device Id = 0x22a3, Class = 0x68000 ",
		"gpu-reset 0000:04:00.0, ends 2" },
	{ "nvidia-nvswitch3: Failed to initialize device : -5", "nvswitch-init nvswitch3" },
	{ "nvidia-nvswitch0:Failed during device post init : -5", "nvswitch-init nvswitch0" },
	{ "nvidia-nvswitch: unrecoverable error in ISR", "nvswitch-init none" },
	{ "nvidia-nvswitch: Version mismatch, kernel version 550.1 user version 550.2", "driver-version none" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 Sub-engine instance 00",
		"sxid 0000:04:00.0 22013-nonfatal, follows" },
	{ "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a, 0x00000500, 0x00000064}",
		"sxid 0000:84:00.0 12028, follows" },
	{ "NVRM: GPU 0000:09:00.0: GPU has fallen off the bus.", "gpu-lost 0000:09:00.0" },
	{ "NVRM: GPU at 0000:02:00.0 has fallen off the bus.", "gpu-lost 0000:02:00.0" },
	{ "NVRM: The NVIDIA GPU 0000:b3:00.0 NVRM: (PCI ID: 10de:26b5) installed in this system has NVRM: fallen off "
	  "the bus and is not responding to commands.",
		"gpu-lost 0000:b3:00.0" },
	{ "NVRM: GPU 0000:b3:00.0: RmInitAdapter failed! (0x62:0xffff:2477)", "gpu-init 0000:b3:00.0" },
	{ "NVRM: API mismatch: the client has the version 535.247.01, but", "driver-version none" },
	{ "NVRM: API mismatch: the client 'nvidia-smi' (pid 7) has the version 595.84, but", "driver-version none" },
	{ "Loading of unsigned module is rejected", "driver-unsigned none" },
	{ "Loading of module with unavailable key is rejected", "driver-unsigned none" },
	{ "nvidia: loading of unsigned module is rejected", "driver-unsigned none" },
	{ "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
		"driver-unsigned none" },
	{ "NVRM: RmFetchGspRmImages: No firmware image found", "driver-firmware none" },
	{ "nvidia 0000:b3:00.0: Direct firmware load for nvidia/580.95.05/gsp_ga10x.bin failed with error -2",
		"driver-firmware 0000:b3:00.0" },
	{ "NVRM: The NVIDIA probe routine failed for 4 device(s).", "gpu-init none, follows" },
	{ "NVRM: The NVIDIA probe routine was not called for 1 device(s).", "driver-probe none" },
	{ "NVRM: GPU 0000:b3:00.0 is already bound to nouveau.", "driver-probe 0000:b3:00.0" },
	{ "NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:2c31)\nNVRM: installed in this system requires use of the "
	  "NVIDIA open kernel modules.",
		"driver-probe 0000:b3:00.0" },
	{ "NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:2c31) NVRM: installed in this system is not supported by "
	  "the NVRM: NVIDIA 595.45.04 driver release.",
		"driver-probe 0000:b3:00.0" },
	{ "NVRM: No NVIDIA GPU found.", "driver-probe none" },
	{ "NVRM: GPU1 RmInitAdapter: Cannot initialize GSP firmware RM", "gpu-init none, follows" },
	{ "NVRM: kgspInitRm_IMPL: (the GPU is likely in a bad state and may need to be reset)",
		"gpu-init none, follows" },
	{ "NVRM: kfspSendBootCommands_GH100: FSP boot cmds failed. RM cannot boot.", "gpu-init none, follows" },
	{ "NVRM: GPU 0000:b3:00.0: GPU does not have the necessary power cables connected.",
		"gpu-init 0000:b3:00.0, follows" },
	{ "NVRM: GPU 0000:b3:00.0: No interrupts of any type are available. Cannot use this GPU.",
		"gpu-init 0000:b3:00.0" },
	{ "NVRM: GPU 0000:b3:00.0: request_irq() failed (-28)", "gpu-init 0000:b3:00.0" },
	{ "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid: NVRM: BAR0 is 0M @ 0x0 "
	  "(PCI:0000:b3:00.0)",
		"gpu-init 0000:b3:00.0" },
	{ "NVRM: FATAL: Failed to re-allocate BAR1.", "gpu-init none" },
	{ "nvidia: probe of 0000:b3:00.0 failed with error -1", "gpu-init 0000:b3:00.0, follows" },
	{ "nvidia 0000:b3:00.0: probe with driver nvidia failed with error -1", "gpu-init 0000:b3:00.0, follows" },
	{ "NVRM: rm_init_adapter(0) failed", "gpu-init none, follows" },
	{ "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover.",
		"driver-reboot none" },
	{ "nvidia-uvm: uvm_global.c:425 uvm_global_set_fatal_error_impl[pid:4711] Encountered a global fatal error: "
	  "NV_ERR_ECC_ERROR",
		"driver-reboot none" },
	{ "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:3b:00 (printing 1 of every 30).  The GPU "
	  "likely needs to be reset.",
		"reset-needed 0000:3b:00.0" },
	{ "NVRM: GPU2 _issueRpcAndWait: GSP RM heartbeat timed out", "reset-needed none" },
	{ "NVRM: RmInitAdapter failed! (0x26:0xffff:1133)", "gpu-init none" },
	{ "NVRM: GPU 0000:b3:00.0: rm_init_adapter failed, device minor number 4", "gpu-init 0000:b3:00.0, follows" },
	{ "pcieport 0000:00:02.0: AER: Uncorrected (Fatal) error received: id=0010",
		"aer-fatal 0000:00:02.0, follows" },
	{ "pcieport 0000:00:03.0: AER: Multiple Uncorrected (Fatal) error received: 0000:3b:00.0",
		"aer-fatal 0000:3b:00.0, follows" },
	{ "pcieport 0000:00:03.1: AER: Uncorrectable (Non-Fatal) error message received from 0000:00:00.0",
		"aer-nonfatal 0000:00:03.1, follows" },
	{ "pcieport 0001:00:00.0: AER: Uncorrected (Fatal) error received: 0001:00:00.0",
		"aer-fatal 0001:00:00.0, follows" },
	{ "pcieport 0000:00:02.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
	  "id=0010(Receiver ID)",
		"aer-fatal 0000:00:02.0" },
	{ "nvidia 0000:3b:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, "
	  "(Requester ID)",
		"aer-nonfatal 0000:3b:00.0" },
	{ "snd_hda_intel 0000:63:00.1: PCIe Bus Error: Uncorrectable (Non-Fatal), type=Transaction Layer",
		"aer-nonfatal 0000:63:00.1" },
	{ "pcieport 0000:00:03.1: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)",
		"aer-corrected 0000:00:03.1" },
	{ "mlx5_core 0000:5e:00.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
		"aer-corrected 0000:5e:00.0" },
	{ "pcieport 0000:b0:01.0: DPC: containment event, status:0x1f01 source:0x0000", "aer-fatal 0000:b0:01.0" },
	{ "pcieport 0000:b0:01.0: pciehp: Slot(4): Link Down", "pcie-link 0000:b0:01.0" },
	{ "pcieport 0000:b0:01.0: pciehp: Slot(4-1): Card not present", "pcie-link 0000:b0:01.0, follows" },
	{ "mlx5_core 0000:5e:00.0: poll_health:817:(pid 0): Fatal error 1 detected",
		"nic-error 0000:5e:00.0, weight 3" },
	{ "mlx5_core 0000:5e:00.0: poll_health:834:(pid 0): device's health compromised - reached miss count",
		"nic-error 0000:5e:00.0, weight 2" },
	{ "mlx5_core 0000:5e:00.0: print_health_info:424:(pid 0): Health issue observed, firmware internal error, "
	  "severity(3) ERROR:",
		"nic-error 0000:5e:00.0, weight 4" },
	{ "mlx5_core 0000:5e:00.0: print_health_info:428:(pid 0): assert_var[0] 0x00000001",
		"nic-error 0000:5e:00.0, follows" },
	{ "mlx5_core 0000:5e:00.0: print_health_info:440:(pid 0): synd 0x1: firmware internal error",
		"nic-error 0000:5e:00.0, follows" },
	{ "mlx5_core 0000:5e:00.0: Port module event[error]: module 0, Cable error, High Temperature",
		"nic-error 0000:5e:00.0, weight 1" },
	{ "mlx5_core 0000:5e:00.0: wait_func:1151:(pid 4711): ACCESS_REG(0x805) timeout. Will cause a leak of a "
	  "command resource",
		"nic-error 0000:5e:00.0, weight 1" },
	{ "mlx5_core 0000:5e:00.0: Port module event: module 0, Cable unplugged", "link-down 0000:5e:00.0" },
	{ "mlx5_core 0000:5e:00.0: Port module event: module 0, Cable plugged", "link-up 0000:5e:00.0" },
	{ "mlx5_core 0000:5e:00.0 ens1f0np0: Link down", "link-down 0000:5e:00.0" },
	{ "mlx5_core 0000:5e:00.0 ens1f0np0: Link up", "link-up 0000:5e:00.0" },
	{ "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN", "link-down 0000:ab:00.0" },
	{ "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE", "link-up 0000:ab:00.0" },
	{ "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be00000000800400", "mce cpu12" },
	{ "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 5: 8c00004000010090", "edac-corrected cpu0" },
	{ "[Hardware Error]: Uncorrected, software restartable error.", "mce none" },
	{ "[Hardware Error]: Corrected error, no action required.", "edac-corrected none" },
	{ "mce: Uncorrected hardware memory error in user-access at 4b8a3c0", "mce none" },
	{ "Memory failure: 0x4b8a: recovery action for dirty LRU page: Recovered", "edac-uncorrected none" },
	{ "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1b2)",
		"edac-corrected mc0" },
	{ "EDAC MC11: 1 UE memory read error on CPU_SrcID#1_MC#3_Chan#0_DIMM#0 (channel:0 slot:0)",
		"edac-uncorrected mc11" },
	{ "Out of memory: Killed process 4711 (train) total-vm:9448928kB, anon-rss:8912896kB", "oom none" },
	{ "Out of memory: Kill process 4711 (train) score 903 or sacrifice child", "oom none" },
	{ "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/"
	  ",task=train,pid=4711,uid=1001",
		"oom none, follows" },
	{ "INFO: task train:4711 blocked for more than 122 seconds.", "hung-task none, weight 122" },
	{ "watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [train:4711]", "lockup cpu12, weight 22" },
	{ "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3", "lockup cpu3" },
	{ "rcu: INFO: rcu_sched self-detected stall on CPU", "lockup none" },
	{ "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "lockup none" },
	{ "EXT4-fs (nvme0n1p1): Remounting filesystem read-only", "read-only nvme0n1p1" },
	{ "XFS (md127): Log I/O Error Detected.  Shutting down filesystem", "read-only md127" },
	{ "BTRFS info (device sda1: state EA): forced readonly", "read-only sda1" },
	/* stuck: the weight is a number of seconds */
	{ "INFO: task train:4711 blocked in I/O wait for more than 245 seconds.", "hung-task none, weight 245" },
	{ "watchdog: BUG: soft lockup - CPU#12 stuck for 123s! [train:4711]", "lockup-long cpu12, weight 123" },
	{ "BUG: workqueue lockup - pool cpus=3 node=0 flags=0x0 nice=0 stuck for 45s!", "lockup none, weight 45" },
	{ "watchdog: CPU12: Watchdog detected hard LOCKUP on cpu 3", "lockup cpu3" },
	{ "Watchdog detected hard LOCKUP on cpu 7", "lockup cpu7" },
	{ "rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 3-... } 21568 jiffies s: 81 root: 0x1/.",
		"lockup none, weight 21" },
	{ "INFO: rcu_tasks detected stalls on tasks:", "lockup none" },
	{ "\t(t=21002 jiffies g=1745 q=12)", "lockup none, weight 21, follows" },
	{ "rcu: \t(detected by 7, t=240012 jiffies, g=1745, q=12 ncpus=96)", "lockup-long none, weight 240, follows" },
	{ "rcu: rcu_preempt kthread starved for 5250 jiffies! g1745 f0x0 RCU_GP_WAIT_FQS(5)", "lockup none, follows" },
	{ "smp: csd: Detected non-responsive CSD lock (#1) on CPU#3, waiting 5000000044 ns for CPU#12", "lockup none" },
	/* file systems */
	{ "EXT4-fs (md0): shut down requested (2)", "read-only md0" },
	{ "EXT4-fs (md0): I/O error while writing superblock", "fs-error md0" },
	{ "EXT4-fs error (device dm-8): ext4_find_entry:1683: inode #2: comm train: reading directory lblock 0",
		"fs-error dm-8" },
	{ "EXT4-fs error (device sda1) in ext4_reserve_inode_write:5752: IO failure", "fs-error sda1" },
	{ "Aborting journal on device nvme0n1p1-8.", "fs-error nvme0n1p1" },
	{ "JBD2: Error -5 detected when updating journal superblock for md0-8.", "fs-error md0" },
	{ "XFS (md127): User initiated shutdown received. Shutting down filesystem", "read-only md127" },
	{ "XFS (md127): xfs_do_force_shutdown(0x2) called from line 1217 of file fs/xfs/xfs_log.c. Return address = 1",
		"read-only md127, follows" },
	{ "XFS (sdb1): Corruption of in-memory data (0x8) detected at xfs_defer_finish_noroll+0x2c8/0x600 [xfs] "
	  "(fs/xfs/libxfs/xfs_defer.c:510).  Shutting down filesystem.",
		"read-only sdb1" },
	{ "XFS (dm-0): All device paths lost. Shutting down filesystem", "read-only dm-0" },
	{ "XFS (dm-0): Filesystem has been shut down due to log error (0x2).", "read-only dm-0" },
	{ "XFS (dm-0): log I/O error -5", "read-only dm-0, follows" },
	{ "XFS (dm-0): metadata I/O error in \"xfs_imap_to_bp+0x5c/0x80 [xfs]\" at daddr 0x8a66c0 len 32 error 5",
		"fs-error dm-0" },
	{ "XFS (sdb1): Metadata CRC error detected at xfs_agi_read_verify+0x5e/0x110 [xfs], xfs_agi block 0x2",
		"fs-error sdb1" },
	{ "BTRFS: error (device sdb1: state A) in btrfs_commit_transaction:2320: errno=-5 IO failure",
		"fs-error sdb1" },
	/* disks and arrays */
	{ "nvme nvme4: Disabling device after reset failure: -19", "disk-lost nvme4" },
	{ "nvme nvme4: Removing after probe failure status: -19", "disk-lost nvme4" },
	{ "nvme4n1: detected capacity change from 7501476528 to 0", "disk-lost nvme4n1" },
	{ "nvme nvme4: Device not ready; aborting reset, CSTS=0x1", "disk-error nvme4" },
	{ "nvme nvme4: Device not ready; aborting initialisation", "disk-error nvme4" },
	{ "nvme nvme4: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff", "disk-error nvme4" },
	{ "nvme nvme4: I/O 24 QID 0 timeout, reset controller", "disk-error nvme4" },
	{ "nvme nvme4: I/O tag 956 (23bc) opcode 0x1 (I/O Cmd) QID 6 timeout, aborting req_op:WRITE(1) size:12288",
		"disk-error nvme4" },
	{ "nvme4n1: Read(0x2) @ LBA 1234, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) DNR",
		"disk-error nvme4n1" },
	{ "block nvme4n1: no available path - failing I/O", "disk-error nvme4n1" },
	{ "I/O error, dev nvme4n1, sector 2048 op 0x1:(WRITE) flags 0x8800 phys_seg 1 prio class 2",
		"disk-error nvme4n1" },
	{ "blk_update_request: critical medium error, dev sda, sector 2161435200 op 0x0:(READ) flags 0x0",
		"disk-error sda" },
	{ "print_req_error: I/O error, dev sdb, sector 0", "disk-error sdb" },
	{ "Buffer I/O error on dev md0, logical block 0, lost sync page write", "disk-error md0" },
	{ "Buffer I/O error on device dm-8, logical block 7", "disk-error dm-8" },
	{ "md/raid0:md0: Disk failure on nvme4n1 detected, failing array.", "disk-lost nvme4n1" },
	{ "md/raid1:md1: Disk failure on sdb1, disabling device.\nmd/raid1:md1: Operation continuing on 1 devices.",
		"disk-lost sdb1" },
	{ "md/raid:md5: Cannot continue operation (2/4 failed).", "disk-lost md5" },
	{ "md: md0: raid0 array has a missing/failed member", "disk-lost md0" },
	{ "md/raid10:md1: sdc1: unrecoverable I/O read error for block 78848", "disk-error md1" },
	{ "sd 2:0:0:1: Device offlined - not ready after error recovery", "disk-lost 2:0:0:1" },
	{ "sd 2:0:0:1: [sdc] tag#5 Sense Key : Medium Error [current]", "disk-error sdc" },
	{ "ata2.00: disabled", "disk-lost ata2.00" },
	{ "md/raid0:md0: too few disks (7 of 8) - aborting!", "disk-lost md0" },
	{ "device-mapper: multipath: 253:2: Failing path 8:32.", "disk-error 8:32" },
	{ "nvme 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible",
		"pcie-link 0000:01:00.0" },
	{ "EXT4-fs warning (device sda1): ext4_end_bio:345: I/O error 10 writing to inode 12 starting block 34",
		"fs-error sda1" },
	{ "ice 0000:b1:00.0 rocep177s0: Requesting a reset", "nic-error 0000:b1:00.0" },
	/* the IOMMU */
	{ "nvidia 0000:c1:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x001d address=0xd0826000 flags=0x0020]",
		"iommu-fault 0000:c1:00.0" },
	{ "AMD-Vi: Event logged [IO_PAGE_FAULT device=c1:00.0 domain=0x001d address=0xd0826000 flags=0x0000]",
		"iommu-fault 0000:c1:00.0" },
	{ "iommu ivhd2: AMD-Vi: Event logged [INVALID_DEVICE_REQUEST device=0001:41:00.0 pasid=0x00000 "
	  "address=0xfffffffdf8000000 flags=0x0a00]",
		"iommu-fault 0001:41:00.0" },
	{ "DMAR: [DMA Read NO_PASID] Request device [3b:00.0] fault addr 0x7f2c0000 [fault reason 0x06] PTE Read "
	  "access is not set",
		"iommu-fault 0000:3b:00.0" },
	{ "DMAR: [DMA Write] Request device [3b:00.1] PASID ffffffff fault addr 7f2c0000 [fault reason 05] PTE Write",
		"iommu-fault 0000:3b:00.1" },
	{ "arm-smmu-v3 arm-smmu-v3.8.auto: event: F_TRANSLATION client: 0009:01:00.0 sid: 0x100 ssid: 0x0 iova: 0x0",
		"iommu-fault 0009:01:00.0" },
	{ "arm-smmu-v3 arm-smmu-v3.8.auto: event 0x10 received:", "iommu-fault none" },
	{ "arm-smmu 5000000.iommu: Unhandled context fault: fsr=0x402, iova=0xffe00000, fsynr=0x1",
		"iommu-fault none" },
	/* adapters */
	{ "mlx5_core 0000:5e:00.0: print_health_info:413:(pid 0): Health issue observed, unrecoverable hardware error, "
	  "severity(1) ALERT:",
		"nic-fatal 0000:5e:00.0, weight 3" },
	{ "mlx5_core 0000:5e:00.0: print_health_info:432:(pid 0): synd 0x8: unrecoverable hardware error",
		"nic-fatal 0000:5e:00.0, weight 1, follows" },
	{ "mlx5_core 0000:5e:00.1: mlx5_health_try_recover:381:(pid 7): health recovery flow aborted, PCI reads still "
	  "not working",
		"nic-fatal 0000:5e:00.1, weight 2" },
	{ "mlx5_core 0000:5e:00.0 ens1: NETDEV WATCHDOG: CPU: 3: transmit queue 7 timed out 5123 ms",
		"nic-queue 0000:5e:00.0" },
	{ "NETDEV WATCHDOG: ens1 (mlx5_core): transmit queue 7 timed out", "nic-queue ens1" },
	{ "infiniband rdmap79s0: Admin queue is closed", "nic-fatal rdmap79s0, weight 1" },
	{ "infiniband efa_0: The device didn't send any completion for admin cmd CREATE_QP(6) status 0",
		"nic-fatal efa_0, weight 2" },
	{ "efa 0000:4f:00.0 rdmap79s0: Wait for completion (polling) timeout", "nic-fatal 0000:4f:00.0, weight 2" },
	{ "efa 0000:4f:00.0: Device isn't ready, abort com init", "nic-fatal 0000:4f:00.0, weight 2" },
	{ "bnxt_en 0000:17:00.0 eth0: Firmware fatal reset event, data1: 0x1, data2: 0x2, min wait 2000 ms",
		"nic-error 0000:17:00.0, weight 2" },
	{ "bnxt_en 0000:17:00.0: QPLIB: bnxt_re_is_fw_stalled: FW STALL Detected. cmdq[0xe]=0x3 waited (103641 > "
	  "100000) msec active 1",
		"nic-fatal 0000:17:00.0, weight 1" },
	{ "bnxt_en 0000:17:00.0 eth0: NIC Link is Up, 200000 Mbps (PAM4) full duplex", "link-up 0000:17:00.0" },
	{ "ice 0000:b1:00.0: Rebuild failed, unload and reload driver", "nic-fatal 0000:b1:00.0, weight 1" },
	{ "mana 7870:00:00.0: HWC: Request timed out: 30000 ms", "nic-error 7870:00:00.0, weight 1" },
	/* the kernel's own faults */
	{ "BUG: kernel NULL pointer dereference, address: 0000000000000008", "oops none" },
	{ "BUG: unable to handle page fault for address: ffffb3f3c0a3b000", "oops none" },
	{ "Oops: Oops: 0000 [#1] SMP NOPTI", "oops none, follows" },
	{ "general protection fault, probably for non-canonical address 0xdead000000000108: 0000 [#2] SMP",
		"oops none" },
	{ "divide error: 0000 [#1] SMP", "oops none" },
	{ "kernel BUG at mm/slub.c:4011!", "oops none" },
	{ "Unable to handle kernel paging request at virtual address ffff800012345678", "oops none" },
	{ "Internal error: Oops: 0000000096000004 [#1] SMP", "oops none, follows" },
	{ "nvidia-nvlink: Nvlink Core is being initialized, major device number 511", "driver-starts none" },
	{ "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build", "driver-loaded none" },
};

TEST_EACH(a_line_of_a_fault_is_its_event, events)
{
	struct muster_kernel_event event;
	const char *text = events[_i].text;
	ck_assert_msg(muster_kernel_event_parse(text, &event), "no event: %s", text);
	char told[256];
	int used = snprintf(told, sizeof told, "%s %s%s%s", muster_kernel_event_names[event.kind], event.device,
		*event.code ? " " : "", event.code);
	if (event.weight > 0)
		used += snprintf(told + used, sizeof told - (size_t)used, ", weight %lu", event.weight);
	used += snprintf(told + used, sizeof told - (size_t)used, "%s", event.follows ? ", follows" : "");
	if (event.ends)
		snprintf(told + used, sizeof told - (size_t)used, ", ends %d", event.ends);
	ck_assert_str_eq(told, events[_i].event);
}

static const char *const others[] = {
	"",
	"N",
	"NVRM: ",
	"NVRM: GPU at PCI:0000:09:00: GPU-01234567-89ab-cdef-0123-456789abcdef",
	"NVRM: GPU Board Serial Number: 0000000000000",
	"NVRM: GPU 0000:09:00.0: GPU is on Board .",
	"NVRM: A GPU crash dump has been created. If possible, please run",
	"NVRM: gpuClearFbhubPoisonIntrForBug2924523_GA100: FBHUB Interrupt detected. Clearing it.",
	"NVRM: Persistence mode is deprecated and will be removed in a future release.",
	"NVRM: Xid",
	"NVRM: Xid (",
	"NVRM: Xid (PCI:0000:09:00)",
	"NVRM: Xid (PCI:0000:09:00): ",
	"NVRM: Xid (PCI:0000:09:00): none",
	"NVRM: Xid (PCI:0000:09:0): 79, GPU has fallen off the bus.",
	"NVRM: Xid (PCI:0000:09:00): 123456789012, too long",
	"NVRM: nvAssertOkFailedNoLog: Assertion failed: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F) "
	"returned from status @ mmu_walk.c:100",
	"NVRM: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from rmStatus",
	"NVRM: nvPciProbe: the device of this gpu is on another bus",
	"nvidia-nvswitch2: open (major=510)",
	"nvidia-uvm: Loaded the UVM driver, major device number 508.",
	"nvidia-modeset: ERROR: GPU:0: Failed to reboot",
	"audit: type=1400 msg='NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.'",
	"python[4711]: NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.",
	"nvidia-nvswitch3: using MSI",
	"pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
	"pcieport 0000:00:03.1: AER: Correctable error message received from 0000:00:00.0",
	"pcieport 0000:00:03.1: AER: Corrected error received: id=00e5",
	"pcieport 0000:00:02.0:   device [8086:6f04] error status/mask=00001000/00002000",
	"nvidia 0000:03:00.0: AER: can't recover (no error_detected callback)",
	"pcieport 0000:b0:01.0: pciehp: Slot #4 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+ Surprise+",
	"pcieport 0000:b0:01.0: pciehp: Slot(4): Link Up",
	"pci 0000:5e:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x16 link at 0000:5d:00.0",
	"mlx5_core 0000:5e:00.0: 126.024 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x8 link)",
	"mlx5_core 0000:5e:00.0: mlx5_cmd_out_err:808:(pid 412): ACCESS_REG(0x805) op_mod(0x1) failed, status bad "
	"operation(0x2), syndrome (0x305684), err(-22)",
	"mlx5_core 0000:5e:00.0: firmware version: 28.39.1002",
	"nouveau 0000:b3:00.0: Direct firmware load for nvidia/ad102/gsp/booter_load-535.113.01.bin failed",
	"i915 0000:00:02.0: Direct firmware load for i915/tgl_guc_70.bin failed with error -2",
	"nvidia: module verification failed: signature and/or required key missing - tainting kernel",
	"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link INIT",
	"e1000e 0000:00:1f.6 eno1: Link down",
	"mce: [Hardware Error]: Machine check events logged",
	"mce: CPU0: Thermal monitoring enabled (TM1)",
	"nvme 0000:5e:00.0: AER: aer_status: 0x00100000, aer_mask: 0x00000000",
	"EDAC MC: Ver: 3.0.0",
	"EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:64:0a.0",
	"Memory cgroup out of memory: Killed process 4711 (train) total-vm:9448928kB, anon-rss:8912896kB",
	"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0,oom_memcg=/slurm/job_7,"
	"task_memcg=/slurm/job_7,task=train,pid=4711,uid=1001",
	"train invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
	"INFO: task train:4711 is blocked on a mutex likely owned by task train:4712.",
	"blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
	"Buffer I/O error on dev sr0, logical block 0, async page read",
	"critical target error, dev sda, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 2",
	"nvme nvme0: I/O 12 QID 3 timeout, completion polled",
	"nvme nvme0: Shutdown timeout set to 10 seconds",
	"nvme0n1: detected capacity change from 0 to 7501476528",
	"md/raid0:md0: raid0 array has 8 devices",
	"md: md0 stopped.",
	"sd 0:0:0:0: [sda] Attached SCSI disk",
	"EXT4-fs (sda1): error count since last fsck: 5",
	"BTRFS error (device sda1): open_ctree failed",
	"xhci_hcd 0000:02:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000f address=0xff00 flags=0x0000]",
	"AMD-Vi: Interrupt remapping enabled",
	"DMAR: [INTR-REMAP] Request device [f0:1f.7] fault index 0x0 [fault reason 0x25] Blocked a request",
	"DMAR: DRHD: handling fault status reg 2",
	"ena 0000:00:05.0 eth0: Admin queue is closed",
	"infiniband mlx5_0: Wait for completion (polling) timeout",
	"efa 0000:4f:00.0 rdmap79s0: Failed to process command CREATE_QP (opcode 6) comp_status 1 err -22",
	"BUG: scheduling while atomic: train/4711/0x00000002",
	"NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
	"watchdog: Delayed init of the lockup detector failed: -19",
	"rcu: Hierarchical RCU implementation.",
	"EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro. Quota mode: none.",
	"EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
	"XFS (md127): Mounting V5 Filesystem",
	"BTRFS info (device sda1): using crc32c (crc32c-intel) checksum algorithm",
	"usb 1-1: Product: NVRM: Xid (PCI:0000:09:00): 79",
};

TEST_EACH(any_other_line_is_no_event, others)
{
	struct muster_kernel_event event = { .code = "untouched" };
	ck_assert_msg(!muster_kernel_event_parse(others[_i], &event), "%s: %s", others[_i],
		muster_kernel_event_names[event.kind]);
	ck_assert_str_eq(event.code, "untouched");
}

/* A process that names itself and its file as it likes, and crashes, runs out of memory, or is warned of. */
#define CRASH(name, file)                                                                                              \
	name "[4711]: segfault at 0 ip 0000000000401646 sp 00007ffd3db16610 error 6 in " file                          \
	     "[1646,401000+78000] likely on CPU 1 (core 1, socket 0)"
static const char *const forged[] = {
	CRASH("EDAC MC0: 1 UE ", "c"),
	CRASH("EDAC MC0: 1 UE ", "a on b (c"),
	CRASH("NVRM: ", "GPU 0001:00:00.0 has fallen off the bus."),
	CRASH("NVRM: ", "RmInitAdapter failed!"),
	CRASH("NVRM: GPU 0000:", "GPU has fallen off the bus."),
	CRASH("NVRM: Xid (PCI:", "0000:09:00): 79, x"),
	CRASH("nvidia-nvlink: ", "Nvlink Core is being initialized"),
	CRASH("nvidia-nvswitch", ": SXid (PCI:0000:05:00.0): 20034, Fatal"),
	CRASH("XFS (", "Shutting down filesystem"),
	CRASH("XFS (a): ", "Shutting down filesystem"),
	CRASH("EXT4-fs (a): ", "Remounting filesystem read-only"),
	CRASH("BTRFS (device a", "forced readonly"),
	CRASH("mce: ", "Uncorrected hardware memory error"),
	CRASH("INFO: task ", " blocked for more than "),
	CRASH("watchdog: ", "soft lockup - CPU#1"),
	CRASH("NMI watchdog: ", "hard LOCKUP on cpu 1"),
	CRASH("rcu: INFO: rcu_", "detected stall"),
	CRASH("oom-kill:", ",global_oom"),
	CRASH("", "x"),
	"EDAC MC0: 1 UE [4711] trap invalid opcode ip:401646 sp:7ffd3db16610 error:0 in a on b[1646,401000+78000]",
	"EDAC MC0: 1 UE [4711] bad frame in rt_sigreturn frame:00007ffd ip:401646 sp:7ffd orax:0 in a on b[1+1]",
	"EDAC MC0: 1 UE (4711): drop_caches: 3",
	"EDAC MC0: 1 UE: page allocation failure: order:5, mode:0xcc0(GFP_KERNEL), nodemask=(null)",
	"EDAC MC0: 1 UE invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
	"EDAC MC0: 1 UE uses obsolete (PF_INET,SOCK_PACKET)",
	"Oops: 0000 [#1] uses obsolete (PF_INET,SOCK_PACKET)",
	"kernel BUG at a: vmalloc error: size 123, failed to allocate pages, mode:0xcc0(GFP_KERNEL)",
	CRASH("nvme nvme0: I/O", " timeout, reset controller"),
	CRASH("I/O error, dev ", "sda error, dev sda"),
	CRASH("md/: Disk failu", "re on : Disk failure on "),
	CRASH("kernel BUG at ", "a!"),
	CRASH("\t(", "t=240012 jiffies"),
	"a 0000:09:00.0: page allocation failure: order:5, mode:0xcc0(GFP_KERNEL)",
};

TEST_EACH(no_name_of_a_process_or_of_its_file_makes_an_event, forged)
{
	struct muster_kernel_event event;
	ck_assert_msg(!muster_kernel_event_parse(forged[_i], &event), "%s: %s", forged[_i],
		muster_kernel_event_names[event.kind]);
}

TEST_EACH(no_line_that_is_cut_off_is_read_beyond_its_end, events)
{
	struct muster_kernel_event event;
	for (size_t length = strlen(events[_i].text); length-- > 0;) {
		char *cut = strndup(events[_i].text, length);
		if (muster_kernel_event_parse(cut, &event))
			ck_assert_str_ne(event.device, "");
		free(cut);
	}
}

TEST(every_kind_has_a_name_of_its_own)
{
	for (int i = 0; i < MUSTER_KERNEL_EVENT_COUNT; i++) {
		ck_assert_ptr_nonnull(muster_kernel_event_names[i]);
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(muster_kernel_event_names[i], muster_kernel_event_names[j]);
	}
}

TEST_MAIN(.setup = NULL)
