/* SPDX-License-Identifier: Apache-2.0 */
/* test_share.c - how a share reads */
#include "check_main.h"

#include "model/share.h"

#include <stdlib.h>

static const struct {
	struct muster_share share;
	const char *text, *with_limit;
} texts[] = {
	{ { true, 0.8776, 0.8776, 63.0154, "PCIe 5.0 x16" }, "88 % of PCIe 5.0 x16", "88 % of PCIe 5.0 x16 (63 GB/s)" },
	{ { true, 0.821, 0.829, 31.508, "PCIe 4.0 x16" }, "82 to 83 % of PCIe 4.0 x16",
		"82 to 83 % of PCIe 4.0 x16 (31.5 GB/s)" },
	{ { true, 0.044, 0.044, 478.116, "NVLink (18 x 26.6)" }, "4.4 % of NVLink (18 x 26.6)",
		"4.4 % of NVLink (18 x 26.6) (478 GB/s)" },
	{ { true, 1.125, 1.125, 1555.2, "network (8 x 50)" }, "112 % of network (8 x 50)",
		"112 % of network (8 x 50) (1555 GB/s)" },
	{ { false, 1, 1, 1, "x" }, "", "" },
};

TEST_EACH(a_share_reads_in_per_cent_of_its_limit, texts)
{
	char text[MUSTER_SHARE_TEXT_MAX];
	ck_assert_str_eq(muster_share_text(&texts[_i].share, "GB/s", false, text), texts[_i].text);
	ck_assert_str_eq(muster_share_text(&texts[_i].share, "GB/s", true, text), texts[_i].with_limit);
}

TEST(what_was_observed_has_unit_and_share)
{
	struct muster_finding finding = {
		.observed = "27",
		.value = muster_number(27),
		.unit = "GB/s",
		.share = { true, 0.4285, 0.4285, 63.0154, "PCIe 5.0 x16" },
	};
	char *text = muster_finding_observed(&finding);
	ck_assert_str_eq(text, "27 GB/s, 43 % of PCIe 5.0 x16 (63 GB/s)");
	free(text);
	finding.share.known = false;
	text = muster_finding_observed(&finding);
	ck_assert_str_eq(text, "27 GB/s");
	free(text);
	finding.observed = NULL;
	text = muster_finding_observed(&finding);
	ck_assert_str_eq(text, "");
	free(text);
	finding.observed = "ACTIVE";
	finding.value = muster_string("ACTIVE");
	text = muster_finding_observed(&finding);
	ck_assert_str_eq(text, "ACTIVE");
	free(text);
}

TEST_MAIN(.setup = NULL)
