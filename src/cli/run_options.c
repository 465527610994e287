/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.c - the options that `muster run` and `muster node` share
 *
 * `muster run`, `muster node` and `muster sim` have one table of options (muster_run_options); the first two differ in
 * their defaults. muster_run_options_parse() turns the command line into a struct muster_options, and fills in what the
 * user left open and what follows from other options.
 *
 * What depends on other options, in the order in which it is settled:
 *
 *    --progress          without it $MUSTER_PROGRESS
 *    --soak              10 s in the profile full, else 0
 *    --expect-path       and the paths of the files of --sku and --overlay, each once
 *    --storage           in the profile full always, where this process may write (may_write)
 *    measures            the bits of what is measured only when it is asked for (settle_measures)
 *    --deadline          the command's own time (`muster node`: 60 s; `muster run`: 120 s, and 15 s for each 1,000
 *                        ranks), and that of --steps, --soak, --storage and --checkpoint
 *    --localise          auto becomes off beside other work
 *    checks              which combinations are refused (check, check_storage); a refused run measures nothing
 *    --steps             the profile's own number
 *
 * Until then deadline_s 0, soak_s -1, steps 0, storage_bytes 0 and checkpoint_bytes 0 say that the user gave no value.
 */
#include "cli/run_options.h"

#include "expect/load.h"
#include "util/env.h"
#include "util/log.h"
#include "util/text.h"
#include "model/windows.h"
#include "muster/arena.h"
#include "muster/report.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_S = 86400 };                      /* the longest time that an option takes */
enum { FULL_SOAK_S = 10, SOAK_REST_S = 20 }; /* seconds of load in the profile full; and of all else in a run */
enum { STORAGE_S = 60, CHECKPOINT_S = 60 };  /* seconds that these add to the default deadline */
#define MIB (UINT64_C(1) << 20)
#define STORAGE_BYTES (4096 * MIB)
#define CHECKPOINT_BYTES (1024 * MIB)
enum { STEPS_MOST = 1000000, STEPS_PER_S = 25 }; /* a step of 20 ms takes 40 ms with slow all-reduces */

static const int default_steps[] = { [MUSTER_QUICK] = 0, [MUSTER_STANDARD] = 20, [MUSTER_FULL] = 200 };

static const char *const localise_names[] = {
	[MUSTER_LOCALISE_OFF] = "off",
	[MUSTER_LOCALISE_AUTO] = "auto",
	[MUSTER_LOCALISE_ALWAYS] = "always",
};
static const char *const progress_names[MUSTER_PROGRESS_COUNT] = {
	[MUSTER_PROGRESS_AUTO] = "auto",
	[MUSTER_PROGRESS_LINE] = "line",
	[MUSTER_PROGRESS_OFF] = "off",
};
static const char *const log_formats[] = { "text", "json" };

/* Read --log-format alone, before all other options: an error in one of these is a line of the log too, and must have
 * the format that the user asked for. A value that is wrong is noticed later, by the parser. */
static void find_log_format(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--log-format=json") == 0 ||
			(strcmp(argv[i], "--log-format") == 0 && i + 1 < argc && strcmp(argv[i + 1], "json") == 0))
			muster_log_as_json(true);
}

/* Set the default of --progress from $MUSTER_PROGRESS; "auto" when that is unset or empty. -1 with err when it is none
 * of the names. */
static int find_progress(struct muster_options *options, struct muster_error *err)
{
	const char *text = muster_env(MUSTER_ENV_PROGRESS);
	int found = text && *text
			    ? muster_parse_name(text, progress_names, MUSTER_PROGRESS_COUNT, "MUSTER_PROGRESS", err)
			    : MUSTER_PROGRESS_AUTO;
	if (found < 0)
		return -1;
	options->progress = (enum muster_progress_mode)found;
	return 0;
}

/* Seconds that the steps of --steps may take; 0 without the option, as the steps of a profile are few. */
static int time_of_steps(const struct muster_options *options)
{
	return options->steps > 0 ? options->steps / STEPS_PER_S : 0;
}

