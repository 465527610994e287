/* SPDX-License-Identifier: Apache-2.0 */
/* test_html_strips.c - which values are drawn together, with which thresholds, and which of them are outliers */
#include "report/html/strips.h"

#include "check_main.h"
#include "muster/run.h"
#include "report/html/places.h"
#include "report_fixture.h"

#include <math.h>

static struct muster_run run;
static struct muster_report report;
static struct muster_html_places places;
static struct muster_html page;
static struct muster_strips strips;

static void setup(void)
{
	synthetic_run(&run, 16);
	fixture_report(&report, &run);
	report.finding_count = 0;
}

static void make(void)
{
	muster_html_places_make(&report, &places);
	page = (struct muster_html){ .report = &report, .places = &places };
	muster_strips_make(&page, &strips);
}

static void teardown(void)
{
	muster_strips_done(&strips);
	muster_html_places_done(&places);
	muster_run_done(&run);
}

static struct muster_sample *sample_of(size_t rank, const char *metric)
{
	struct muster_samples *samples = &run.nodes[rank / 8].ranks[rank % 8].samples;
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, metric) == 0)
			return &samples->items[i];
	ck_abort_msg("no %s", metric);
}

static const struct muster_strip *strip_of(const char *metric)
{
	for (size_t i = 0; i < strips.count; i++)
		if (strcmp(strips.items[i].metric->name, metric) == 0)
			return &strips.items[i];
	return NULL;
}

static size_t outliers_of(const struct muster_strip *strip)
{
	size_t count = 0;
	for (size_t i = 0; i < strip->count; i++)
		count += strip->values[i].outlier;
	return count;
}

TEST(a_speed_of_all_gpus_is_one_strip_in_ascending_order)
{
	sample_of(3, "gpu.h2d_gbps")->value = muster_null();
	make();
	const struct muster_strip *strip = strip_of("gpu.h2d_gbps");
	ck_assert_ptr_nonnull(strip);
	ck_assert_str_eq(strip->title, "H2D, one GPU at a time");
	ck_assert_uint_eq(strip->count, 15);
	for (size_t i = 1; i < strip->count; i++)
		ck_assert_double_le(strip->values[i - 1].value, strip->values[i].value);
	ck_assert_double_eq(strip->median, strip->values[7].value);
	ck_assert_double_eq(strip->lowest_limit, 31.5);
	ck_assert_str_eq(strip->limit_of, "PCIe 4.0 x16");
	ck_assert_uint_eq(outliers_of(strip), 0);
}

TEST(speeds_come_first_in_the_order_of_the_summary)
{
	make();
	for (size_t i = 1; i < strips.count; i++)
		ck_assert_int_le(strips.items[i - 1].order, strips.items[i].order);
	ck_assert_str_eq(strips.items[0].metric->name, "gpu.gemm_bf16_tflops");
}

/* Limits of a check, and what is drawn of them: a share is of the limit, and only of the limit that is drawn. */
static const struct {
	struct muster_tally tally;
	double below, above;
} bounds[] = {
	{ { .has_least = true, .least = 21 }, 21, NAN },
	{ { .has_most = true, .most = 40 }, NAN, 40 },
	{ { .has_least = true, .least = 0.5, .share_of = "gpu.pcie_limit_gbps" }, 15.75, NAN },
	{ { .has_least = true, .least = 0.5, .share_of = "gpu.c2c_limit_gbps" }, NAN, NAN },
	{ { .has_least = true, .least = 21, .skipped = "only for profile full" }, NAN, NAN },
};

TEST_EACH(a_threshold_is_drawn_where_its_check_applies, bounds)
{
	struct muster_tally tally = bounds[_i].tally;
	tally.check = "x";
	tally.metric = "gpu.h2d_gbps";
	tally.count[MUSTER_PASS] = 16;
	report.tallies = &tally;
	report.tally_count = 1;
	make();
	const double *found = strip_of("gpu.h2d_gbps")->bounds;
	const double wanted[] = { bounds[_i].below, NAN, NAN, bounds[_i].above };
	for (size_t i = 0; i < MUSTER_STRIP_BOUNDS; i++)
		ck_assert_msg(
			isnan(wanted[i]) ? isnan(found[i]) : fabs(found[i] - wanted[i]) < 1e-9, "%zu: %g", i, found[i]);
}

