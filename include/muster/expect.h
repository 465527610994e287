/* expect.h - what a machine of this type must show; implemented by src/expect/load.c
 *
 * Read from a JSON file, its parents (`extends`) and an overlay, merged by RFC 7386. JSON form:
 * docs/expectations.schema.json.
 */
#ifndef MUSTER_EXPECT_H
#define MUSTER_EXPECT_H

#include "muster/error.h"
#include "muster/arena.h"
#include "muster/sample.h"

enum muster_severity { MUSTER_SEVERITY_FAIL = 0, MUSTER_SEVERITY_WARN };

/* Which operators a check uses, as bits: a check may combine those that fit its metric's type. */
enum muster_operator {
	MUSTER_OP_EQUALS = 1 << 0,
	MUSTER_OP_ONE_OF = 1 << 1,
	MUSTER_OP_MATCHES = 1 << 2,
	MUSTER_OP_MIN = 1 << 3,
	MUSTER_OP_MAX = 1 << 4,
	MUSTER_OP_WARN_BELOW = 1 << 5,
	MUSTER_OP_WARN_ABOVE = 1 << 6,
	MUSTER_OP_EQUALS_BY = 1 << 7,
	MUSTER_OP_SAME_ACROSS = 1 << 8,
	MUSTER_OP_PRESENT = 1 << 9,
	MUSTER_OP_OBSERVE = 1 << 10,
	MUSTER_OP_MIN_OF_MEDIAN = 1 << 11,
	MUSTER_OP_MAX_OF_MEDIAN = 1 << 12,
	MUSTER_OPS_OF_MEDIAN = MUSTER_OP_MIN_OF_MEDIAN | MUSTER_OP_MAX_OF_MEDIAN,
	MUSTER_OPS_UNCALIBRATED = MUSTER_OP_OBSERVE | MUSTER_OPS_OF_MEDIAN, /* hold a value against no figure */
};

struct muster_excuse {     /* one entry of inconclusive_on */
	const char *value; /* as muster_value_text writes it */
	const char *why;
};

enum muster_across { MUSTER_ACROSS_NODES = 0, MUSTER_ACROSS_RANKS };

struct muster_by { /* one entry of equals_by */
	const char *label_value;
	struct muster_value value;
};

struct muster_span { /* of a count; 0: no limit on that side */
	int min, max;
};

struct muster_origin { /* a key of a check, and the file that said it last; removed: by null */
	const char *key, *file;
	bool removed;
};

struct muster_check {
	const char *id;
	const char *file;              /* the first in the chain that has this check */
	struct muster_origin *changes; /* keys that files behind it said anew */
	size_t change_count;
	const struct muster_metric *metric;
	unsigned int operators; /* bits of enum muster_operator; at least one */
	struct muster_value equals;
	struct muster_value *one_of;
	size_t one_of_count;
	const char *matches;  /* POSIX extended regular expression, known to compile */
	const char *in_words; /* what it asks for, "2.9.9 or later"; NULL: nobody has said */
	double min, max, warn_below, warn_above;
	double min_of_median, max_of_median; /* shares of the median of all values that the check judges in a run */
	const char *by_label;                /* equals_by: the label, and what each of its values must show */
	struct muster_by *by;
	size_t by_count;
	enum muster_across across;
	const char *within; /* same_across: only values with the same value of this label are compared; or NULL */
	bool present;       /* true: there must be a sample; false: there must be none */
	struct muster_excuse *inconclusive_on; /* values that prove nothing yet, and why ("INIT") */
	size_t inconclusive_on_count;
	int after;                  /* not judged where the check with this index has failed or warned; -1: none */
	struct muster_label *where; /* only samples with all these labels */
	size_t where_count;
	/* when: the check applies only to runs of this many nodes, ranks and NVLink domains, and these profiles */
	struct muster_span when_nodes, when_ranks, when_domains;
	unsigned int when_profiles; /* 1 << enum muster_profile; 0: any */
	bool optional;              /* a null value skips the check instead of leaving it inconclusive, and a probe
				     * that only optional checks want may be missing */
	enum muster_severity severity;
	const char *source, *certainty, *advice, *title; /* NULL when absent; advice may hold ${metric} */
};

struct muster_expect {
	struct muster_arena *arena;
	const char *name;   /* the SKU */
	const char *title;  /* what it is, for people; NULL when absent */
	const char *origin; /* the files it came from, "configs/a.json < configs/b.json" */
	const char **files; /* the same one by one: the overlay, the file, its parents */
	size_t file_count;
	bool observe;                /* contract and consistency only: no floors for this machine */
	struct muster_check *checks; /* in the file's order, parents first */
	size_t check_count;
	/* identify: how the machine is recognised; arrays may be empty */
	const char **vm_sizes, **gpu_names;
	size_t vm_size_count, gpu_name_count;
	int gpu_count; /* 0: not said */
};

/* Load an expectation file: `name` is a path (it has a '/' or ends in ".json"), the name of a file under config_dir
 * without ".json", or a vm_size that such a file identifies its machine by; in upper or lower case. overlay is a path
 * or NULL. On failure returns -1: code MUSTER_ENOTSUPPORTED when no file of config_dir has that name, else
 * MUSTER_EUSAGE with the file and the line or JSON path in err. */
int muster_expect_load(const char *config_dir, const char *name, const char *overlay, struct muster_expect *ret,
	struct muster_error *err);
void muster_expect_done(struct muster_expect *expect);

/* Load the same, and hand every problem to tell() instead of stopping at the first. Here also counts what can be judged
 * but not meant: limits that contradict each other, and a number that was changed under the source of another one.
 * Returns how many problems there are. */
typedef void muster_problem_fn(void *arg, const char *problem);
size_t muster_expect_lint(
	const char *config_dir, const char *name, const char *overlay, muster_problem_fn *tell, void *arg);

/* The names of all files in config_dir, sorted, without ".json". */
int muster_expect_names(const char *config_dir, struct muster_arena *arena, const char ***ret, size_t *ret_count,
	struct muster_error *err);

#endif
