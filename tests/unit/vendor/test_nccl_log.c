/* SPDX-License-Identifier: Apache-2.0 */
/* test_nccl_log.c - what NCCL's debug output says, over the versions that write it differently */
#include "check_main.h"
#include "vendor/nccl_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AT "gpu-1:2187:2301 [0] NCCL INFO "
#define WARN "gpu-1:2187:2301 [0] misc/socket.cc:484 NCCL WARN "

static const struct parse_case {
	const char *log, *transports, *devices;
	size_t network, gdr;
} parse_cases[] = {
	{ "", "", "", 0, 0 },
	/* 2.14: bus ids in brackets, legacy IPC */
	{ AT "Channel 00/0 : 0[100000] -> 1[200000] via P2P/IPC/read\n" AT
	     "Channel 01/0 : 0[100000] -> 1[200000] via P2P/IPC/read\n",
		"P2P/IPC", "", 0, 0 },
	{ AT "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n", "P2P/CUMEM", "", 0, 0 },
	{ AT "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\r\n", "P2P/CUMEM", "", 0, 0 },
	{ AT "Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL\n", "P2P/MNNVL", "", 0, 0 },
	{ AT "Channel 00/0 : 7[7] -> 6[6] via P2P/direct pointer/read\n", "P2P/direct_pointer", "", 0, 0 },
	{ AT "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n", "SHM/direct", "", 0, 0 },
	/* two nodes: the node's own transport first, whatever came first in the log */
	{ AT "NET/IB : Using [0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB/SHARP [RO]; OOB eth0:10.0.0.4<0>\n" AT
	     "Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA\n" AT
	     "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1/GDRDMA/Shared\n" AT
	     "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n",
		"P2P/CUMEM NET/IB/GDRDMA", "mlx5_ib0:1 mlx5_ib1:1", 2, 2 },
	/* through another rank's GPU; GPUDirect RDMA over PCI */
	{ AT "Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)\n", "NET/IB/GDRDMA", "", 1, 1 },
	/* the classic silent failure: one direction without GPUDirect RDMA */
	{ AT "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n" AT
	     "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0\n",
		"NET/IB/GDRDMA NET/IB", "", 2, 1 },
	{ AT "NET/IB : No device found.\n" AT "NET/Socket : Using [0]eth0:10.0.0.4<0> [1]ib0:10.1.0.4<0>\n" AT
	     "Using network Socket\n" AT "Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n",
		"NET/Socket", "eth0 ib0", 1, 0 },
	/* plug-ins: a version in the name, a space in the name */
	{ AT "Channel 03/0 : 3[3] -> 7[3] [send] via NET/IBext_v8/3/GDRDMA\n", "NET/IBext_v8/GDRDMA", "", 1, 1 },
	{ AT "Channel 03/0 : 3[3] -> 7[3] [send] via NET/AWS Libfabric/3/GDRDMA\n", "NET/AWS_Libfabric/GDRDMA", "", 1,
		1 },
	{ AT "CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA\n", "COLLNET/SHARP/GDRDMA", "", 1, 1 },
	/* dual-port adapters merged into one device */
	{ AT "NET/IB : Using [0]={[0] rocep130s0:1/RoCE, [1] rocep130s0:2/RoCE} [RO]; OOB eno1:10.0.0.5<0>\n", "",
		"rocep130s0:1 rocep130s0:2", 0, 0 },
	{ AT "NVLS multicast support is available on dev 0\n" AT
	     "24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer\n" AT
	     "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n",
		"P2P/CUMEM NVLS", "", 0, 0 },
	{ AT "Connected NVLS tree\n", "NVLS", "", 0, 0 },
	{ AT "24 coll channels, 0 collnet channels, 10 nvls channels, 32 p2p channels\n", "NVLS", "", 0, 0 },
	/* a plug-in's name is cut, and not what decides */
	{ AT "Channel 00/0 : 1[1] -> 8[0] [send] via NET/0123456789012345678901234567890123456789012345678901234567/0"
	     "/GDRDMA\n",
		"NET/0123456789012345678901234567890123456789012345678901/GDRDMA", "", 1, 1 },
	{ AT "16 coll channels, 0 collnet channels, 0 nvls channels, 16 p2p channels, 16 p2p channels per peer\n", "",
		"", 0, 0 },
	/* lines that only look like it */
	{ "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n" AT "NCCL_P2P_LEVEL set by environment to NVL via NET/IB\n" AT
	  "Channel 00/02 :    0   1   2   3\n" AT "Channel 00/0 : 0[0] -> 1[1] via \n",
		"", "", 0, 0 },
	/* cut off in the middle, as a killed process leaves it */
	{ AT "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n" AT "Channel 01/0 : 0[0] -> 1[1] vi", "P2P/CUMEM", "", 0, 0 },
	{ AT "Channel 00/0 : 0[0] -> 1[1] via P2P", "", "", 0, 0 },
	{ AT "NET/IB : Using [", "", "", 0, 0 },
	{ AT "NET/IB : Using [0]", "", "", 0, 0 },
	{ AT "NET/IB : Using [0]mlx5", "", "mlx5", 0, 0 },
	{ AT "NET/IB : Using [0]\001\377:1/IB [1] mlx5_1:1/IB\n", "", "mlx5_1:1", 0, 0 },
	{ AT "Channel 00/0 : 0[0] -> 1[1] via NET/\001\377/0\n", "NET/??", "", 1, 0 },
	{ AT " nvls channels\n", "", "", 0, 0 },
};

