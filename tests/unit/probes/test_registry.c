/* test_registry.c - all probes in running order, and all metrics by name */
#include "check_main.h"
#include "muster/probe.h"

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

/* A unit is part of a metric's name, so that nobody reads GB/s as Gb/s. */
TEST(a_unit_stands_in_the_name_too)
{
	static const char *const endings[][2] = { { "GB/s", "_gbps" }, { "Gb/s", "_gbps" }, { "MiB", "_mib" },
		{ "GB", "_gb" }, { "MHz", "_mhz" }, { "W", "_watts" }, { "°C", "_celsius" }, { "us", "_us" },
		{ "ms", "_ms" }, { "s", "_seconds" }, { "h", "_hours" }, { "bytes", "_bytes" }, { "lanes", "width" },
		{ "bits", "_bits" }, { "TFLOP/s", "_tflops" } };
	for (size_t i = 0; i < muster_metric_count(); i++) {
		const struct muster_metric *metric = muster_metric_at(i);
		bool known = *metric->unit == '\0';
		for (size_t j = 0; j < sizeof endings / sizeof *endings; j++)
			known |= strcmp(metric->unit, endings[j][0]) == 0 && strstr(metric->name, endings[j][1]);
		ck_assert_msg(known, "%s has the unit \"%s\"", metric->name, metric->unit);
		ck_assert_msg(
			*metric->meaning && (metric->type == MUSTER_NUMBER || !*metric->unit), "%s", metric->name);
	}
}

TEST_MAIN(.setup = NULL)
