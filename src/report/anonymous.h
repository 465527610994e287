/* SPDX-License-Identifier: Apache-2.0 */
/* anonymous.h - a report without names, as it may be sent to others */
#ifndef MUSTER_REPORT_ANONYMOUS_H
#define MUSTER_REPORT_ANONYMOUS_H

#include "muster/arena.h"
#include "muster/report.h"

/* Replace, in the run and in the report of it, host names, the job id, paths that a user chose, UUIDs, addresses,
 * P_Keys, names of virtual machines, regions, placement groups and switches. The strings are then the run's. */
void muster_report_anonymise(struct muster_run *run, struct muster_report *report);

/* ---- replacements of names, the same for the same name, and texts in which names are replaced ----
 *
 * Kinds are apart: a placement group may have the name of a node, and keeps a replacement of its own.
 */

enum muster_name_kind {
	MUSTER_NAME_NODE = 0,
	MUSTER_NAME_VM,
	MUSTER_NAME_GROUP,
	MUSTER_NAME_REGION,
	MUSTER_NAME_SWITCH,
	MUSTER_NAME_ADDRESS,   /* IP and MAC addresses, GIDs, GUIDs */
	MUSTER_NAME_UUID,      /* stays a UUID */
	MUSTER_NAME_PARTITION, /* of a P_Key, "0x0001": stays one */
	MUSTER_NAME_FOLDER,
	MUSTER_NAME_FILE,
	MUSTER_NAME_HOST, /* of virtual machines; in logs: of no node of the run */
	MUSTER_NAME_USER,
	MUSTER_NAME_VALUE,   /* of a setting that may hold anything */
	MUSTER_NAME_PROCESS, /* and its user */
	MUSTER_NAME_SERIAL,
	MUSTER_NAME_KIND_COUNT
};

struct muster_anonymous_names;

struct muster_anonymous_names *muster_anonymous_names_new(struct muster_arena *arena);

/* The replacement of a whole name: "node-1". */
const char *muster_anonymous_name(struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text);

/* A text for people, or of a library: its paths, UUIDs, addresses, user@, and the names of nodes (lists in brackets
 * too) and of `kind` (MUSTER_NAME_NODE: nothing else) are replaced. NULL stays NULL. */
const char *muster_anonymous_text(struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text);

/* A line of the kernel's log: as a text, and without the names and numbers of processes and users. NULL stays NULL. */
const char *muster_anonymous_line(struct muster_anonymous_names *names, const char *line);

/* "0x8001 0x7fff": each key's partition is replaced, what says how the port is a member stays. */
const char *muster_anonymous_pkeys(struct muster_anonymous_names *names, const char *keys);

/* "12 python3 (uid1001) 20 MiB; ...": the names of the processes and their users. */
const char *muster_anonymous_processes(struct muster_anonymous_names *names, const char *list);

/* The parts of a name by themselves: each switch or block of "s0.s1"; of other kinds each word. */
const char *muster_anonymous_parts(struct muster_anonymous_names *names, enum muster_name_kind kind, const char *name);

#endif