#define TWO_NICS AT "NET/IB : Using [0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB/SHARP [RO]; OOB eth0:10.0.0.4<0>\n"
#define MERGED                                                                                                         \
	AT "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_0:2/RoCE} [1]={[0] mlx5_1:1/RoCE, [1] mlx5_1:2/RoCE} "     \
	   "[RO]\n"

/* The way between ranks 3 and 12. */
static const struct {
	const char *before, *log, *transport, *nic; /* before: lines of an earlier ring */
} ways[] = {
	{ "", "", "unknown", "unknown" },
	{ "", AT "Channel 00/1 : 3[3] -> 12[4] via P2P/CUMEM\n" AT "Channel 01/1 : 3[3] -> 12[4] via P2P/CUMEM\n",
		"P2P/CUMEM", "none" },
	{ "", AT "Channel 02 : 12[4] -> 3[3] via SHM/direct/direct\n", "SHM/direct", "none" },
	/* 2.14: bus ids */
	{ "", AT "Channel 00/0 : 3[b00000] -> 12[c000] via P2P/IPC/read\n", "P2P/IPC", "none" },
	{ TWO_NICS,
		AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/1/GDRDMA/Shared\n" AT
		   "Channel 00/1 : 12[4] -> 3[3] [receive] via NET/IB/1/GDRDMA/Shared\n",
		"NET/IB/GDRDMA", "mlx5_ib1:1" },
	/* both devices; one direction without GPUDirect RDMA */
	{ TWO_NICS,
		AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/1\n" AT
		   "Channel 00/1 : 12[4] -> 3[3] [receive] via NET/IB/0/GDRDMA\n",
		"NET/IB+NET/IB/GDRDMA", "mlx5_ib1:1+mlx5_ib0:1" },
	/* through the NIC of another GPU */
	{ TWO_NICS, AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/0(2)/GDRDMA\n", "NET/IB/GDRDMA", "mlx5_ib0:1" },
	{ MERGED, AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/1/GDRDMA\n", "NET/IB/GDRDMA",
		"mlx5_1:1+mlx5_1:2" },
	{ MERGED, AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/0/GDRDMA\n", "NET/IB/GDRDMA",
		"mlx5_0:1+mlx5_0:2" },
	/* channels of the ring are not those of a send */
	{ TWO_NICS,
		AT "Channel 00/0 : 3[3] -> 12[4] [send] via NET/IB/0\n" AT
		   "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/1/GDRDMA\n" AT
		   "Channel 01/0 : 3[3] -> 12[4] [send] via NET/IB/0\n",
		"NET/IB/GDRDMA", "mlx5_ib1:1" },
	{ TWO_NICS, AT "Channel 00/0 : 3[3] -> 12[4] [send] via NET/IB/0\n", "NET/IB", "mlx5_ib0:1" },
	{ AT "NET/IB : Using [RO]; OOB eth0:192.0.2.2<0>\n" AT
	     "NET/Socket : Using [0]eth0:192.0.2.2<0> [1]ib0:10.1.0.4<0>\n",
		AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/Socket/1\n", "NET/Socket", "ib0" },
	{ TWO_NICS, AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/AWS Libfabric/1/GDRDMA\n",
		"NET/AWS_Libfabric/GDRDMA", "unknown" },
	/* the SHARP plugin lists its devices under NCCL's name */
	{ TWO_NICS, AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IBext_v8/1/GDRDMA\n", "NET/IBext_v8/GDRDMA",
		"mlx5_ib1:1" },
	{ TWO_NICS, AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/7\n", "NET/IB", "unknown" },
	/* 2.25: a device of two; of one alone the list says more */
	{ TWO_NICS AT "NET/IB : Made virtual device [1] name=mlx5_ib1 speed=200000 ndevs=1\n" AT
		      "NET/IB : Made virtual device [2] name=mlx5_ib0+mlx5_ib1 speed=400000 ndevs=2\n",
		AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/2/GDRDMA\n", "NET/IB/GDRDMA",
		"mlx5_ib0:1+mlx5_ib1:1" },
	{ AT "NET/IB : Made virtual device [4] name=mlx5_0+mlx5_0 speed=400000 ndevs=2 rail=0 plane=3\n",
		AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/4\n", "NET/IB", "mlx5_0:1+mlx5_0:2" },
	{ AT "NET/IB : Made virtual device [2] name=mlx5_0+\n" AT "NET/IB : Made virtual device [2\n",
		AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/3\n", "NET/IB", "unknown" },
	/* 2.30: rail and plane after the port */
	{ AT "NET/IB : Using [0]mlx5_0:1:0:1/RoCE [1]mlx5_1:1::2/RoCE [2]mlx5_2:1:3/IB [RO]; OOB eth0:10.0.0.4<0>\n",
		AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/0/GDRDMA(PCI)\n" AT
		   "Channel 00/1 : 12[4] -> 3[3] [receive] via NET/IB/1/GDRDMA(PCI)\n",
		"NET/IB/GDRDMA", "mlx5_0:1+mlx5_1:1" },
	{ TWO_NICS, AT "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB\n", "NET/IB", "unknown" },
	/* other ranks, other rings, other lines */
	{ TWO_NICS AT "Channel 00/1 : 3[3] -> 12[4] via P2P/CUMEM\n",
		AT "Channel 00/1 : 3[3] -> 13[4] via P2P/CUMEM\n" AT "Channel 00/1 : 13[3] -> 12[4] via P2P/CUMEM\n" AT
		   "Channel 00/24 : 3 12\n" AT "Channel 00/1 : 3 -> 12 via P2P/CUMEM\n" AT
		   "Channel 00/1 : 3[3] -> 12[4] via IPC/x\n" AT "Channel via P2P/CUMEM\n",
		"unknown", "unknown" },
};

TEST_EACH(a_log_names_the_way_between_two_ranks, ways)
{
	struct muster_nccl_way way;
	char text[1024];
	snprintf(text, sizeof text, "%s%s", ways[_i].before, ways[_i].log);
	muster_nccl_log_parse_way(text, strlen(text), strlen(ways[_i].before), 3, 12, &way);
	ck_assert_str_eq(way.transport, ways[_i].transport);
	ck_assert_str_eq(way.nic, ways[_i].nic);
	muster_nccl_log_parse_way(text, strlen(text), strlen(ways[_i].before), 12, 3, &way);
	ck_assert_str_eq(way.nic, ways[_i].nic);
}

#define PER_PEER(number) AT "16 coll channels, 16 p2p channels, " number " p2p channels per peer\n"

static const struct {
	const char *before, *log;
	int channels;
} channels[] = {
	{ "", AT "8 coll channels, 0 collnet channels, 0 nvls channels, 8 p2p channels, 2 p2p channels per peer\n", 2 },
	{ "", AT "comm 0x55a7, 16 coll channels, 16 p2p channels, 4 p2p channels per peer\n", 4 },
	/* the first line from there on is of the communicator, another one comes later */
	{ PER_PEER("1"), AT "Connected all rings\n" PER_PEER("32") PER_PEER("2"), 32 },
	{ PER_PEER("1"), AT "Connected all rings\n", -1 },
	{ "", "32 p2p channels per peer\n", -1 },
	{ "", PER_PEER("0"), -1 },
	{ "", AT " p2p channels per peer\n", -1 },
	{ "", "", -1 },
};

TEST_EACH(a_log_tells_the_channels_of_a_communicator, channels)
{
	char text[512];
	snprintf(text, sizeof text, "%s%s", channels[_i].before, channels[_i].log);
	ck_assert_int_eq(
		muster_nccl_log_parse_channels(text, strlen(text), strlen(channels[_i].before)), channels[_i].channels);
}

TEST_EACH(a_log_names_transports_devices_and_gdr, parse_cases)
{
	const struct parse_case *it = &parse_cases[_i];
	struct muster_nccl_log log;
	size_t length = strlen(it->log);
	char *exact = malloc(length); /* no NUL behind it: reading on is an error that the sanitizer sees */
	memcpy(exact, it->log, length);
	muster_nccl_log_parse(exact, length, &log);
	free(exact);
	ck_assert_str_eq(log.transports, it->transports);
	ck_assert_str_eq(log.devices, it->devices);
	ck_assert_uint_eq(log.network_channels, it->network);
	ck_assert_uint_eq(log.gdr_channels, it->gdr);
}

TEST(every_cut_of_a_log_is_read_without_harm)
{
	for (size_t i = 0; i < sizeof parse_cases / sizeof *parse_cases; i++) {
		size_t length = strlen(parse_cases[i].log);
		for (size_t cut = 0; cut <= length; cut++) {
			struct muster_nccl_log log;
			char tail[32], *exact = malloc(cut + (cut == 0));
			memcpy(exact, parse_cases[i].log, cut);
			muster_nccl_log_parse(exact, cut, &log);
			ck_assert_uint_lt(strlen(muster_nccl_log_tail(exact, cut, tail, sizeof tail)), sizeof tail);
			free(exact);
		}
	}
}

TEST(noise_is_read_without_harm)
{
	static const char *const pieces[] = { AT, "Channel ", "CollNet ", " via ", "NET/", " : Using ", "[0]", "[", "]",
		"P2P/", "SHM/", "COLLNET/", "/GDRDMA", "\n", "\r\n", " nvls channels", "9", "x", "{", "\377", WARN,
		" " };
	unsigned int seed = 4711;
	for (int round = 0; round < 2000; round++) {
		char text[2048];
		size_t length = 0;
		for (int i = 0; i < 60; i++) {
			seed = seed * 1103515245u + 12345u;
			const char *piece = pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)];
			memcpy(text + length, piece, strlen(piece));
			length += strlen(piece);
			if ((seed >> 8) % 50 == 0)
				text[length++] = '\0';
		}
		struct muster_nccl_log log;
		char tail[100];
		muster_nccl_log_parse(text, length, &log);
		muster_nccl_log_tail(text, length, tail, sizeof tail);
		ck_assert_uint_lt(strlen(log.transports), sizeof log.transports);
		ck_assert_uint_lt(strlen(log.devices), sizeof log.devices);
		ck_assert_uint_lt(strlen(tail), sizeof tail);
		for (const char *at = tail; *at; at++)
			ck_assert(*at >= ' ' && *at < 127);
	}
}

TEST(many_devices_are_cut_at_a_whole_name)
{
	char text[8192] = AT "NET/IB : Using ";
	for (int i = 0; i < 300; i++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "[%d]mlx5_%d:1/IB ", i, i);
	}
	struct muster_nccl_log log;
	muster_nccl_log_parse(text, strlen(text), &log);
	const char *last = strrchr(log.devices, ' ');
	ck_assert_ptr_nonnull(last);
	ck_assert_uint_eq(strlen(last), strlen(" mlx5_100:1"));
}

static const struct {
	const char *log;
	size_t size;
	const char *tail;
} tail_cases[] = {
	{ "", 64, "" },
	{ "\n\n", 64, "" },
	{ AT "one\n" AT "two\n", 64, "one | two" },
	{ AT "one\n" AT "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n" AT
	     "ReduceScatter |    14.4/   0.0 |    21.4/   0.0 |    56.0/   0.1 |\n",
		64, "one" },
	{ AT "one\n" WARN "socket refused\n" AT "three\n" WARN "giving up\n", 64, "socket refused | giving up" },
	{ "no prefix\n", 64, "no prefix" },
	{ AT "1\n" AT "2\n" AT "3\n" AT "4\n" AT "5\n" AT "6\n" AT "7\n" AT "8\n" AT "9\n" AT "10\n" AT "11\n" AT
	     "12\n",
		64, "3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12" },
	/* cut from the front */
	{ AT "abcdefgh\n" AT "ij\n", 9, "fgh | ij" },
	{ AT "abc\n" AT "ij\n", 6, "ij" },
	{ AT "abc\n", 1, "" },
	{ WARN "caf\303\251\001\n", 64, "caf???" },
};

TEST_EACH(the_tail_is_one_printable_line_that_fits, tail_cases)
{
	char out[64];
	muster_nccl_log_tail(tail_cases[_i].log, strlen(tail_cases[_i].log), out, tail_cases[_i].size);
	ck_assert_str_eq(out, tail_cases[_i].tail);
}

static struct muster_error err;

/* The kernel: with vm.memfd_noexec=2 it takes a file that cannot be executed alone; before 6.3 it knows no such flag.
 */
enum { TAKES_ALL, NOT_EXECUTABLE, BEFORE_6_3 };
static int memfd_kernel;

int memfd_create(const char *name, unsigned int flags)
{
	const unsigned int noexec = 0x0008;
	if (memfd_kernel == TAKES_ALL || (memfd_kernel == NOT_EXECUTABLE) == (bool)(flags & noexec))
		return (int)syscall(SYS_memfd_create, name, flags & ~noexec);
	errno = memfd_kernel == NOT_EXECUTABLE ? EACCES : EINVAL;
	return -1;
}

static void clear_environment(void)
{
	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_SUBSYS");
	unsetenv("NCCL_DEBUG_FILE");
}

static void start(void)
{
	ck_assert_msg(muster_nccl_log_start(&err) == 0, "%s", err.text);
}

/* Write as NCCL does: by the file's name. */
static void write_as_nccl(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static void write_log(const char *text)
{
	write_as_nccl(getenv("NCCL_DEBUG_FILE"), text);
}

static void read_back(const char *expected)
{
	size_t length;
	const char *text = muster_nccl_log_read(&length, &err);
	ck_assert_msg(text != NULL, "%s", err.text);
	ck_assert_str_eq(text, expected);
	ck_assert_uint_eq(length, strlen(expected));
}

TEST(what_nccl_writes_to_its_debug_file_can_be_read_while_it_runs)
{
	start();
	ck_assert_str_eq(getenv("NCCL_DEBUG"), "INFO");
	ck_assert_str_eq(getenv("NCCL_DEBUG_SUBSYS"), "INIT,ENV,NET,TUNING");
	read_back("");
	write_log(AT "hello\n");
	read_back(AT "hello\n");
	start();
	read_back(AT "hello\n");
}

TEST_LOOP(every_kernel_has_a_file_for_the_log, TAKES_ALL, BEFORE_6_3 + 1)
{
	memfd_kernel = _i;
	start();
	write_log(AT "hello\n");
	read_back(AT "hello\n");
}

/* Had the second call read all of the log, it would have seen the change at its beginning. */
TEST(what_was_read_is_not_read_again)
{
	start();
	write_log(AT "hello\nhalf of ");
	read_back(AT "hello\nhalf of ");
	FILE *log = fopen(getenv("NCCL_DEBUG_FILE"), "r+");
	ck_assert_ptr_nonnull(log);
	fputs("XXXX", log);
	fseek(log, 0, SEEK_END);
	fputs("a line\n", log);
	fclose(log);
	read_back(AT "hello\nhalf of a line\n");
	read_back(AT "hello\nhalf of a line\n");
}

TEST(a_log_that_begins_anew_is_read_anew)
{
	start();
	write_log(AT "hello\n");
	read_back(AT "hello\n");
	write_log(AT "bye\n");
	read_back(AT "bye\n");
}

TEST(of_a_log_without_end_the_first_16_mib_are_read)
{
	enum { MIB = 1 << 20 };
	char *block = calloc(MIB + 1, 1);
	size_t length;
	start();
	memset(block, 'x', MIB);
	FILE *out = fopen(getenv("NCCL_DEBUG_FILE"), "w");
	ck_assert_ptr_nonnull(out);
	fputs("first ", out);
	for (int i = 0; i < 17; i++)
		fputs(block, out);
	fclose(out);
	const char *text = muster_nccl_log_read(&length, &err);
	ck_assert_msg(text != NULL, "%s", err.text);
	ck_assert_uint_eq(length, 16 * MIB);
	ck_assert_uint_eq(strlen(text), length);
	ck_assert_int_eq(strncmp(text, "first xxx", 9), 0);
	ck_assert_ptr_eq(muster_nccl_log_read(&length, &err), text); /* nothing more of it */
	ck_assert_uint_eq(length, 16 * MIB);
	free(block);
}

/* A pipe, a terminal, a file that several ranks write, a folder that is not there: none of them could be read. */
TEST(the_users_own_debug_file_is_left_alone)
{
	char path[] = "/tmp/muster-nccl-XXXXXX", text[32];
	int fd = mkstemp(path);
	ck_assert_int_eq(write(fd, "mine\n", 5), 5);
	setenv("NCCL_DEBUG_FILE", path, 1);
	setenv("NCCL_DEBUG_SUBSYS", "ALL", 1);
	start();
	ck_assert_str_eq(getenv("NCCL_DEBUG_SUBSYS"), "ALL");
	write_log(AT "hello\n");
	read_back(AT "hello\n");
	ck_assert_int_eq(pread(fd, text, sizeof text, 0), 5);
	close(fd);
	unlink(path);
}

static const struct {
	const char *user, *effective;
} levels[] = { { "WARN", "INFO" }, { "VERSION", "INFO" }, { "info", "info" }, { "TRACE", "TRACE" } };

TEST_EACH(the_debug_level_is_raised_and_never_lowered, levels)
{
	setenv("NCCL_DEBUG", levels[_i].user, 1);
	start();
	ck_assert_str_eq(getenv("NCCL_DEBUG"), levels[_i].effective);
}

TEST(a_log_may_be_the_first_file_that_is_open)
{
	ck_assert_int_eq(close(STDIN_FILENO), 0);
	start();
	ck_assert_str_eq(getenv("NCCL_DEBUG_FILE"), "/proc/self/fd/0");
	write_log(AT "hello\n");
	read_back(AT "hello\n");
}

/* Each test is a process of its own: the log starts once. */
static const struct {
	const char *users, *parts;
} lists[] = {
	{ "NET", "INIT,TUNING,NET" },
	{ "COLL,NET", "INIT,TUNING,COLL,NET" },
	{ "init,NET", "TUNING,init,NET" },
	{ "NET,INIT", "TUNING,NET,INIT" },
	{ "INIT,tuning", "NET,INIT,tuning" },
	{ "INITIAL", "INIT,NET,TUNING,INITIAL" },
	{ "ALL", "ALL" },
	{ "^NET", "^NET" },
	{ "^INIT,NET", "INIT,ENV,NET,TUNING" },
	{ "^TUNING", "INIT,ENV,NET,TUNING" },
	{ "", "INIT,ENV,NET,TUNING" },
};

TEST_EACH(a_users_parts_are_kept_and_init_is_one_of_them, lists)
{
	setenv("NCCL_DEBUG_SUBSYS", lists[_i].users, 1);
	start();
	ck_assert_str_eq(getenv("NCCL_DEBUG_SUBSYS"), lists[_i].parts);
}

TEST_MAIN(.setup = clear_environment)
