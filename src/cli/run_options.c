/* run_options.c - the options that `muster run` and `muster node` share */
#include "cli/run_options.h"

#include "cli/cli.h"
#include "util/log.h"
#include "util/text.h"
#include "model/trend.h"
#include "muster/report.h"

#include <stdio.h>
#include <string.h>

static int parse_profile(void *arg, const char *text, struct muster_error *err)
{
	for (int i = 0; i < MUSTER_PROFILE_COUNT; i++) {
		if (strcmp(text, muster_profile_names[i]) == 0) {
			*(enum muster_profile *)arg = (enum muster_profile)i;
			return 0;
		}
	}
	return muster_fail(err, MUSTER_EUSAGE, "--profile: quick, standard or full is needed, found \"%.60s\"", text);
}

static int parse_localise(void *arg, const char *text, struct muster_error *err)
{
	static const char *const names[] = {
		[MUSTER_LOCALISE_OFF] = "off",
		[MUSTER_LOCALISE_AUTO] = "auto",
		[MUSTER_LOCALISE_ALWAYS] = "always",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(text, names[i]) == 0) {
			*(enum muster_localise *)arg = (enum muster_localise)i;
			return 0;
		}
	}
	return muster_fail(err, MUSTER_EUSAGE, "--localise: off, auto or always is needed, found \"%.60s\"", text);
}

static int parse_deadline(void *arg, const char *text, struct muster_error *err)
{
	long seconds;
	if (muster_parse_int(text, 10, 86400, &seconds, "--deadline", err) < 0)
		return -1;
	*(int *)arg = (int)seconds;
	return 0;
}

static int parse_probe_deadline(void *arg, const char *text, struct muster_error *err)
{
	long seconds;
	if (muster_parse_int(text, 1, 86400, &seconds, "--probe-deadline", err) < 0)
		return -1;
	*(int *)arg = (int)seconds;
	return 0;
}

static int parse_repeat(void *arg, const char *text, struct muster_error *err)
{
	long repeats;
	if (muster_parse_int(text, 1, MUSTER_REPEATS_MAX, &repeats, "--repeat", err) < 0)
		return -1;
	*(int *)arg = (int)repeats;
	return 0;
}

static int parse_min(void *arg, const char *text, struct muster_error *err)
{
	return muster_parse_bytes(text, arg, "--min-bytes", err);
}

static int parse_max(void *arg, const char *text, struct muster_error *err)
{
	return muster_parse_bytes(text, arg, "--max-bytes", err);
}

static int parse_log_format(void *arg, const char *text, struct muster_error *err)
{
	bool json = strcmp(text, "json") == 0;
	(void)arg;
	if (!json && strcmp(text, "text") != 0)
		return muster_fail(err, MUSTER_EUSAGE, "--log-format: text or json is needed, found \"%.60s\"", text);
	muster_log_as_json(json);
	return 0;
}

/* Before anything else: what is wrong with the other options is a line of the log too. */
static void find_log_format(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--log-format=json") == 0 ||
			(strcmp(argv[i], "--log-format") == 0 && i + 1 < argc && strcmp(argv[i + 1], "json") == 0))
			muster_log_as_json(true);
}

static int check(const char *command, const struct muster_options *options, size_t operands, const char *operand,
	struct muster_error *err)
{
	if (operands > 0)
		return muster_fail(err, MUSTER_EUSAGE, "%s: unexpected argument \"%.60s\"; only options are allowed",
			command, operand);
	if (options->min_bytes && options->max_bytes && options->min_bytes > options->max_bytes)
		return muster_fail(err, MUSTER_EUSAGE, "%s: --min-bytes is larger than --max-bytes", command);
	uint64_t sizes[] = { options->min_bytes, options->max_bytes };
	for (size_t i = 0; i < 2; i++)
		if (sizes[i] && (sizes[i] < 4 || sizes[i] % 4 != 0 || sizes[i] > UINT64_C(1) << 36))
			return muster_fail(err, MUSTER_EUSAGE, "%s: %s: a multiple of 4 up to 64G is needed", command,
				i == 0 ? "--min-bytes" : "--max-bytes");
	return 0;
}

