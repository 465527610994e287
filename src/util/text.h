/* text.h - parsing and printing of small texts, each with its whole input used up or an error */
#ifndef MUSTER_UTIL_TEXT_H
#define MUSTER_UTIL_TEXT_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole decimal number in [low, high]; `what` names it in the message ("--deadline"). Code MUSTER_EUSAGE. */
int muster_parse_int(const char *text, long low, long high, long *ret, const char *what, struct muster_error *err);
int muster_parse_double(const char *text, double *ret, const char *what, struct muster_error *err);
/* A byte count with an optional K, M or G (powers of 1024): "256M". */
int muster_parse_bytes(const char *text, uint64_t *ret, const char *what, struct muster_error *err);
/* A byte count as people say it: "256 MiB", "8 B". Returns out. */
const char *muster_bytes_text(uint64_t bytes, char *out, size_t size);

/* CPU sets, as srun's mask_cpu spells them (hex without 0x or with) and as the kernel lists them ("0-3,8"). */
#define MUSTER_CPUS_MAX 4096
struct muster_cpuset {
	uint64_t bits[MUSTER_CPUS_MAX / 64];
};
int muster_cpuset_parse_mask(const char *text, struct muster_cpuset *ret, struct muster_error *err);
int muster_cpuset_parse_list(const char *text, struct muster_cpuset *ret, struct muster_error *err);
void muster_cpuset_set(struct muster_cpuset *cpus, unsigned int cpu);
bool muster_cpuset_has(const struct muster_cpuset *cpus, unsigned int cpu);
unsigned int muster_cpuset_count(const struct muster_cpuset *cpus);
/* "ffffff000000" and "24-47"; malloc'd, the caller frees. An empty set gives "0" and "". */
char *muster_cpuset_mask(const struct muster_cpuset *cpus);
char *muster_cpuset_list(const struct muster_cpuset *cpus);

/* The first line of a small file (at most 4096 bytes) without trailing white space, for sysfs and procfs. 0, or -1 with
 * err (MUSTER_EIO, or MUSTER_ENOPERMISSION) naming the path. */
int muster_read_line(const char *path, char *ret, size_t size, struct muster_error *err);

/* Milliseconds of the monotonic clock. */
double muster_now_ms(void);

#endif
