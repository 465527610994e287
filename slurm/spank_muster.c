/* SPDX-License-Identifier: Apache-2.0 */
/* spank_muster.c - the option --muster[=quick|standard|full] of srun, sbatch and salloc: start only after a pass
 *
 * srun checks the nodes of its job after the allocation and before the first task starts. A batch job checks them
 * before its script starts; the srun commands of the script then check nothing. Both run preflight.sbatch, as the user
 * and inside the job: this plugin measures and evaluates nothing. Without the option no job is checked; with the
 * option, every error means that nothing is started. A failed check calls exit(), because Slurm ignores an error return
 * of a plugin that plugstack.conf marks as optional.
 *
 * It also tells `srun ... muster run` whether srun prints on a terminal.
 *
 * plugstack.conf:   optional /usr/local/lib/muster/spank_muster.so [muster=PROGRAM] [preflight=SCRIPT]
 *
 * Without these arguments the program and the script are those of the prefix that contains this plugin.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Slurm finds these symbols by name. */
EXPORT extern const char plugin_name[], plugin_type[];
EXPORT extern const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(muster, 1)
EXPORT int slurm_spank_init(spank_t spank, int argc, char **argv);
EXPORT int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv);
EXPORT int slurm_spank_local_user_init(spank_t spank, int argc, char **argv);
EXPORT int slurm_spank_task_init(spank_t spank, int argc, char **argv);

enum { VARIABLES = 4 };

/* Job id in the environment of a batch script whose nodes have been checked. */
#define CHECKED "MUSTER_CHECKED"

enum { ENDINGS = 4 };
static const int endings[ENDINGS] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

static const char *profile;             /* NULL: option not given */
static const char *program, *preflight; /* from plugstack.conf; NULL: not set there */

static int profile_set(int value, const char *text, int remote)
{
	static const char *const known[] = { "quick", "standard", "full" };
	(void)value, (void)remote;
	if (!text || !*text || strcmp(text, "(null)") == 0) /* Slurm's text for an option without argument */
		text = known[0];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strcmp(text, known[i]) == 0) {
			profile = known[i];
			return ESPANK_SUCCESS;
		}
	}
	slurm_error("--muster must be quick, standard or full, not \"%.60s\"", text);
	return ESPANK_BAD_ARG;
}

static const char *argument(int argc, char **argv, const char *name)
{
	size_t length = strlen(name);
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
			return argv[i] + length + 1;
	return NULL;
}

/* A new string "first", mark, "second"; NULL when memory is exhausted. */
static char *joined(const char *first, char mark, const char *second)
{
	char *text;
	return asprintf(&text, "%s%c%s", first, mark, second) < 0 ? NULL : text;
}

/* PREFIX/rest, if this plugin is PREFIX/lib/muster/..., or some directories deeper; NULL if there is no such file. */
static char *beside(const char *rest)
{
	Dl_info self;
	char *found = NULL, *folder = dladdr(&profile, &self) ? realpath(self.dli_fname, NULL) : NULL;

	for (char *slash; folder && !found && (slash = strrchr(folder, '/'));) {
		*slash = '\0';
		found = joined(folder, '/', rest);
		if (found && access(found, R_OK) != 0) {
			free(found);
			found = NULL;
		}
	}
	free(folder);
	return found;
}

/* Whether preflight.sbatch may have this variable. Its own srun would read the variables of the step that is about to
 * start, and the options of all plugins, as options of its own: --muster, and the image of a container plugin, in which
 * there is no muster. A batch script's environment has only the options of plugins. */
static bool is_kept(const char *text, bool in_batch)
{
	static const char *const dropped[] = { "_SLURM_SPANK_OPTION_", "SLURM_SPANK_", "PYXIS_" };
	for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
		if (strncmp(text, dropped[i], strlen(dropped[i])) == 0)
			return false;
	return in_batch || strncmp(text, "SLURM_", 6) != 0 || strncmp(text, "SLURM_CONF=", 11) == 0;
}

static bool is_set(char **environment, const char *name)
{
	size_t length = strlen(name);
	while (*environment && (strncmp(*environment, name, length) != 0 || (*environment)[length] != '='))
		environment++;
	return *environment;
}

static volatile sig_atomic_t child, ended_by;

