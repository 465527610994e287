/* SPDX-License-Identifier: Apache-2.0 */
/* test_nccl_split.c - which ranks are near each other, and the communicator that they get, with a scripted NCCL */
#include "probes/nccl/roster.c"
#include "probes/nccl/session.c"
#include "probes/nccl_split.c"
#include "nccl_fakes.h"
#include "check_main.h"
#include "probe_fake.h"

static struct ncclComm the_part;
static ncclComm_t *part_to;
static int color, splits;
static struct muster_error err;
static struct probe_fake *context;

/* As NCCL, which writes the new communicator when the parent is done. */
static ncclResult_t fake_split(ncclComm_t comm, int own_color, int key, ncclComm_t *part, ncclConfig_t *config)
{
	ck_assert(comm == &the_comm && config == NULL && key == standing.ring.rank);
	color = own_color;
	splits++;
	*part = NULL;
	part_to = part;
	the_comm.pending = the_part.pending = 3;
	return ncclInProgress;
}

static ncclResult_t fake_poll(ncclComm_t comm, ncclResult_t *result)
{
	*result = comm->pending > 0 ? ncclInProgress : comm->broken;
	if (comm->pending > 0 && --comm->pending == 0 && comm == &the_comm)
		*part_to = &the_part;
	return ncclSuccess;
}

static ncclResult_t fake_end_one(ncclComm_t comm)
{
	comm->aborted++;
	return ncclSuccess;
}

static void set_up(void)
{
	fake_gpu_reset();
	fake_nccl_reset();
	scripted_nccl.ncclCommSplit = fake_split;
	scripted_nccl.ncclCommGetAsyncError = fake_poll;
	scripted_nccl.ncclCommAbort = fake_end_one;
	context = fake_gpu_new(&muster_probe_nccl_split);
	context->ctx.env.min_bytes = context->ctx.env.max_bytes = MIB;
	const struct muster_nccl_resources *resources = muster_nccl_resources_make(&context->ctx, &err);
	ck_assert_msg(resources != NULL, "%s", err.text);
	standing = (struct muster_nccl_session){ .resources = resources, .comm = &the_comm };
	the_part = (struct ncclComm){ 0 };
	near = NULL;
	splits = 0;
}

static void tear_down(void)
{
	free(roster);
	roster = NULL;
	roster_count = 0;
	standing.comm = NULL;
	muster_nccl_resources_release();
	fake_free(context);
}

/* A letter for each rank's node or domain; this one is the rank-th. */
static int play(const char *domains, int rank)
{
	const struct muster_traffic round = { .kind = "all", .peer = -1, .rounds = 1, .timeout_ms = 1000 };
	standing.ring.rank = rank;
	standing.ring.ranks = roster_count = (int)strlen(domains);
	roster = muster_calloc((size_t)roster_count, sizeof *roster);
	for (int i = 0; i < roster_count; i++)
		roster[i] = (struct entry){ 100 + i, (uint64_t)domains[i] };
	return traffic(&context->ctx, &round, &err);
}

static const struct {
	const char *domains;
	int rank, color, peer, own, number; /* color -1: no split; number: of the peer; -1: on the ring */
} splits_of[] = {
	{ "aabb", 3, 2, 2, 1, 0 }, { "aabb", 3, 2, 1, -1, -1 }, { "abab", 2, 0, 0, 1, 0 }, /* ranks that alternate */
	{ "aaab", 3, 3, 0, -1, -1 }, { "abca", 3, 0, 0, 1, 0 },
	{ "aaaa", 1, -1, 2, -1, -1 }, /* the ring is of near ranks alone */
	{ "abcd", 1, -1, 2, -1, -1 }, /* there are none */
};

TEST_EACH(near_ranks_get_a_communicator, splits_of)
{
	int rank = splits_of[_i].rank, peer = splits_of[_i].peer;
	ck_assert_msg(play(splits_of[_i].domains, rank) == 0, "%s", err.text);
	ck_assert_int_eq(splits, splits_of[_i].color >= 0);
	ck_assert_int_eq(fake_number(context, "rank.nccl_split_ms", NULL) > 0, splits);
	if (splits > 0)
		ck_assert_int_eq(color, splits_of[_i].color);
	struct muster_nccl_between between = muster_nccl_between(&standing, peer);
	bool far = splits_of[_i].number < 0;
	ck_assert_ptr_eq(between.comm, far ? &the_comm : &the_part);
	ck_assert_int_eq(between.own, far ? rank : splits_of[_i].own);
	ck_assert_int_eq(between.peer, far ? peer : splits_of[_i].number);
}

TEST(a_library_without_the_call_has_the_ring_alone)
{
	scripted_nccl.ncclCommSplit = NULL;
	ck_assert_int_eq(play("aabb", 0), 0);
	ck_assert_ptr_eq(muster_nccl_between(&standing, 1).comm, &the_comm);
	fake_expect(context, "rank.nccl_split_ms -*before 2.18", "the reason");
}

TEST(a_split_that_fails_ends_both_communicators)
{
	the_part.broken = ncclInternalError;
	ck_assert_int_eq(play("aabb", 0), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "ncclCommSplit"));
	ck_assert_int_eq(the_comm.aborted, 1);
	ck_assert_int_eq(the_part.aborted, 1);
	ck_assert_ptr_null(standing.comm);
}

TEST(a_rank_that_never_comes_to_the_split_is_a_deadline)
{
	the_part.broken = ncclInProgress;
	ck_assert_int_eq(play("aabb", 0), -1);
	ck_assert_int_eq(err.code, MUSTER_ETIME);
}

TEST_MAIN(.setup = set_up, .teardown = tear_down)
