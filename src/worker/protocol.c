/* protocol.c - the answer of a worker as JSON */
#include "worker/protocol.h"

#include "json/object.h"

#include <stddef.h>

static const struct muster_field figure_fields[] = {
	{ MUSTER_FIELD(muster_ring_figure, bytes, WORD) },
	{ MUSTER_FIELD(muster_ring_figure, rate, NUMBER) },
};
static const struct muster_object_type figure_type = MUSTER_OBJECT_TYPE(muster_ring_figure, figure_fields);

#define ANSWER(member, kind) MUSTER_FIELD(muster_worker_answer, member, kind), .optional = true
static const struct muster_field answer_fields[] = {
	{ ANSWER(code, TEXT) },
	{ ANSWER(error, TEXT) },
	{ ANSWER(ring_id, TEXT) },
	{ ANSWER(gpus, INT), .absent = -1 },
	{ ANSWER(gpu, TEXT) },
	{ ANSWER(uuid, TEXT) },
	{ ANSWER(path, TEXT) },
	{ ANSWER(agree, TEXT) },
	{ ANSWER(why_none, TEXT) },
	{ ANSWER(simulated, BOOLEAN) },
	{ ANSWER(figures, OBJECT), MUSTER_FIELD_MANY(muster_worker_answer, figure_count),
		.most = MUSTER_RING_FIGURES_MAX, .object = &figure_type },
};
const struct muster_object_type muster_worker_answer_type = {
	.fields = answer_fields,
	.count = sizeof answer_fields / sizeof *answer_fields,
	.size = sizeof(struct muster_worker_answer),
	.open = true,
};
