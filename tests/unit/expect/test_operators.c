/* SPDX-License-Identifier: Apache-2.0 */
/* test_operators.c - the texts that shipped checks take, and versions */
#include "check_main.h"
#include "unit/expect/loaded.h"

#include "expect/operators.h"
#include "muster/arena.h"

/* Texts with a bar between them. */
static const struct {
	const char *sku, *check, *taken, *refused;
} shipped[] = {
	{ "Standard_ND96asr_v4", "node.vm_size",
		"Standard_ND96asr_v4|standard_nd96asr_v4|standard_ND96asr_v4|STANDARD_ND96ASR_V4",
		"Standard_ND96amsr_A100_v4|Standard_ND96asr_v4r|xStandard_ND96asr_v4|Standard_ND96asr_v4 |" },
	{ "Standard_ND96isr_H200_v5", "node.vm_size", "Standard_ND96isr_H200_v5|standard_nd96isr_h200_v5",
		"Standard_ND96isr_H100_v5" },
	{ "Standard_NC36ds_xl_RTXPro6000_v6", "node.vm_size",
		"Standard_NC36ds_xl_RTXPro6000_v6|Standard_NC36ds_xl_RTXPRO6000BSE_v6|"
		"standard_nc36ds_xl_rtxpro6000bse_v6",
		"Standard_NC36lds_xl_RTXPRO6000BSE_v6|Standard_NC36ds_xl_RTXPro6000SE_v6" },
	{ "Standard_NC36ds_xl_RTXPro6000_v6", "gpu.name",
		"NVIDIA RTX Pro 6000 Blackwell DC-1-24Q|NVIDIA RTX PRO 6000 DC-1-24Q",
		"NVIDIA RTX Pro 6000 Blackwell DC-4-96Q|NVIDIA RTX Pro 6000 Blackwell DC-1-24QX|"
		"NVIDIA RTX PRO 6000DC-1-24Q|NVIDIA RTX Pro 5000 Blackwell DC-1-24Q" },
	{ "family-nc-rtxpro6000", "gpu.name",
		"NVIDIA RTX Pro 6000 Blackwell DC-4-96Q|NVIDIA RTX Pro 6000 Blackwell DC-2-48Q|"
		"NVIDIA RTX Pro 6000 Blackwell DC-1-24Q",
		"NVIDIA RTX PRO 6000 Blackwell Server Edition|NVIDIA RTX Pro 6000 Blackwell DC-4-48Q" },
	{ "Standard_ND96asr_v4", "nccl.version", "2.9.9|2.9.10|2.10.0|2.10|2.28.9|2.100.1|3.0.0|3|10.1.0",
		"2.9.8|2.9|2.8.99|1.99.9|0.0.0|unknown|" },
	{ "Standard_ND128isr_GB300_v6", "nccl.version", "2.25.0|2.25.1|2.100.0|3.0.0", "2.24.9|2.9.9|1.30.0|" },
	{ "Standard_ND128isr_GB300_v6", "fabric.cluster",
		"00000000-0000-0000-0000-00000000000a|10000000-0000-0000-0000-000000000000|F",
		"00000000-0000-0000-0000-000000000000|0|" },
	{ "Standard_ND128isr_GB300_v6", "env.mnnvl", "1|2|not set", "0|12|set|" },
	{ "Standard_ND128isr_GB300_v6", "ring.mnnvl", "P2P/MNNVL|P2P/CUMEM SHM/direct",
		"NET/IB/GDRDMA|P2P/CUMEM NET/IB|" },
	{ "Standard_NC288ds_xl_RTXPro6000_v6", "nccl.shm", "SHM/direct/direct|SHM SHM/direct",
		"P2P/CUMEM|SHM/direct P2P/IPC|NET/Socket SHM|" },
	{ "Standard_ND96asr_v4", "env.relaxed_ordering", "1|2|not set", "0|3|12|" },
	{ "Standard_ND96asr_v4", "env.hcoll", "0|false|no|not set", "1|true|NO|" },
	{ "Standard_ND96asr_v4", "env.device_order", "PCI_BUS_ID|not set", "FASTEST_FIRST|" },
	{ "Standard_ND96isr_H200_v5", "fabric.state", "completed|not-supported", "in-progress|not-started|" },
	{ "Standard_ND128isr_GB300_v6", "node.coherent_memory", "driver|", "numa" },
	{ "Standard_ND128isr_GB300_v6", "node.vm_size", "Standard_ND128isr_GB300_v6|standard_nd128isrg5_gb300_v6",
		"Standard_ND128isr_NDR_GB200_v6|" },
	{ "Standard_ND96asr_v4", "env.topo_file", "/opt/microsoft/ndv4-topo.xml", "not set|" },
};

