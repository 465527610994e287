/* test_kernel_event.c - lines of kernel logs, of faults and of healthy machines
 *
 * Lines are as real machines have logged them, with other names, process ids and addresses: from bug reports of
 * NVIDIA/open-gpu-kernel-modules (446, 507, 1150), NVIDIA/nvidia-docker (1553), NVIDIA/NVSentinel (155), NVIDIA/nvtrust
 * (124), leptonai/gpud (338, 1160, 1174, 1209), wilicc/gpu-burn (1), pop-os/pop (3363), from NVIDIA's Xid documents,
 * and as the sources of Linux print them.
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
		"xid 0019:01:00.0 149" },
	{ "NVRM: Xid (0000:03:00): 14, Channel 00000001", "xid 0000:03:00.0 14" },
	{ "NVRM: Xid (PCI:0000:C1:00 GPU-I:05): 43, pid=4711, name=train, Ch 00000008", "xid 0000:c1:00.0 43" },
	{ "NVRM: Xid (PCI:00000008:06:00.0): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset "
	  "Required)",
		"xid 0008:06:00.0 154" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt",
		"sxid 0000:04:00.0 22013" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 Sub-engine instance 00",
		"sxid 0000:04:00.0 22013, follows" },
	{ "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a, 0x00000500, 0x00000064}",
		"sxid 0000:84:00.0 12028, follows" },
	{ "NVRM: GPU 0000:09:00.0: GPU has fallen off the bus.", "gpu-lost 0000:09:00.0" },
	{ "NVRM: GPU at 0000:02:00.0 has fallen off the bus.", "gpu-lost 0000:02:00.0" },
	{ "NVRM: The NVIDIA GPU 0000:b3:00.0 NVRM: (PCI ID: 10de:26b5) installed in this system has NVRM: fallen off "
	  "the bus and is not responding to commands.",
		"gpu-lost 0000:b3:00.0" },
	{ "NVRM: GPU 0000:b3:00.0: RmInitAdapter failed! (0x62:0xffff:2477)", "gpu-init 0000:b3:00.0" },
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
	{ "mlx5_core 0000:5e:00.0: poll_health:817:(pid 0): Fatal error 1 detected", "nic-error 0000:5e:00.0" },
	{ "mlx5_core 0000:5e:00.0: poll_health:834:(pid 0): device's health compromised - reached miss count",
		"nic-error 0000:5e:00.0" },
	{ "mlx5_core 0000:5e:00.0: print_health_info:424:(pid 0): Health issue observed, firmware internal error, "
	  "severity(3) ERROR:",
		"nic-error 0000:5e:00.0" },
	{ "mlx5_core 0000:5e:00.0: print_health_info:428:(pid 0): assert_var[0] 0x00000001",
		"nic-error 0000:5e:00.0, follows" },
	{ "mlx5_core 0000:5e:00.0: print_health_info:440:(pid 0): synd 0x1: firmware internal error",
		"nic-error 0000:5e:00.0, follows" },
	{ "mlx5_core 0000:5e:00.0: Port module event[error]: module 0, Cable error, High Temperature",
		"nic-error 0000:5e:00.0" },
	{ "mlx5_core 0000:5e:00.0: wait_func:1151:(pid 4711): ACCESS_REG(0x805) timeout. Will cause a leak of a "
	  "command resource",
		"nic-error 0000:5e:00.0" },
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
	{ "{3}[Hardware Error]: event severity: recoverable", "mce none" },
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
	{ "INFO: task train:4711 blocked for more than 122 seconds.", "hung-task none" },
	{ "watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [train:4711]", "lockup cpu12" },
	{ "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3", "lockup cpu3" },
	{ "rcu: INFO: rcu_sched self-detected stall on CPU", "lockup none" },
	{ "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "lockup none" },
	{ "EXT4-fs (nvme0n1p1): Remounting filesystem read-only", "read-only nvme0n1p1" },
	{ "XFS (md127): Log I/O Error Detected.  Shutting down filesystem", "read-only md127" },
	{ "BTRFS info (device sda1: state EA): forced readonly", "read-only sda1" },
	{ "nvidia-nvlink: Nvlink Core is being initialized, major device number 511", "driver-starts none" },
	{ "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build", "driver-loaded none" },
};

TEST_EACH(a_line_of_a_fault_is_its_event, events)
{
	struct muster_kernel_event event;
	const char *text = events[_i].text;
	ck_assert_msg(muster_kernel_event_parse(text, &event), "no event: %s", text);
	char told[256];
	snprintf(told, sizeof told, "%s %s%s%s%s", muster_kernel_event_names[event.kind], event.device,
		*event.code ? " " : "", event.code, event.follows ? ", follows" : "");
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
	"NVRM: Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
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
	"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link INIT",
	"e1000e 0000:00:1f.6 eno1: Link down",
	"mce: [Hardware Error]: Machine check events logged",
	"mce: CPU0: Thermal monitoring enabled (TM1)",
	"{1}[Hardware Error]: event severity: corrected",
	"EDAC MC: Ver: 3.0.0",
	"EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:64:0a.0",
	"Memory cgroup out of memory: Killed process 4711 (train) total-vm:9448928kB, anon-rss:8912896kB",
	"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0,oom_memcg=/slurm/job_7,"
	"task_memcg=/slurm/job_7,task=train,pid=4711,uid=1001",
	"train invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
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