/* Append a copy of the path, which muster_run_options_done() frees. A path that is in the list already is not added. */
static void append_path(struct muster_options *options, const char *path)
{
	if (muster_text_among(path, options->expect_paths, options->expect_path_count))
		return;
	options->expect_paths =
		muster_realloc(options->expect_paths, options->expect_path_count + 1, sizeof *options->expect_paths);
	options->expect_paths[options->expect_path_count++] = muster_strdup(path);
}

void muster_run_options_done(struct muster_options *options)
{
	for (size_t i = 0; i < options->expect_path_count; i++)
		free((void *)(uintptr_t)options->expect_paths[i]);
	free(options->expect_paths);
	options->expect_paths = NULL;
	options->expect_path_count = 0;
}

/* For --expect-path, once for each occurrence: -1 with err when the path is not one that a check could have. */
static int add_path(void *arg, const char *text, struct muster_error *err)
{
	struct muster_options *options = arg;
	if (muster_expect_path_check(text, err) < 0)
		return muster_wrap(err, "--expect-path %.80s", text);
	append_path(options, text);
	return 0;
}

/* Append the paths that the expectation files of --sku and --overlay ask for. The machine type is not known before the
 * run with --sku auto, so then only the overlay counts. Every rank reads the files, because the supervisor of each
 * node's leader needs the paths. A mistake in a file is not reported here: rank 0 loads the file as a whole before the
 * run. */
static void add_paths_of_files(struct muster_options *options)
{
	bool automatic = strcmp(options->sku, "auto") == 0;
	struct muster_arena *arena = muster_arena_new();
	struct muster_error ignored;
	const char **paths;
	size_t count = 0;
	if ((!automatic || options->overlay) &&
		muster_expect_paths_load(options->configs, automatic ? NULL : options->sku, options->overlay, arena,
			&paths, &count, &ignored) == 0)
		for (size_t i = 0; i < count; i++)
			append_path(options, paths[i]);
	muster_arena_free(arena);
}

/* Seconds that the options add to the default deadline. */
static int time_of_more(const struct muster_options *options)
{
	return time_of_steps(options) + options->soak_s + (options->storage ? STORAGE_S : 0) +
	       (options->checkpoint_path ? CHECKPOINT_S : 0);
}

/* Whether a run may write test files. Slurm sets SLURM_SCRIPT_CONTEXT to "prolog_..." or "epilog_..." for these
 * scripts, which run as root before and after each job while the job waits: there a run writes to disks only where the
 * site allows that (slurm/muster.default, by slurm/node-check.sh). */
static bool may_write(void)
{
	const char *context = getenv("SLURM_SCRIPT_CONTEXT"), *site = muster_env(MUSTER_ENV_STORAGE_IN_PROLOG);
	if (!context || (strncmp(context, "prolog_", 7) != 0 && strncmp(context, "epilog_", 7) != 0))
		return true;
	return site && strcmp(site, "yes") == 0;
}

/* Fill in what follows from the storage options and the profile. The profile full measures the local scratch without an
 * option, but not in a prolog or epilog that may not write; --storage itself is refused there (check_storage). */
static void settle_measures(struct muster_options *options)
{
	options->storage = options->storage || (options->profile == MUSTER_FULL && may_write());
	if (options->storage)
		options->measures |= 1 << MUSTER_MEASURE_STORAGE;
	if (options->storage && options->profile != MUSTER_QUICK)
		options->measures |= 1 << MUSTER_MEASURE_BROADCAST;
	if (options->checkpoint_path)
		options->measures |= 1 << MUSTER_MEASURE_CHECKPOINT;
	if (options->expect_path_count > 0)
		options->measures |= 1 << MUSTER_MEASURE_PATHS;
	if (options->storage_bytes == 0)
		options->storage_bytes = STORAGE_BYTES;
	if (options->checkpoint_bytes == 0)
		options->checkpoint_bytes = CHECKPOINT_BYTES;
}

