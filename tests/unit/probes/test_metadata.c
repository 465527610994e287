/* SPDX-License-Identifier: Apache-2.0 */
/* test_metadata.c - answers of the cloud's instance metadata service, as files */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor/http.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_metadata;

static struct probe_fake *context;
static const char *answer;               /* NULL: the service is silent */
static struct muster_http_request asked; /* its url is "" until something is asked */

int muster_http_get(
	const struct muster_http_request *request, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	asked = *request;
	if (!answer)
		return muster_fail(err, MUSTER_ETIME, "Timeout was reached");
	*ret_text = muster_strdup(answer);
	*ret_length = strlen(answer);
	return 0;
}

static void setup(void)
{
	context = fake_new(&muster_probe_metadata);
	asked = (struct muster_http_request){ .url = "" };
	unsetenv("MUSTER_METADATA_URL");
}

static void teardown(void)
{
	fake_free(context);
}

static void measure(void)
{
	struct muster_error err;
	ck_assert_msg(muster_probe_metadata.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, NULL);
}

TEST(each_metric_is_its_own_key_of_compute)
{
	answer = "{\"compute\":{\"vmSize\":\"S\",\"placementGroupId\":\"P\",\"location\":\"L\",\"vmId\":\"V\","
		 "\"resourceId\":\"/R\"},\"vmSize\":\"not this\"}";
	measure();
	ck_assert_str_eq(fake_string(context, "node.vm_size", NULL), "S");
	ck_assert_str_eq(fake_string(context, "node.placement_group", NULL), "P");
	ck_assert_str_eq(fake_string(context, "node.location", NULL), "L");
	ck_assert_str_eq(fake_string(context, "node.vm_id", NULL), "V");
	ck_assert_str_eq(fake_string(context, "node.resource_id", NULL), "/R");
	ck_assert_ptr_nonnull(strstr(asked.url, "169.254.169.254/metadata/instance"));
	ck_assert_str_eq(asked.header, "Metadata: true");
	ck_assert_int_eq(asked.connect_ms, 500);
	ck_assert_int_eq(asked.total_ms, 1000);
	ck_assert_uint_eq(asked.most, 65536);
	ck_assert_msg(
		strncmp(context->steps, "GET ", 4) == 0 && strstr(context->steps, asked.url), "%s", context->steps);
}

static const struct {
	const char *answer, *why; /* of node.vm_size */
} refused[] = {
	{ NULL, "metadata service: Timeout was reached" },
	{ "not json", "metadata service: the answer is not JSON: " },
	{ "[]", "metadata service: the answer has no object \"compute\"" },
	{ "{}", "metadata service: the answer has no object \"compute\"" },
	{ "{\"compute\":7}", "metadata service: the answer has no object \"compute\"" },
	{ "{\"compute\":{}}", "metadata service: compute has no vmSize" },
	{ "{\"compute\":{\"vmSize\":7}}", "metadata service: vmSize is not a string" },
	{ "{\"compute\":{\"vmSize\":\"\"}}", "metadata service: vmSize is empty" },
	{ "{\"compute\":{\"vmSize\":\"a\\u001bb\"}}",
		"metadata service: vmSize contains characters other than printable ASCII" },
	{ "{\"compute\":{\"vmSize\":\"a\\u007fb\"}}",
		"metadata service: vmSize contains characters other than printable ASCII" },
	{ "{\"compute\":{\"vmSize\":\"\xc3\xa9\"}}",
		"metadata service: vmSize contains characters other than printable ASCII" },
};

TEST_EACH(what_is_not_a_plain_text_is_null_with_the_reason, refused)
{
	answer = refused[_i].answer;
	measure();
	const char *why = fake_reason(context, "node.vm_size", NULL);
	ck_assert_msg(strncmp(why, refused[_i].why, strlen(refused[_i].why)) == 0, "%s", why);
}

