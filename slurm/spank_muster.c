/* spank_muster.c - the option --muster[=quick|standard|full] of srun, sbatch and salloc: no task on nodes that are
 * unfit
 *
 * srun musters its job's nodes after they are allocated and before a task starts there; a batch job does before its
 * script starts, and then its own sruns no more. Either way it is preflight.sbatch that runs, as the user and inside
 * the job: nothing here measures or judges. Off unless asked for; whatever goes wrong means that nothing is started.
 * That is why a refusal ends the process: an error of a plugin that plugstack.conf calls optional would stop nobody.
 *
 * plugstack.conf:   optional /usr/local/lib/muster/spank_muster.so [muster=PROGRAM] [preflight=SCRIPT]
 *
 * Without these words the program and the script are those of the prefix that this file is in, wherever that is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
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

/* Slurm looks these up by their names. */
EXPORT extern const char plugin_name[], plugin_type[];
EXPORT extern const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(muster, 1)
EXPORT int slurm_spank_init(spank_t spank, int argc, char **argv);
EXPORT int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv);
EXPORT int slurm_spank_local_user_init(spank_t spank, int argc, char **argv);
EXPORT int slurm_spank_task_init(spank_t spank, int argc, char **argv);

enum { VARIABLES = 3 };

/* Job id in the environment of a batch script whose nodes have been mustered. */
#define CHECKED "MUSTER_CHECKED"

static const char *profile;             /* NULL: not asked for */
static const char *program, *preflight; /* as plugstack.conf says; NULL: it does not */

static int profile_set(int value, const char *text, int remote)
{
	static const char *const known[] = { "quick", "standard", "full" };

	(void)value, (void)remote;
	if (!text || !*text || strcmp(text, "(null)") == 0) /* what Slurm makes of no argument in the environment */
		text = known[0];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strcmp(text, known[i]) == 0) {
			profile = known[i];
			return ESPANK_SUCCESS;
		}
	}
	slurm_error("--muster: quick, standard or full is needed, not \"%.60s\"", text);
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

/* "first", mark, "second"; NULL when there is no memory for it. */
static char *joined(const char *first, char mark, const char *second)
{
	size_t size = strlen(first) + strlen(second) + 2;
	char *text = malloc(size);

	if (text)
		snprintf(text, size, "%s%c%s", first, mark, second);
	return text;
}

/* PREFIX/rest, where this plugin is PREFIX/lib/muster/..., or some folders deeper. NULL: it is in no such tree. */
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

/* What describes the step that is about to start, or asks for --muster, is not for the one that comes before it: its
 * srun would take it for options of its own. In a batch script's environment only the latter is there. */
static bool is_kept(const char *text, bool in_batch)
{
	static const char *const dropped[] = { "_SLURM_SPANK_OPTION_muster", "SLURM_SPANK__SLURM_SPANK_OPTION_muster" };

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

/* The exit code of the script in the environment; -1 when it could not be run. */
static int run(char *script, char **environment)
{
	char options[] = "--profile", shell[] = "bash";
	char level[16];
	char *words[] = { shell, script, options, level, NULL };
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	int status, failed;
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
	failed = posix_spawnp(&pid, shell, NULL, &attributes, words, environment);
	posix_spawnattr_destroy(&attributes);
	if (failed) {
		slurm_error("muster: bash: %s", strerror(failed));
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			slurm_error("muster: waitpid: %s", strerror(errno));
			return -1;
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Muster the job's nodes, with variables of `base` in the environment. Whether they pass. */
static bool nodes_pass(uint32_t job, char **base, bool in_batch)
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
		muster && !is_set(base, "MUSTER") ? joined("MUSTER", '=', muster) : NULL };
	for (size_t i = 0; environment && i < VARIABLES; i++)
		if (own[i])
			environment[used++] = own[i];
	for (size_t i = 0; environment && i < count; i++)
		if (is_kept(base[i], in_batch))
			environment[used++] = base[i];
	if (!script)
		slurm_error("muster: no share/muster/slurm/preflight.sbatch beside the plugin; plugstack.conf has to "
			    "name it with preflight=SCRIPT");
	else if (environment && own[0] && own[1])
		code = run(script, environment);
	for (size_t i = 0; i < VARIABLES; i++)
		free(own[i]);
	free(environment);
	free(muster);
	free(script);
	if (code != 0)
		slurm_error("muster: the nodes of job %u are not proved fit (exit code %d); nothing was started on "
			    "them",
			job, code);
	return code == 0;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	struct spank_option option = {
		.name = (char *)"muster",
		.arginfo = (char *)"quick|standard|full",
		.usage = (char *)"muster the job's nodes first, and start nothing unless they pass",
		.has_arg = 2,
		.cb = profile_set,
	};

	program = argument(argc, argv, "muster");
	preflight = argument(argc, argv, "preflight");
	return (int)spank_option_register(spank, &option);
}

/* Once for a job, in srun: go on when its nodes pass, and end otherwise, whatever plugstack.conf makes of an error. */
static void let_pass(uint32_t job)
{
	static uint32_t passed; /* the last one that did */
	const char *checked = getenv(CHECKED);
	char number[16];

	snprintf(number, sizeof number, "%u", job);
	if (passed != job && !(checked && strcmp(checked, number) == 0) && !nodes_pass(job, environ, false))
		exit(EXIT_FAILURE);
	passed = job;
}

/* In srun, before it asks for a step. With an allocation that is there already, salloc's or a batch job's, this is the
 * time: a step that is refused once it is there would block all that come after it. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	const char *job = getenv("SLURM_JOB_ID");

	(void)spank, (void)argc, (void)argv;
	if (profile && job && spank_context() == S_CTX_LOCAL)
		let_pass((uint32_t)strtoul(job, NULL, 10));
	return ESPANK_SUCCESS;
}

/* In srun: the nodes are allocated, and no task has been started. */
int slurm_spank_local_user_init(spank_t spank, int argc, char **argv)
{
	uint32_t job = 0;

	(void)argc, (void)argv;
	if (!profile)
		return ESPANK_SUCCESS;
	if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS) {
		slurm_error("muster: Slurm does not say which job this is");
		exit(EXIT_FAILURE);
	}
	let_pass(job);
	return ESPANK_SUCCESS;
}

/* On a node, in the process that is about to become a task, as the user. Only a batch script is for us. */
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
		slurm_error("muster: Slurm does not say which job this is");
		_exit(EXIT_FAILURE);
	}
	if (!nodes_pass(job, environment, true))
		_exit(EXIT_FAILURE);
	snprintf(number, sizeof number, "%u", job);
	return (int)spank_setenv(spank, CHECKED, number, 1);
}
