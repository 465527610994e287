/* rate.c - a port's rate as sysfs has it, and what the link can carry of it */
#include "probes/ib_link/ports.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rate that begins sysfs' words: "200 Gb/sec (4X HDR)". */
static int parse_rate(const char *text, double *ret, struct muster_error *err)
{
	char *end;
	double rate = strtod(text, &end);
	if (*text < '0' || *text > '9' || !isfinite(rate) || strncmp(end, " Gb/sec", 7) != 0 ||
		(end[7] && end[7] != ' '))
		return muster_fail(err, MUSTER_EIO, "the rate in sysfs is not in Gb/sec: \"%s\"", text);
	*ret = rate;
	return 0;
}

/* The share of the bits of the rate in sysfs that are data. SDR, DDR and QDR of InfiniBand are rates before 8b/10b; FDR
 * is 14.0625 before 64b/66b, of which sysfs says 14. The later ones, and all rates of Ethernet, are those of the data.
 */
static double data_share(const struct muster_rdma_port *port, const char *rate)
{
	static const struct {
		const char *name;
		double share;
	} encoded[] = { { " SDR)", 0.8 }, { " DDR)", 0.8 }, { " QDR)", 0.8 }, { " FDR)", 14.0625 / 14 * 64 / 66 } };
	for (size_t i = 0; strcmp(port->link_layer, "InfiniBand") == 0 && i < sizeof encoded / sizeof *encoded; i++)
		if (strstr(rate, encoded[i].name))
			return encoded[i].share;
	return 1;
}

/* text: the rate in sysfs' words. A link that is down has the rate of its next attempt. */
static void measure_limit(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, const char *text,
	int result, double rate, struct muster_error *why)
{
	char state[128] = "";
	if (result == 0)
		result = muster_rdma_line(ctx, port, true, "state", state, sizeof state, why);
	if (result == 0 && strcmp(muster_rdma_after_colon(state), "ACTIVE") != 0)
		result = muster_fail(why, MUSTER_ENOTSUPPORTED, "the port is %s", muster_rdma_after_colon(state));
	muster_rdma_emit(
		ctx, port, "port.limit_gbps", result, muster_number(rate / 8 * data_share(port, text)), why->text);
}

int muster_rdma_rate_read(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, char text[128],
	double *ret, struct muster_error *err)
{
	*text = '\0';
	*ret = 0;
	return muster_rdma_line(ctx, port, true, "rate", text, 128, err) < 0 ? -1 : parse_rate(text, ret, err);
}

void muster_rdma_rate_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port)
{
	char text[128];
	double rate;
	struct muster_error why;
	int result = muster_rdma_rate_read(ctx, port, text, &rate, &why);
	muster_rdma_emit(ctx, port, "port.rate_gbps", result, muster_number(rate), why.text);
	measure_limit(ctx, port, text, result, rate, &why);
}