TEST(a_text_has_at_most_511_bytes)
{
	char name[513], text[1024];
	for (int length = 511; length <= 512; length++) {
		memset(name, '~', sizeof name);
		name[length] = '\0';
		snprintf(text, sizeof text, "{\"compute\":{\"vmSize\":\"%s\"}}", name);
		answer = text;
		measure();
		if (length == 511)
			ck_assert_str_eq(fake_string(context, "node.vm_size", NULL), name);
		else
			ck_assert_str_eq(fake_reason(context, "node.vm_size", NULL),
				"metadata service: vmSize is longer than 511 bytes");
		fake_forget(context);
	}
}

TEST(the_url_can_be_another_or_none)
{
	answer = "{\"compute\":{\"vmSize\":\"S\"}}";
	setenv("MUSTER_METADATA_URL", "http://other/", 1);
	measure();
	ck_assert_str_eq(asked.url, "http://other/");
	fake_forget(context);
	asked.url = "";
	setenv("MUSTER_METADATA_URL", "", 1);
	measure();
	ck_assert_str_eq(asked.url, "");
	ck_assert_str_eq(fake_reason(context, "node.vm_id", NULL), "no request: MUSTER_METADATA_URL is empty");
}

/* ---- the physical host ---- */

#define POOL "/var/lib/hyperv/.kvp_pool_3"

/* Records of keys and values, without the last `cut` bytes; a value "~" does not end. */
static void write_pool(const char *const pairs[4], size_t cut)
{
	char path[512], records[2][512 + 2048] = { 0 };
	for (size_t i = 0; i < 2 && pairs[2 * i]; i++) {
		snprintf(records[i], 512, "%s", pairs[2 * i]);
		if (strcmp(pairs[2 * i + 1], "~") == 0)
			memset(records[i] + 512, '~', 2048);
		else
			snprintf(records[i] + 512, 2048, "%s", pairs[2 * i + 1]);
	}
	fake_file(context, POOL, "");
	snprintf(path, sizeof path, "%s" POOL, context->root);
	FILE *out = fopen(path, "we");
	fwrite(records, 1, (pairs[2] ? 2 : 1) * sizeof records[0] - cut, out);
	fclose(out);
}

static const struct {
	const char *pairs[4];
	size_t cut;
	const char *name, *why; /* node.physical_host, or its reason behind the path */
} pools[] = {
	{ { "HostName", "x", "PhysicalHostName", "GGBB90904476" }, 0, "GGBB90904476", NULL },
	{ { "PhysicalHostNameFullyQualified", "a.b", "PhysicalHostName", "a" }, 0, "a", NULL },
	{ { "PhysicalHostNameFullyQualified", "a.b" }, 0, "a.b", NULL },
	{ { "PhysicalHostName", "~", "PhysicalHostNameFullyQualified", "a.b" }, 0, "a.b", NULL },
	{ { "HostName", "x" }, 0, NULL, ": no record of PhysicalHostName" },
	{ { "PhysicalHostName", "a" }, 1, NULL, ": no record of PhysicalHostName" },
	{ { "PhysicalHostName", "" }, 0, NULL, ": PhysicalHostName is empty" },
	{ { "PhysicalHostName", "a\033b" }, 0, NULL, ": PhysicalHostName contains characters other than printable" },
};

TEST_EACH(the_host_is_named_by_a_whole_record_of_hyper_v, pools)
{
	answer = NULL;
	write_pool(pools[_i].pairs, pools[_i].cut);
	measure();
	if (pools[_i].name)
		ck_assert_str_eq(fake_string(context, "node.physical_host", NULL), pools[_i].name);
	else
		ck_assert_msg(strstr(fake_reason(context, "node.physical_host", NULL), pools[_i].why) != NULL, "%s",
			fake_reason(context, "node.physical_host", NULL));
}

TEST(without_hyper_v_the_host_is_null_with_the_reason)
{
	char path[512];
	answer = NULL;
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.physical_host", NULL), "No such file"));
	fake_forget(context);
	fake_file(context, POOL, "");
	snprintf(path, sizeof path, "%s" POOL, context->root);
	ck_assert_int_eq(truncate(path, 257L * 2560), 0);
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.physical_host", NULL), "at most 655360 are allowed"));
}

TEST_MAIN(.setup = setup, .teardown = teardown)