static bool takes_sample(const struct muster_check *check, const struct muster_sample *sample)
{
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_question question = {
			.check = check, .operand = &check->operands[i], .sample = sample
		};

		if (check->operands[i].operator->judge && check->operands[i].operator->judge(&question) !=
			MUSTER_ANSWER_GOOD)
			return false;
	}
	return true;
}

static bool takes(const struct muster_check *check, const char *text)
{
	const struct muster_sample sample = { .metric = check->metric, .value = muster_string(text) };
	return takes_sample(check, &sample);
}

TEST_EACH(shipped_checks_take_the_texts_that_they_are_for, shipped)
{
	const struct muster_check *check = NULL;
	load_shipped(shipped[_i].sku);
	for (size_t i = 0; i < expect.check_count; i++)
		if (strcmp(expect.checks[i].id, shipped[_i].check) == 0)
			check = &expect.checks[i];
	ck_assert_ptr_nonnull(check);
	for (int refused = 0; refused < 2; refused++) {
		const char *at = refused ? shipped[_i].refused : shipped[_i].taken;

		for (;;) {
			size_t length = strcspn(at, "|");
			char *text = strndup(at, length);
			ck_assert_msg(takes(check, text) == !refused, "%s of %s %s \"%s\"", check->id, shipped[_i].sku,
				refused ? "takes" : "refuses", text);
			free(text);
			if (!at[length])
				break;
			at += length + 1;
		}
	}
}

#define SPEED "'metric':'gpu.h2d_gbps','source':'s',"
#define KERNEL "'metric':'node.kernel','source':'s',"
#define ECC "'metric':'gpu.ecc','source':'s',"

/* Values with a bar between them, as JSON would have them but for the quotes of texts. */
static const struct {
	const char *check, *taken, *refused;
} bounds[] = {
	{ SPEED "'min':21", "21|21.5|1000", "20.999|0|-21" },
	{ SPEED "'max':21", "21|20.5|-1000", "21.001|22" },
	{ SPEED "'min':21,'max':23", "21|22|23", "20|24" },
	{ SPEED "'warn_below':24", "24|25", "23.9" },
	{ SPEED "'warn_above':24", "24|23", "24.1" },
	{ SPEED "'equals':8", "8|8.0", "8.1|7.9|-8" },
	{ SPEED "'one_of':[4,8]", "4|8", "6|48" },
	{ SPEED "'present':true", "0", "" },
	{ SPEED "'observe':true", "0|99", "" },
	{ ECC "'equals':true", "true", "false" },
	{ ECC "'one_of':[false]", "false", "true" },
	{ KERNEL "'equals':'Five'", "Five", "five|Five |Fiv|" },
	{ KERNEL "'equals':'Five','ignore_case':true", "Five|five|FIVE", "six|five " },
	{ KERNEL "'one_of':['5*','six']", "5|5.15|six", "six.1|15|SIX|" },
	{ KERNEL "'one_of':['5*','Six'],'ignore_case':true", "5.x|SIX|six", "siX6" },
	{ KERNEL "'one_of':['[a-c]?','*']", "anything|", "" },
	{ KERNEL "'one_of':['[x','\\\\*']", "[x|*|\\*", "x|[|\\\\" },
	{ KERNEL "'matches':'^5\\\\.1[0-9]$'", "5.15|5.10", "5.1|5.155|5x15|" },
	{ KERNEL "'matches':'^a'", "abc", "Abc|ba" },
	{ KERNEL "'matches':'^a','ignore_case':true", "abc|Abc", "ba" },
	{ KERNEL "'min_version':'5.15'", "5.15|5.15.1-azure|6", "5.14.9|5|x5.16" },
};