/* Refuse what the storage options cannot mean together. -1 with err. command: argv[0], which begins the message. */
static int check_storage(const char *command, const struct muster_options *options, struct muster_error *err)
{
	const struct {
		const char *name, *path;
	} paths[] = {
		{ "--storage", options->storage_path },
		{ "--checkpoint", options->checkpoint_path },
		{ "--broadcast-file", options->broadcast_file },
	};
	const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {
		{ "--storage-bytes", options->storage_bytes },
		{ "--checkpoint-bytes", options->checkpoint_bytes },
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (paths[i].path && paths[i].path[0] != '/')
			return muster_fail(err, MUSTER_EUSAGE, "%s: %s %.200s: an absolute path is needed", command,
				paths[i].name, paths[i].path);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].bytes % MIB != 0 || sizes[i].bytes < 16 * MIB || sizes[i].bytes > 1048576 * MIB)
			return muster_fail(err, MUSTER_EUSAGE, "%s: %s: a multiple of 1M from 16M to 1024G is needed",
				command, sizes[i].name);
	if ((options->storage || options->checkpoint_path) && !may_write())
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: %s in a prolog or epilog needs MUSTER_STORAGE_IN_PROLOG=yes in /etc/default/muster",
			command, options->storage ? "--storage" : "--checkpoint");
	if (options->checkpoint_path && options->profile == MUSTER_QUICK)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: --checkpoint needs --profile standard or full: the profile quick has no such phase",
			command);
	if (options->broadcast_file && !(options->measures & 1 << MUSTER_MEASURE_BROADCAST))
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: --broadcast-file needs --storage, and --profile standard or full", command);
	return 0;
}

/* Refuse combinations of all other options; the options are complete. -1 with err. */
static int check(const char *command, const struct muster_options *options, struct muster_error *err)
{
	if (options->min_bytes && options->max_bytes && options->min_bytes > options->max_bytes)
		return muster_fail(err, MUSTER_EUSAGE, "%s: --min-bytes is larger than --max-bytes", command);
	if (options->soak_s > 0 && options->profile == MUSTER_QUICK)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: --soak needs --profile standard or full: the profile quick evaluates no load", command);
	if (options->steps > 0 && options->profile == MUSTER_QUICK)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: --steps needs --profile standard or full: the profile quick takes no steps", command);
	int load_s = options->soak_s + time_of_steps(options);
	if (load_s > 0 && options->deadline_s < load_s + SOAK_REST_S)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: --deadline %d is too short: %d s of load and at least %d s for the rest of the run",
			command, options->deadline_s, load_s, SOAK_REST_S);
	if (options->html && (strcmp(options->html, "-") == 0 || strcmp(options->html, options->report) == 0))
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: --html %s: a file of its own is needed; standard output and the file of --report are "
			"taken",
			command, options->html);
	if (check_storage(command, options, err) < 0)
		return -1;
	uint64_t sizes[] = { options->min_bytes, options->max_bytes };
	for (size_t i = 0; i < 2; i++)
		if (sizes[i] && (sizes[i] < 4 || sizes[i] % 4 != 0 || sizes[i] > UINT64_C(1) << 36))
			return muster_fail(err, MUSTER_EUSAGE, "%s: %s: a multiple of 4 up to 64G is needed", command,
				i == 0 ? "--min-bytes" : "--max-bytes");
	return 0;
}

const struct muster_options muster_run_defaults = {
	.sku = "auto",
	.report = "muster-report.json",
	.profile = MUSTER_STANDARD,
	.deadline_s = 120,
	.localise = MUSTER_LOCALISE_AUTO,
};

const struct muster_options muster_node_defaults = {
	.sku = "auto",
	.report = "muster-report.json",
	.profile = MUSTER_QUICK,
	.deadline_s = 60,
	.localise = MUSTER_LOCALISE_OFF,
};

static unsigned int log_format;

/* The rows point into options, and the help of --profile and --deadline names the values that options hold at this
 * call, so the table is made anew for each caller. log_format is static: muster_run_options_parse() reads it after the
 * parser. */
