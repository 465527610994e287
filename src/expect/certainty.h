/* certainty.h - where expected values were seen, and what lint asks of them */
#ifndef MUSTER_EXPECT_CERTAINTY_H
#define MUSTER_EXPECT_CERTAINTY_H

#include "expect/parse.h"

muster_field_read_fn muster_measurement_read; /* struct muster_measurement */

/* The one with this id, or NULL: `measured_on` may also be a text for people. */
const struct muster_measurement *muster_measurement_find(const struct muster_expect *expect, const char *id);

/* For lint, of the check at hand: a speed or a time may fail only by a value that was measured, on so many nodes. */
int muster_expect_certainty_lint(struct muster_json_reader *r);

#endif