static struct muster_value value_of(const struct muster_metric *metric, const char *text)
{
	if (metric->type == MUSTER_NUMBER)
		return muster_number(strtod(text, NULL));
	return metric->type == MUSTER_BOOLEAN ? muster_boolean(strcmp(text, "true") == 0) : muster_string(text);
}

TEST_EACH(an_operator_takes_its_bound_and_what_is_beyond, bounds)
{
	const struct muster_check *check = load_check(bounds[_i].check);
	for (int refused = 0; refused < 2; refused++) {
		const char *list = refused ? bounds[_i].refused : bounds[_i].taken;
		if (!*list)
			continue;
		char *copy = strdup(list), *rest = copy, *one;
		while ((one = strsep(&rest, "|"))) {
			const struct muster_sample sample = { .metric = check->metric,
				.value = value_of(check->metric, one) };
			ck_assert_msg(takes_sample(check, &sample) == !refused, "%s %s \"%s\"", bounds[_i].check,
				refused ? "takes" : "refuses", one);
		}
		free(copy);
	}
}

static const struct {
	const char *check;
	struct muster_others others;
	double value;
	bool taken;
} shares[] = {
	{ SPEED "'min_of_median':0.5", { .median = 20 }, 10, true },
	{ SPEED "'min_of_median':0.5", { .median = 20 }, 9.9, false },
	{ SPEED "'min_of_median':0.5", { .median = 20, .why_none = "few" }, 9.9, true },
	{ SPEED "'max_of_median':1.5", { .median = 20 }, 30, true },
	{ SPEED "'max_of_median':1.5", { .median = 20 }, 30.1, false },
	{ SPEED "'max_of_median':1.5", { .median = 20, .why_none = "few" }, 30.1, true },
	{ SPEED "'min_of_median':1", { .median = 20 }, 20, true },
	{ SPEED "'max_of_median':1", { .median = 20 }, 20, true },
};

TEST_EACH(a_share_of_the_median_is_taken_at_its_bound, shares)
{
	const struct muster_check *check = load_check(shares[_i].check);
	const struct muster_sample sample = { .metric = check->metric, .value = muster_number(shares[_i].value) };
	const struct muster_question question = {
		.check = check, .operand = check->operands, .sample = &sample, .others = &shares[_i].others
	};
	ck_assert_int_eq(check->operands->operator->judge(&question) == MUSTER_ANSWER_GOOD, shares[_i].taken);
}

/* By the label's value, and nothing for a value that is not listed. */
TEST(equals_by_takes_what_is_listed_for_the_label)
{
	static const struct {
		const char *gpu;
		double value;
		bool taken;
		const char *expected;
	} cases[] = {
		{ "a", 1, true, "1" },
		{ "a", 2, false, "1" },
		{ "b", 2, true, "2" },
		{ "c", 1, false, "not allowed here; allowed are a, b" },
		{ NULL, 1, false, "not allowed here; allowed are a, b" },
	};
	struct muster_arena *arena = muster_arena_new();
	load_check("'metric':'gpu.numa_node','source':'s','equals_by':{'label':'gpu','values':{'a':1,'b':2}}");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct muster_label label = { "gpu", muster_string(cases[i].gpu ? cases[i].gpu : "") };
		const struct muster_sample sample = {
			.metric = expect.checks->metric,
			.value = muster_number(cases[i].value),
			.labels = &label,
			.label_count = cases[i].gpu != NULL,
		};
		const struct muster_question question = {
			.check = expect.checks, .operand = expect.checks->operands, .sample = &sample, .arena = arena
		};
		const struct muster_operator *row = expect.checks->operands->operator;
		ck_assert_msg((row->judge(&question) == MUSTER_ANSWER_GOOD) == cases[i].taken, "case %zu", i);
		ck_assert_str_eq(row->describe(&question), cases[i].expected);
	}
	muster_arena_free(arena);
}