size_t muster_run_options(struct muster_options *options, struct muster_option *ret)
{
	static char profile[160], deadline[120];
	snprintf(profile, sizeof profile,
		"quick: 64 MiB all-reduce; standard: 8 to 512 MiB, short load on each GPU; full: up to 8 GiB, 10 s of "
		"load (default %s)",
		muster_profile_names[options->profile]);
	snprintf(deadline, sizeof deadline,
		"deadline of the whole run (default %d, and the time of --soak and --steps)", options->deadline_s);
	const struct muster_option table[] = {
		{ "--sku", "NAME",
			"expected machine type: NAME (see `muster skus`), FILE, generic-nvidia (any NVIDIA machine: "
			"shares of what its links can carry) or auto (detect; default)",
			.text = &options->sku, .words = muster_words_skus_auto },
		{ "--overlay", "FILE", "overlay with the thresholds of your site (a JSON merge patch)",
			.text = &options->overlay, .group = MUSTER_GROUP_THRESHOLDS },
		{ "--report", "FILE",
			"write the JSON report to FILE; - is standard output (default muster-report.json)",
			.text = &options->report, .group = MUSTER_GROUP_OUTPUT },
		{ "--html", "FILE", "write the report as an HTML page to FILE too, completely or not at all",
			.text = &options->html, .group = MUSTER_GROUP_OUTPUT },
		{ "--spool", "DIR",
			"write results to DIR during the run, so that `muster assemble DIR` can build the report if "
			"the run dies",
			.text = &options->spool, .group = MUSTER_GROUP_OUTPUT },
		{ "--textfile", "DIR",
			"also write DIR/muster.prom for the textfile collector of Prometheus's node_exporter",
			.text = &options->textfile, .group = MUSTER_GROUP_OUTPUT },
		{ "--profile", "NAME", profile, MUSTER_CLI_CHOICE(&options->profile, muster_profile_names) },
		{ "--deadline", "SECONDS", deadline, .number = &options->deadline_s, .low = 10, .high = DAY_S,
			.is_time = true },
		{ "--repeat", "N", "take N times as many windows of each speed; the best one counts (default 1)",
			.number = &options->repeats, .low = 1, .high = MUSTER_REPEATS_MAX },
		{ "--soak", "SECONDS", "load every GPU for so long: memory test, matrix products (default: in full 10)",
			.number = &options->soak_s, .low = 0, .high = DAY_S / 2, .is_time = true },
		{ "--steps", "N",
			"take N training steps of 20 ms: matrix products, all-reduces and copies at once (default: "
			"standard 20 of 5 ms, full 200)",
			.number = &options->steps, .low = 1, .high = STEPS_MOST },
		{ "--storage", "[DIR]",
			"measure the path from the disk to the GPU, with a file in DIR (default: the node's local "
			"scratch; in full always)",
			.is_path_optional = true, .flag = &options->storage, .text = &options->storage_path,
			.group = MUSTER_GROUP_STORAGE },
		{ "--storage-bytes", "SIZE", "size of that file on each node (default 4G)",
			.bytes = &options->storage_bytes, .group = MUSTER_GROUP_STORAGE },
		{ "--checkpoint", "DIR",
			"all ranks write GPU memory to the shared folder DIR at once, read it back and compare",
			.text = &options->checkpoint_path, .group = MUSTER_GROUP_STORAGE },
		{ "--checkpoint-bytes", "SIZE", "what each rank writes (default 1G)",
			.bytes = &options->checkpoint_bytes, .group = MUSTER_GROUP_STORAGE },
		{ "--broadcast-file", "FILE",
			"with --storage: one rank reads FILE for all nodes (default: generated data)",
			.text = &options->broadcast_file, .group = MUSTER_GROUP_STORAGE },
		{ "--expect-path", "PATH",
			"a file or folder that must be there, with the same content on all nodes; may be "
			"repeated",
			.each = add_path, .arg = options },
		{ "--localise", "WHEN",
			"find the faulty node or link with all-reduces on single nodes and pairs: off, always, auto "
			"(default: only if the full all-reduce fails)",
			MUSTER_CLI_CHOICE(&options->localise, localise_names), .group = MUSTER_GROUP_EXPERT },
		{ "--probe-deadline", "SECONDS", "longest time of one probe (default: each probe has its own, 3 to 60)",
			.number = &options->probe_deadline_s, .low = 1, .high = DAY_S, .is_time = true,
			.group = MUSTER_GROUP_EXPERT },
		{ "--progress", "HOW",
			"auto (a line that moves if standard error or mpirun's is a terminal, else a line per phase; "
			"default), line (also through a pipe, for srun in a terminal) or off",
			MUSTER_CLI_CHOICE(&options->progress, progress_names), .group = MUSTER_GROUP_OUTPUT },
		{ "--log-format", "FORMAT",
			"text (default) or json: one JSON object per line on standard error, for a log collector",
			MUSTER_CLI_CHOICE(&log_format, log_formats), .group = MUSTER_GROUP_OUTPUT },
		MUSTER_CLI_STRICT(&options->strict, ""),
		{ "--inventory", NULL,
			"print what the nodes have in place of the summary (as `muster report --inventory`); the same "
			"checks run",
			.flag = &options->inventory, .group = MUSTER_GROUP_OUTPUT },
		{ "--beside-jobs", NULL,
			"other jobs use CPUs and GPUs of these nodes: a copy or an all-reduce that is too slow is "
			"inconclusive",
			.flag = &options->beside_jobs },
		{ "--shared", NULL, "other programs may use the GPUs: they are recorded and do not fail the run",
			.flag = &options->shared },
		{ "--min-bytes", "SIZE",
			"smallest all-reduce message, e.g. 8M; sizes double up to --max-bytes and replace those of "
			"--profile",
			.bytes = &options->min_bytes, .group = MUSTER_GROUP_EXPERT },
		{ "--max-bytes", "SIZE", "largest all-reduce message, e.g. 1G", .bytes = &options->max_bytes,
			.group = MUSTER_GROUP_EXPERT },
	};
	memcpy(ret, table, sizeof table);
	return sizeof table / sizeof *table;
}