TEST(the_highest_of_several_lower_thresholds_counts)
{
	struct muster_tally tallies[2] = {
		{ .check = "a", .metric = "gpu.h2d_gbps", .has_warn_below = true, .warn_below = 24 },
		{ .check = "b", .metric = "gpu.h2d_gbps", .has_warn_below = true, .warn_below = 22 },
	};
	tallies[0].count[MUSTER_PASS] = tallies[1].count[MUSTER_PASS] = 16;
	report.tallies = tallies;
	report.tally_count = 2;
	make();
	ck_assert_double_eq(strip_of("gpu.h2d_gbps")->bounds[MUSTER_STRIP_WARN_BELOW], 24);
}

TEST_LOOP(a_slow_gpu_is_an_outlier_and_a_fast_one_is_not, 0, 2)
{
	sample_of(5, "gpu.h2d_gbps")->value.number = _i ? 40 : 11.2;
	make();
	const struct muster_strip *strip = strip_of("gpu.h2d_gbps");
	ck_assert_uint_eq(outliers_of(strip), _i ? 0 : 1);
	ck_assert_int_eq(strip->values[0].outlier, !_i);
	ck_assert_int_eq(strip->values[0].status, MUSTER_PASS);
}

TEST(a_value_with_a_finding_has_its_status_and_no_other_value_has)
{
	struct muster_finding finding = fixture_findings[1]; /* copy.h2d on rank 4 */
	finding.label_count = 0;
	report.findings = &finding;
	report.finding_count = 1;
	sample_of(4, "gpu.h2d_gbps")->value.number = 11.2;
	make();
	const struct muster_strip *strip = strip_of("gpu.h2d_gbps");
	ck_assert_int_eq(strip->values[0].rank->rank, 4);
	ck_assert_int_eq(strip->values[0].status, MUSTER_FAIL);
	ck_assert_int_eq(strip->values[1].status, MUSTER_PASS);
	ck_assert_int_eq(strip_of("gpu.d2h_gbps")->values[0].status, MUSTER_PASS);
	ck_assert_uint_eq(outliers_of(strip), 1);
}

static void set_label(size_t rank, const char *metric, const char *key, const char *value)
{
	struct muster_sample *sample = sample_of(rank, metric);
	struct muster_label *labels = muster_arena_alloc(run.arena, sample->label_count * sizeof *labels);
	memcpy(labels, sample->labels, sample->label_count * sizeof *labels);
	for (size_t i = 0; i < sample->label_count; i++)
		if (strcmp(labels[i].key, key) == 0)
			labels[i].value = muster_string(value);
	sample->labels = labels;
}

/* "COUNT TITLE (VARIANT)" of each strip of the metric, with a semicolon behind it. */
static void strips_are(const char *metric, const char *expected)
{
	char text[512] = "";
	make();
	for (size_t i = 0, used = 0; i < strips.count; i++)
		if (strcmp(strips.items[i].metric->name, metric) == 0)
			used += (size_t)snprintf(text + used, sizeof text - used, "%zu %s (%s);", strips.items[i].count,
				strips.items[i].title, strips.items[i].variant);
	ck_assert_str_eq(text, expected);
}

/* Exchanges over the network are not compared with those over NVLink. */
TEST(values_of_another_transport_are_another_strip)
{
	for (size_t i = 0; i < 16; i++) {
		set_label(i, "pair.exchange_gbps", "kind", "rail");
		set_label(i, "pair.exchange_gbps", "transport", i < 8 ? "P2P/MNNVL" : "NET/IB");
	}
	strips_are("pair.exchange_gbps",
		"8 exchange with the next node (NET/IB);8 exchange with the next node (P2P/MNNVL);");
}

/* What streams from the disk, and beside products, is not compared with what streams from the host alone. */
TEST(streams_of_another_source_or_load_are_another_strip)
{
	for (size_t i = 0; i < 16; i++) {
		set_label(i, "gpu.stream_gbps", "source", i % 4 < 2 ? "host" : "disk");
		set_label(i, "gpu.stream_gbps", "load", i % 2 ? "products" : "alone");
	}
	strips_are("gpu.stream_gbps", "4 stream, host to GPU (alone);4 stream, host to GPU (products);"
				      "4 stream, disk to GPU (alone);4 stream, disk to GPU (products);");
}

/* A temperature is drawn where a check reads it and it differs. */
TEST_LOOP(what_is_no_speed_is_drawn_where_values_differ, 0, 3)
{
	struct muster_tally tally = { .check = "x", .metric = "gpu.temperature_celsius" };
	report.tallies = &tally;
	report.tally_count = (size_t)(_i > 0);
	if (_i == 2)
		sample_of(5, "gpu.temperature_celsius")->value.number = 80;
	make();
	ck_assert_int_eq(strip_of("gpu.temperature_celsius") != NULL, _i == 2);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