static void on_signal(int number)
{
	ended_by = number;
	if (child > 0)
		kill((pid_t)child, SIGTERM);
}

/* Take the signals that end srun, from its own thread too: the kernel gives a signal to the main thread first. */
static void signals_take(struct sigaction old[ENDINGS], sigset_t *old_mask)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t mask;
	sigemptyset(&mask);
	for (size_t i = 0; i < ENDINGS; i++) {
		sigaction(endings[i], &action, &old[i]);
		sigaddset(&mask, endings[i]);
	}
	pthread_sigmask(SIG_UNBLOCK, &mask, old_mask);
}

static void signals_return(const struct sigaction old[ENDINGS], const sigset_t *old_mask)
{
	pthread_sigmask(SIG_SETMASK, old_mask, NULL);
	for (size_t i = 0; i < ENDINGS; i++)
		sigaction(endings[i], &old[i], NULL);
}

/* Its exit code, or -1 when there is none. */
static int wait_for(pid_t pid)
{
	int status;
	if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0) {
		slurm_error("muster: waitpid: %s", strerror(errno));
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Run the script with this environment. Returns its exit code, or -1 when it could not run or a signal has come. */
static int run(char *script, char **environment)
{
	char options[] = "--profile", shell[] = "bash";
	char level[16];
	char *words[] = { shell, script, options, level, NULL };
	struct sigaction old[ENDINGS];
	posix_spawnattr_t attributes;
	sigset_t none, defaults, old_mask;
	int failed, code = -1;
	pid_t pid;
	snprintf(level, sizeof level, "%s", profile);
	sigemptyset(&none);
	sigemptyset(&defaults);
	for (int number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP)
			sigaddset(&defaults, number);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	signals_take(old, &old_mask);
	failed = ended_by ? EINTR : posix_spawnp(&pid, shell, NULL, &attributes, words, environment);
	posix_spawnattr_destroy(&attributes);
	if (failed) {
		slurm_error("muster: bash: %s", strerror(failed));
	} else {
		child = pid;
		if (ended_by)
			kill(pid, SIGTERM);
		code = wait_for(pid);
		child = 0;
	}
	signals_return(old, &old_mask);
	if (ended_by)
		slurm_error("muster: signal %d ended the check", (int)ended_by);
	return ended_by ? -1 : code;
}

/* Check the nodes of the job, with the variables of `base` in the environment. Files are named after `name`, or after
 * the job if NULL. Returns whether the nodes pass. */
static bool nodes_pass(uint32_t job, char **base, bool in_batch, const char *name)
{
	size_t count = 0, used = 0;
	char number[16];
	int code = -1;
	while (base[count])
		count++;
	snprintf(number, sizeof number, "%u", job);
	char *script = preflight ? strdup(preflight) : beside("share/muster/slurm/preflight.sbatch");
	char *muster = program ? strdup(program) : beside("bin/muster");
	char **environment = calloc(count + VARIABLES + 1, sizeof *environment);
	char *own[VARIABLES] = { joined("SLURM_JOB_ID", '=', number), joined("MUSTER_QUIET", '=', "1"),
		muster && !is_set(base, "MUSTER") ? joined("MUSTER", '=', muster) : NULL,
		name && !is_set(base, "MUSTER_NAME") ? joined("MUSTER_NAME", '=', name) : NULL };
	for (size_t i = 0; environment && i < VARIABLES; i++)
		if (own[i])
			environment[used++] = own[i];
	for (size_t i = 0; environment && i < count; i++)
		if (is_kept(base[i], in_batch))
			environment[used++] = base[i];
	if (!script)
		slurm_error("muster: share/muster/slurm/preflight.sbatch not found in the prefix of the plugin; set "
			    "preflight=SCRIPT in plugstack.conf");
	else if (environment && own[0] && own[1])
		code = run(script, environment);
	for (size_t i = 0; i < VARIABLES; i++)
		free(own[i]);
	free(environment);
	free(muster);
	free(script);
	if (code != 0)
		slurm_error("muster: the nodes of job %u %s (exit code %d); nothing was started", job,
			code == 2 || code < 0 ? "could not be checked" : "did not pass", code);
	return code == 0;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	struct spank_option option = {
		.name = (char *)"muster",
		.arginfo = (char *)"quick|standard|full",
		.usage = (char *)"check the nodes of the job with muster first, and start nothing unless they pass",
		.has_arg = 2,
		.cb = profile_set,
	};
	program = argument(argc, argv, "muster");
	preflight = argument(argc, argv, "preflight");
	return (int)spank_option_register(spank, &option);
}

/* Once per job, in srun: return when its nodes pass; otherwise exit, even if plugstack.conf says optional. */
static void let_pass(uint32_t job, const char *name)
{
	static uint32_t passed; /* the last job that passed */
	const char *checked = getenv(CHECKED);
	char number[16];
	snprintf(number, sizeof number, "%u", job);
	if (passed != job && !(checked && strcmp(checked, number) == 0) && !nodes_pass(job, environ, false, name))
		exit(EXIT_FAILURE);
	passed = job;
}

/* Whether a word of srun's command line is an option by which srun's output is not, or not as it comes, on srun's own
 * standard error: --output, --error, --label, and short options that can hold -o, -e or -l. Some others are taken for
 * one of these too, which costs only the line that moves. */
static bool redirects(const char *word)
{
	static const char *const long_options[] = { "--ou", "--er", "--la" };
	for (size_t i = 0; i < sizeof long_options / sizeof *long_options; i++)
		if (strncmp(word, long_options[i], strlen(long_options[i])) == 0)
			return true;
	return word[0] == '-' && word[1] != '-' && strpbrk(word, "oel");
}

/* srun prints what the tasks print on standard error on its own, and only srun knows whether this is a terminal: tell
 * `muster run`, so that it shows its progress in one line. A user's own setting stays. */
static void tell_of_terminal(void)
{
	char line[4096];
	size_t length = 0;
	bool is_muster = false;
	FILE *in = isatty(STDERR_FILENO) ? fopen("/proc/self/cmdline", "re") : NULL;
	if (!in)
		return;
	length = fread(line, 1, sizeof line - 1, in);
	fclose(in);
	line[length] = '\0';
	for (const char *word = line; word < line + length; word += strlen(word) + 1) {
		const char *slash = strrchr(word, '/');
		is_muster = strcmp(slash ? slash + 1 : word, "muster") == 0;
		if (is_muster)
			break; /* the rest is muster's */
		if (redirects(word))
			return;
	}
	if (is_muster && !getenv("SLURM_STDERRMODE") && !getenv("SLURM_STDOUTMODE"))
		setenv("MUSTER_PROGRESS", "line", 0);
}

/* In srun, before it requests a step. In an existing allocation (salloc, batch job) the check must run here: a step
 * that is refused after its creation would block all later steps. An allocation can have several such checks. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	const char *job = getenv("SLURM_JOB_ID");
	char name[64];
	(void)spank, (void)argc, (void)argv;
	if (spank_context() == S_CTX_LOCAL)
		tell_of_terminal();
	if (profile && job && spank_context() == S_CTX_LOCAL) {
		uint32_t number = (uint32_t)strtoul(job, NULL, 10);
		snprintf(name, sizeof name, "muster-%u-%ld", number, (long)getpid());
		let_pass(number, name);
	}
	return ESPANK_SUCCESS;
}

/* In srun, after the allocation and before the first task starts. */
int slurm_spank_local_user_init(spank_t spank, int argc, char **argv)
{
	uint32_t job = 0;
	(void)argc, (void)argv;
	if (!profile)
		return ESPANK_SUCCESS;
	if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS) {
		slurm_error("muster: Slurm does not give the job id");
		exit(EXIT_FAILURE);
	}
	let_pass(job, NULL);
	return ESPANK_SUCCESS;
}

/* On a node, in the process that becomes a task, as the user. Only a batch script is checked here. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	uint32_t job = 0, step = 0;
	char **environment = NULL;
	char number[16];
	(void)argc, (void)argv;
	if (!profile || spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step != SLURM_BATCH_SCRIPT)
		return ESPANK_SUCCESS;
	if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
		spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS) {
		slurm_error("muster: Slurm does not give the job id");
		_exit(EXIT_FAILURE);
	}
	if (!nodes_pass(job, environment, true, NULL))
		_exit(EXIT_FAILURE);
	snprintf(number, sizeof number, "%u", job);
	return (int)spank_setenv(spank, CHECKED, number, 1);
}
