/* SPDX-License-Identifier: Apache-2.0 */
/* built_without.c - muster as it is built where libcurl, expat and liburing are missing: what needs them says so */
#include "storage/io.h"
#include "vendor/http.h"
#include "vendor/nccl_topo.h"
#include "probe_fake.h"

#include "check_main.h"
#include <string.h>

extern const struct muster_probe muster_probe_metadata, muster_probe_environment;

TEST(nothing_is_asked_without_libcurl)
{
	const struct muster_http_request request = { .url = "file:///etc/hostname", .most = 100 };
	struct muster_error err;
	char *text;
	size_t length;
	ck_assert_int_eq(muster_http_get(&request, &text, &length, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ELIB);
	ck_assert_str_eq(err.text, "this muster was built without libcurl");
}

TEST(no_xml_is_read_without_expat)
{
	struct muster_nccl_topo topo;
	struct muster_error err;
	ck_assert_int_eq(muster_nccl_topo_parse("<system/>", 9, &topo, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ELIB);
	ck_assert_str_eq(err.text, "this muster was built without expat");
}

TEST(threads_take_the_place_of_liburing)
{
	struct muster_error err;
	struct muster_io *io = muster_io_new(4, &err);
	ck_assert_ptr_nonnull(io);
	ck_assert_str_eq(muster_io_method(io), "threads: this muster was built without liburing");
	muster_io_free(io);
}

TEST(the_probe_of_the_clouds_metadata_gives_that_reason)
{
	struct probe_fake *fake = fake_new(&muster_probe_metadata);
	struct muster_error err;
	ck_assert_int_eq(muster_probe_metadata.run(&fake->ctx, &err), 0);
	ck_assert_str_eq(
		fake_reason(fake, "node.vm_size", NULL), "metadata service: this muster was built without libcurl");
	fake_free(fake);
}

TEST(the_probe_of_the_environment_names_the_topology_file_and_does_not_judge_it)
{
	struct probe_fake *fake = fake_new(&muster_probe_environment);
	struct muster_error err;
	fake_file(fake, "/sys/bus/pci/devices/0001:00:00.0/vendor", "0x10de\n");
	fake_file(fake, "/sys/bus/pci/devices/0001:00:00.0/class", "0x030200\n");
	fake_file(fake, "/etc/nccl.conf", "NCCL_TOPO_FILE=/opt/topo.xml\n");
	fake_file(fake, "/opt/topo.xml", "<system/>");
	ck_assert_int_eq(muster_probe_environment.run(&fake->ctx, &err), 0);
	ck_assert_str_eq(fake_string(fake, "node.topo_file", NULL), "/opt/topo.xml");
	ck_assert_ptr_nonnull(strstr(fake_reason(fake, "node.topo_file_agrees", NULL), "was built without expat"));
	fake_free(fake);
}

TEST_MAIN(.setup = NULL)
