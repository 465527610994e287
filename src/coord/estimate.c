/* estimate.c - how long the rest of a run takes, for people who watch the run */
#include "coord/estimate.h"

#include <math.h>
#include <stdio.h>

#define SECOND 1000.0
#define STEP_MS 5.0       /* a training step of the profile standard */
#define LONG_STEP_MS 20.0 /* of the profile full, or when the user sets how many */
#define MOST_PACE 4.0     /* slower than that is a fault of one phase, and says nothing about others */
#define LEAST_PACE 0.5
#define SIMULATED_PACE 0.2
#define SIMULATED_LEAST_PACE 0.01
/* What tests of disks take where one gives 5 GB/s: how often the bytes of a node pass, in each phase. */
#define DISK_BYTES_PER_MS 5e6
static const double disk_passes[MUSTER_PHASE_COUNT] = {
	[MUSTER_PHASE_INVENTORY] = 4, /* twice written, twice read */
	[MUSTER_PHASE_COPIES] = 4,    /* written; read alone, beside products, by cuFile */
	[MUSTER_PHASE_TRAFFIC] = 1,   /* of a broadcast, in the profiles with traffic */
};
#define MINUTES_FROM (120 * SECOND)

/* Seconds on 4 to 8 GPUs: H100 and H200, docs/dev/measurements.md. Quick has no load and no traffic. */
static const double usual_s[MUSTER_PROFILE_COUNT][MUSTER_PHASE_COUNT] = {
	[MUSTER_QUICK] = { 0.2, 0.8, 0.2, 0.3, 0, 0.8, 0 },
	[MUSTER_STANDARD] = { 0.2, 0.8, 0.2, 0.3, 0.7, 0.9, 0.5 },
	[MUSTER_FULL] = { 0.2, 0.8, 0.2, 0.3, 1.5, 2.5, 0.8 },
};
/* What ranks add: they all report to rank 0, and NCCL connects them. */
static const double usual_ms_of_rank[MUSTER_PHASE_COUNT] = { [MUSTER_PHASE_START] = 1, [MUSTER_PHASE_RING] = 1 };

void muster_estimate_init(
	struct muster_estimate *ret, const struct muster_options *options, int ranks, bool simulated, double now_ms)
{
	int repeats = options->repeats > 1 ? options->repeats : 1;
	*ret = (struct muster_estimate){
		.began_ms = now_ms,
		.pace = simulated ? SIMULATED_PACE : 1,
		.least_pace = simulated ? SIMULATED_LEAST_PACE : LEAST_PACE,
	};
	for (int phase = 0; phase < MUSTER_PHASE_COUNT; phase++)
		ret->usual[phase] = usual_s[options->profile][phase] * SECOND + usual_ms_of_rank[phase] * ranks;
	ret->usual[MUSTER_PHASE_COPIES] *= repeats;
	bool broadcast = options->measures >> MUSTER_MEASURE_BROADCAST & 1;
	for (int phase = 0; options->storage && !simulated && phase < MUSTER_PHASE_COUNT; phase++)
		if (phase != MUSTER_PHASE_TRAFFIC || broadcast)
			ret->usual[phase] += disk_passes[phase] * (double)options->storage_bytes / DISK_BYTES_PER_MS;
	if (options->profile == MUSTER_QUICK)
		return;
	ret->asked[MUSTER_PHASE_LOAD] = options->soak_s * SECOND;
	if (ranks > 1)
		ret->asked[MUSTER_PHASE_TRAFFIC] = options->steps * (options->long_steps ? LONG_STEP_MS : STEP_MS);
}

/* Ranks that start, and drivers that load, say nothing about later phases: both are slow the first time. */
static bool is_telling(int phase)
{
	return phase >= MUSTER_PHASE_INVENTORY;
}

void muster_estimate_phase(struct muster_estimate *estimate, int phase, double now_ms)
{
	double elapsed = now_ms - estimate->began_ms, usual = 0, asked = 0;
	if (phase <= estimate->phase)
		return;
	for (int i = estimate->phase; i < phase; i++) {
		usual += estimate->usual[i];
		asked += estimate->asked[i];
	}
	if (is_telling(estimate->phase)) {
		estimate->took += fmax(elapsed - asked, 0);
		estimate->took_usually += usual;
	}
	if (estimate->took_usually > 0)
		estimate->pace = fmin(fmax(estimate->took / estimate->took_usually, estimate->least_pace), MOST_PACE);
	estimate->phase = phase;
	estimate->began_ms = now_ms;
}

/* In all, as far as is known now. */
static double expected(const struct muster_estimate *estimate, int phase)
{
	double pace = phase == MUSTER_PHASE_START ? 1 : estimate->pace;
	return estimate->asked[phase] + estimate->usual[phase] * pace;
}

struct muster_time_left muster_estimate_left(const struct muster_estimate *estimate, double now_ms)
{
	double rest = 0, elapsed = now_ms - estimate->began_ms;
	double now = expected(estimate, estimate->phase) - elapsed;
	for (int phase = estimate->phase + 1; phase < MUSTER_PHASE_COUNT; phase++)
		rest += expected(estimate, phase);
	return (struct muster_time_left){ .ms = rest + fmax(now, 0), .at_least = now < 0 };
}

const char *muster_time_left_text(struct muster_time_left left, char out[MUSTER_TIME_LEFT_MAX])
{
	const char *word = left.at_least ? "at least" : "about";
	double seconds = round(left.ms / SECOND);
	if (left.at_least && seconds < 1)
		snprintf(out, MUSTER_TIME_LEFT_MAX, "longer than usual");
	else if (seconds < 1)
		snprintf(out, MUSTER_TIME_LEFT_MAX, "less than 1 s left");
	else if (left.ms < MINUTES_FROM)
		snprintf(out, MUSTER_TIME_LEFT_MAX, "%s %.0f s left", word, seconds);
	else
		snprintf(out, MUSTER_TIME_LEFT_MAX, "%s %.0f min left", word, round(seconds / 60));
	return out;
}
