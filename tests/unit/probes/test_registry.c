/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry.c - all probes in running order, and all metrics by name */
#include "check_main.h"
#include "probes/metrics.h"

#include <string.h>

TEST(probes_come_in_their_order_and_end)
{
	size_t count = muster_probe_count();
	ck_assert_uint_gt(count, 10);
	for (size_t i = 1; i < count; i++) {
		const struct muster_probe *before = muster_probe_at(i - 1), *probe = muster_probe_at(i);
		ck_assert_msg(before->order < probe->order ||
				      (before->order == probe->order && strcmp(before->name, probe->name) < 0),
			"%s runs before %s", before->name, probe->name);
	}
	ck_assert_ptr_null(muster_probe_at(count));
	ck_assert_ptr_null(muster_probe_at(SIZE_MAX));
}

TEST(a_probe_is_found_by_its_name_alone)
{
	for (size_t i = 0; i < muster_probe_count(); i++)
		ck_assert_ptr_eq(muster_probe_find(muster_probe_at(i)->name), muster_probe_at(i));
	ck_assert_ptr_null(muster_probe_find("gpu_cop"));
	ck_assert_ptr_null(muster_probe_find(""));
}

TEST(metrics_are_sorted_each_once_and_end)
{
	size_t count = muster_metric_count();
	for (size_t i = 1; i < count; i++)
		ck_assert_str_lt(muster_metric_at(i - 1)->name, muster_metric_at(i)->name);
	ck_assert_ptr_null(muster_metric_at(count));
}

TEST(every_metric_of_every_probe_is_found_with_its_probe)
{
	size_t count = 0;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		for (size_t j = 0; j < probe->metric_count; j++, count++) {
			ck_assert_ptr_eq(muster_metric_find(probe->metrics[j].name), &probe->metrics[j]);
			ck_assert_str_eq(muster_metric_probe(&probe->metrics[j]), probe->name);
		}
	}
	ck_assert_uint_eq(count, muster_metric_count());
	ck_assert_ptr_null(muster_metric_find("gpu.h2d_gbp"));
	ck_assert_str_eq(muster_metric_probe(&(const struct muster_metric){ .name = "gpu.h2d_gbp" }), "");
}

/* What a row of a probe's table must say. */
static const struct {
	struct muster_metric metric;
	const char *error; /* NULL: the row is complete */
} rows[] = {
	{ GPU_NUMBER("a.b_gbps", GB_PER_S, MORE, "m"), NULL },
	{ NODE_TEXT("a.b", FACT, NOTHING, "m", .labels = { "kind" }), NULL },
	{ { .name = "a.b", .type = MUSTER_NUMBER, .meaning = "m" },
		"metric a.b does not say which values are better (.better)" },
	{ { .name = "a.b", .type = MUSTER_STRING, .better = MUSTER_BETTER_FACT, .meaning = "m" },
		"metric a.b does not say what its text identifies (.identifies)" },
	{ NODE_NUMBER("a.b", NONE, FACT, ""), "metric a.b does not say what it means" },
	{ NODE_NUMBER("a.b_gb", GB_PER_S, MORE, "m"), "metric a.b_gb is in GB/s, so that its name must end in _gbps" },
	{ NODE_NUMBER("b", CELSIUS, MORE, "m"), "metric b is in \xc2\xb0"
						"C, so that its name must end in _celsius" },
	{ NODE_FLAG("a.b_ms", FACT, "m", .unit = MUSTER_UNIT_MS), "metric a.b_ms has a unit and is no number" },
	{ NODE_NUMBER("a.b", NONE, FACT, "m", .labels = { "gpu", "colour" }),
		"metric a.b has the label colour, which src/model/label.c does not list" },
	{ NODE_NUMBER("a.b", NONE, FACT, "m", .limits = { "node.cpus", "a.c" }),
		"metric a.b has the limit a.c, which is no metric" },
};

TEST_EACH(a_row_without_an_answer_is_refused, rows)
{
	struct muster_error err = { 0 };
	ck_assert_int_eq(muster_registry_check(&rows[_i].metric, &err), rows[_i].error ? -1 : 0);
	ck_assert_str_eq(err.text, rows[_i].error ? rows[_i].error : "");
}

/* Otherwise their order would be by chance. */
TEST(metrics_of_a_table_have_places_of_their_own)
{
	for (int table = 0; table <= MUSTER_SHOWN_AZURE; table++) {
		size_t count;
		const struct muster_shown_metric *shown = muster_metrics_shown((enum muster_shown_table)table, &count);
		ck_assert_uint_gt(count, 0);
		for (size_t i = 0; i < count; i++) {
			ck_assert_int_eq((int)shown[i].as->table, table);
			ck_assert_msg(i == 0 || shown[i - 1].as->place < shown[i].as->place, "%s has the place of %s",
				shown[i].metric->name, shown[i ? i - 1 : 0].metric->name);
			ck_assert(!shown[i].as->second || muster_metric_find(shown[i].as->second));
			ck_assert(!shown[i].as->limit || muster_metric_find(shown[i].as->limit));
		}
	}
}

TEST_MAIN(.setup = NULL)