int muster_run_options_parse(int argc, char **argv, const char *usage, const char *epilogue, bool speaks,
	struct muster_options *options, int *ret_code)
{
	char profile[120], deadline[80];
	snprintf(profile, sizeof profile,
		"quick: 64 MiB all-reduce; standard: 8 to 512 MiB; full: up to 8 GiB (default %s)",
		muster_profile_names[options->profile]);
	snprintf(deadline, sizeof deadline, "deadline of the whole run (default %d)", options->deadline_s);
	const struct muster_option table[] = {
		{ .name = "--sku",
			.argument = "NAME",
			.text = &options->sku,
			.help = "expected machine type: NAME (see `muster skus`), FILE, generic-nvidia (any NVIDIA "
				"machine, no absolute thresholds) or auto (detect; default)" },
		{ .name = "--overlay",
			.argument = "FILE",
			.text = &options->overlay,
			.help = "overlay with the thresholds of your site (a JSON merge patch)" },
		{ .name = "--report",
			.argument = "FILE",
			.text = &options->report,
			.help = "write the JSON report to FILE; - is standard output (default muster-report.json)" },
		{ .name = "--spool",
			.argument = "DIR",
			.text = &options->spool,
			.help = "write results to DIR during the run, so that `muster assemble DIR` can build the "
				"report if the run dies" },
		{ .name = "--profile",
			.argument = "NAME",
			.each = parse_profile,
			.arg = &options->profile,
			.help = profile },
		{ .name = "--deadline",
			.argument = "SECONDS",
			.each = parse_deadline,
			.arg = &options->deadline_s,
			.help = deadline },
		{ .name = "--repeat",
			.argument = "N",
			.each = parse_repeat,
			.arg = &options->repeats,
			.help = "measure copies and all-reduces N times, check the medians and keep all values" },
		{ .name = "--localise",
			.argument = "WHEN",
			.each = parse_localise,
			.arg = &options->localise,
			.help = "find the faulty node or link with all-reduces on single nodes and pairs: off, always, "
				"auto (default: only if the full all-reduce fails or is slow)" },
		{ .name = "--probe-deadline",
			.argument = "SECONDS",
			.each = parse_probe_deadline,
			.arg = &options->probe_deadline_s,
			.help = "longest time of one probe (default: each probe has its own, 3 to 60)" },
		{ .name = "--log-format",
			.argument = "FORMAT",
			.each = parse_log_format,
			.help = "text (default) or json: one JSON object per line on standard error, for a log "
				"collector" },
		{ .name = "--strict", .flag = &options->strict, .help = "warnings fail the run" },
		{ .name = "--min-bytes",
			.argument = "SIZE",
			.each = parse_min,
			.arg = &options->min_bytes,
			.help = "smallest all-reduce message, e.g. 8M; sizes double up to --max-bytes and replace "
				"those of --profile" },
		{ .name = "--max-bytes",
			.argument = "SIZE",
			.each = parse_max,
			.arg = &options->max_bytes,
			.help = "largest all-reduce message, e.g. 1G" },
	};
	struct muster_paths paths;
	struct muster_error err;
	const char *operand = NULL;
	find_log_format(argc, argv);
	*ret_code = MUSTER_EXIT_USAGE;
	if (muster_paths_find(&paths, &err) < 0)
		goto fail;
	options->program = paths.program;
	options->configs = paths.configs;
	*ret_code = MUSTER_EXIT_PASS;
	for (int i = 1; i < argc && !speaks; i++)
		if (strcmp(argv[i], "--help") == 0)
			return 1;
	struct muster_cli cli = {
		.usage = usage,
		MUSTER_CLI_OPTIONS(table),
		.epilogue = epilogue,
		.operands = &operand,
		.operands_most = 1,
		.takes_rest = true,
	};
	int parsed = muster_cli_parse(&cli, argc, argv, &err);
	if (parsed == 1)
		return 1;
	if (parsed < 0 || check(argv[0], options, cli.operand_count + (size_t)(argc - cli.rest),
				  cli.operand_count ? operand : argv[cli.rest < argc ? cli.rest : 0], &err) < 0)
		goto fail;
	return 0;
fail:
	*ret_code = speaks ? muster_cli_usage(&err) : MUSTER_EXIT_USAGE;
	return 1;
}