/* In the file's order they are read, and in the table's they are kept: the text of a check has one order. */
TEST(operands_lie_in_the_order_of_the_table)
{
	load_check(SPEED "'max_of_median':2,'warn_above':9,'min':1,'warn_below':2,'max':10,'equals':5");
	static const char *const names[] = { "equals", "min", "max", "warn_below", "warn_above", "max_of_median" };
	ck_assert_uint_eq(expect.checks->operand_count, sizeof names / sizeof *names);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ck_assert_str_eq(expect.checks->operands[i].operator->name, names[i]);
	ck_assert_ptr_eq(muster_check_operand(expect.checks, MUSTER_OF_VALUE), expect.checks->operands);
	ck_assert_ptr_null(muster_check_operand(expect.checks, MUSTER_OF_PEERS));
	ck_assert_ptr_eq(muster_check_operand_named(expect.checks, "max"), &expect.checks->operands[2]);
	ck_assert_ptr_null(muster_check_operand_named(expect.checks, "one_of"));
}

/* The names are what messages, files and the schema use: one row each. */
TEST(each_operator_has_a_name_of_its_own)
{
	for (size_t i = 0; i < muster_operator_count; i++) {
		const struct muster_operator *row = &muster_operators[i];

		ck_assert_ptr_eq(muster_operator_find(row->name), row);
		ck_assert(row->parse != NULL);
		ck_assert(row->describe != NULL);
		ck_assert_uint_ne(row->types, 0);
		if (row->kind == MUSTER_OF_VALUE || row->kind == MUSTER_OF_LABEL || row->kind == MUSTER_OF_MEDIAN)
			ck_assert(row->judge != NULL);
	}
	ck_assert_ptr_null(muster_operator_find("atleast"));
}

TEST(a_version_is_numbers_with_dots_between_them)
{
	static const char *const valid[] = { "0", "2", "2.9.9", "535.104.05", "0.0" };
	static const char *const invalid[] = { "", ".", "2.", ".2", "2..9", "v2", "2.9-rc1", "2 .9", "-1" };
	for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
		ck_assert_msg(muster_version_valid(valid[i]), "%s", valid[i]);
	for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
		ck_assert_msg(!muster_version_valid(invalid[i]), "%s", invalid[i]);
}

/* All pairs of an ascending list: each reaches those before it and itself, and no later one. */
TEST(versions_are_compared_number_by_number)
{
	static const char *const ascending[] = { "0", "0.0.1", "1", "1.0.1", "1.9", "1.10", "1.10.09", "1.10.10",
		"2.0.0", "2.1", "9", "10", "10.0.0.1", "99999999999999999999", "100000000000000000000" };
	size_t count = sizeof ascending / sizeof *ascending;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			ck_assert_msg(muster_version_reaches(ascending[i], ascending[j]) == (i >= j), "%s and %s",
				ascending[i], ascending[j]);
	ck_assert(muster_version_reaches("2", "2.0.0"));
	ck_assert(muster_version_reaches("2.0-beta", "2.0.0"));
	ck_assert(!muster_version_reaches("2.x.5", "2.0.1"));
	ck_assert(!muster_version_reaches("", "0"));
	ck_assert(!muster_version_reaches("v3", "2"));
}

TEST_MAIN(.setup = fixture_open, .teardown = loaded_done)