/* On a process that does not speak, --help and errors end the run with the same exit code and print nothing. After an
 * error of the parser the options are settled all the same, without effect: the error is the parser's. */
int muster_run_options_parse(int argc, char **argv, const char *usage, const char *epilogue, bool speaks,
	struct muster_options *options, int *ret_code)
{
	const int default_deadline_s = options->deadline_s;
	struct muster_option table[MUSTER_OPTIONS_MAX];
	size_t option_count = muster_run_options(options, table);
	options->deadline_s = 0;
	options->soak_s = -1;
	struct muster_paths paths;
	struct muster_error err;
	find_log_format(argc, argv);
	*ret_code = MUSTER_EXIT_USAGE;
	if (muster_paths_find(&paths, &err) < 0)
		goto fail;
	if (find_progress(options, &err) < 0)
		goto fail;
	options->program = paths.program;
	options->configs = paths.configs;
	*ret_code = MUSTER_EXIT_PASS;
	struct muster_cli cli = {
		.usage = usage,
		.options = table,
		.option_count = option_count,
		.epilogue = epilogue,
		.silent = !speaks,
	};
	int parsed = muster_cli_parse(&cli, argc, argv, &err);
	if (parsed == 1)
		return 1;
	if (parsed == 0)
		muster_log_as_json(log_format == 1);
	if (options->soak_s < 0)
		options->soak_s = options->profile == MUSTER_FULL ? FULL_SOAK_S : 0;
	if (parsed == 0)
		add_paths_of_files(options);
	settle_measures(options);
	if (options->deadline_s == 0)
		options->deadline_s = default_deadline_s + time_of_more(options);
	if ((options->beside_jobs || options->shared) && options->localise == MUSTER_LOCALISE_AUTO)
		options->localise = MUSTER_LOCALISE_OFF; /* a slow all-reduce proves nothing, so it has no cause */
	if (parsed < 0 || check(argv[0], options, &err) < 0)
		goto fail;
	options->long_steps = options->steps > 0 || options->profile == MUSTER_FULL;
	if (options->steps == 0)
		options->steps = default_steps[options->profile];
	return 0;
fail:
	*ret_code = speaks ? muster_cli_usage(&err) : MUSTER_EXIT_USAGE;
	return 1;
}
