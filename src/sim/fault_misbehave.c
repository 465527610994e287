/* SPDX-License-Identifier: Apache-2.0 */
/* fault_misbehave.c - read how a rank's worker misbehaves inside a vendor library
 *
 * Linked into the simulator, which refuses wrong texts, and into the stand-ins, which carry the texts out. The list of
 * functions is made of the tables of the vendor libraries' headers, so that a function which muster begins to call can
 * be named at once; the functions that are in no such table stand behind them.
 */
#include "sim/fault_misbehave.h"

#include "vendor/cublaslt_abi.h"
#include "vendor/cuda_abi.h"
#include "vendor/cufile_abi.h"
#include "vendor/nccl_abi.h"
#include "vendor/nvml_abi.h"
#include "util/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 256 };

static const char *const words[] = {
#define X(name, word, meaning) word,
	MUSTER_SIM_DEATHS(X)
#undef X
};

/* Where a worker can be met. A name that is none of these would have no effect, unnoticed. */
const char *const muster_sim_misbehaviour_functions[] = {
#define X(symbol, parameters) #symbol,
	MUSTER_CUDA_FUNCTIONS(X) MUSTER_CUBLASLT_FUNCTIONS(X) MUSTER_NVML_FUNCTIONS(X) MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
		MUSTER_NCCL_FUNCTIONS(X) MUSTER_NCCL_OPTIONAL_FUNCTIONS(X) MUSTER_CUFILE_FUNCTIONS(X)
#undef X
#define X(result, symbol, parameters) #symbol,
			MUSTER_CUFILE_OTHER_FUNCTIONS(X)
#undef X
				"cublasLtGetVersion",
	"nvmlErrorString",
	"ncclGetErrorString",
	"ncclGetLastError",
	"ibv_get_device_list",
	"ibv_free_device_list",
	"ibv_get_device_name",
	"ibv_open_device",
	"ibv_close_device",
	"ibv_query_port",
	/* of the preloaded library */
	"sched_getaffinity",
	"statvfs",
	"curl_easy_perform",
	"XML_Parse",
};

const size_t muster_sim_misbehaviour_function_count =
	sizeof muster_sim_misbehaviour_functions / sizeof *muster_sim_misbehaviour_functions;

bool muster_sim_is_function(const char *name)
{
	return muster_text_among(name, muster_sim_misbehaviour_functions, muster_sim_misbehaviour_function_count);
}

/* A function of CUDA's driver is "cu" and an upper-case letter, which leaves cublasLt out, and is none of cuFile's.
 * Calls of the functions in of_none are not about one GPU: only a fault of the whole node can name these. */
bool muster_sim_is_function_of(const char *name, const char *library, bool *ret_of_gpu)
{
	static const char *const of_none[] = { "cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
		"cuDeviceGetCount", "cuCtxSetCurrent", "nvmlInit_v2", "nvmlSystemGetDriverVersion",
		"nvmlSystemGetNVMLVersion", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
		"nvmlDeviceGetHandleByPciBusId_v2" };
	bool is_cuda =
		strncmp(name, "cu", 2) == 0 && isupper((unsigned char)name[2]) && strncmp(name, "cuFile", 6) != 0;
	bool is_nvml = strncmp(name, "nvml", 4) == 0 && strcmp(name, "nvmlErrorString") != 0;
	*ret_of_gpu = !muster_text_among(name, of_none, sizeof of_none / sizeof *of_none);
	return muster_sim_is_function(name) && (strcmp(library, "cuda") == 0 ? is_cuda : is_nvml);
}

static int unknown_function(const char *name, struct muster_error *err)
{
	char near[MUSTER_SUGGEST_MAX];
	return muster_fail(err, MUSTER_EUSAGE, "\"%s\" must be a function of a stand-in or \"dlopen:SONAME\"%s", name,
		muster_suggest(name, muster_sim_misbehaviour_functions, muster_sim_misbehaviour_function_count,
			sizeof(char *), near));
}

/* HOW: "803" (a code), "40s" (a time) or a word. A digit at its beginning makes it a code or a time, which only
 * functions of CUDA and NVML can have: only their stand-ins ask muster_standin_answer(). death->function and
 * death->bus_id are read already. */
static int parse_how(const char *text, struct muster_sim_misbehaviour *death, struct muster_error *err)
{
	size_t length = strlen(text);
	char number[TEXT_MAX];
	long code = 0;
	bool of_gpu;
	if (!isdigit((unsigned char)*text)) {
		if (*death->bus_id)
			return muster_fail(err, MUSTER_EUSAGE, "only a code or a time can be about one GPU");
		int how = muster_parse_name(text, words, MUSTER_SIM_DIES_COUNT, "HOW", err);
		death->how = (enum muster_sim_how)how;
		return how < 0 ? -1 : 0;
	}
	if (!muster_sim_is_function_of(death->function, "cuda", &of_gpu) &&
		!muster_sim_is_function_of(death->function, "nvml", &of_gpu))
		return muster_fail(err, MUSTER_EUSAGE, "only functions of CUDA and NVML take a code or a time");
	if (*death->bus_id && !of_gpu)
		return muster_fail(err, MUSTER_EUSAGE, "%s is not about one GPU: use the form node1", death->function);
	death->how = text[length - 1] == 's' ? MUSTER_SIM_WAITS : MUSTER_SIM_RETURNS;
	if (death->how == MUSTER_SIM_RETURNS) {
		if (muster_parse_int(text, 1, 99999, &code, "CODE", err) < 0)
			return -1;
		death->code = (int)code;
		return 0;
	}
	snprintf(number, sizeof number, "%.*s", (int)(length - 1), text);
	if (muster_parse_double(number, &death->seconds, "TIME", err) < 0)
		return -1;
	return death->seconds <= 1e6 ? 0 : muster_fail(err, MUSTER_EUSAGE, "TIME must be at most 1000000 s");
}

/* The text is read from its end: the bus id is behind the '@'; HOW is behind the last ':', because a SONAME of
 * "dlopen:" stands between two of them; K is behind the '#' of what is left. */
int muster_sim_misbehaviour_parse(const char *text, struct muster_sim_misbehaviour *ret, struct muster_error *err)
{
	struct muster_sim_misbehaviour death = { .call = 1 };
	const char *at = strchr(text, '@');
	char before[TEXT_MAX];
	if (strlen(text) >= sizeof before || (at && strlen(at + 1) >= sizeof death.bus_id))
		return muster_fail(err, MUSTER_EUSAGE, "\"%.60s...\" is too long", text);
	snprintf(death.bus_id, sizeof death.bus_id, "%s", at ? at + 1 : "");
	snprintf(before, sizeof before, "%.*s", at ? (int)(at - text) : (int)strlen(text), text);
	text = before;
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	if (length == 0 || length >= sizeof death.function)
		return muster_fail(
			err, MUSTER_EUSAGE, "\"%.200s\": must have the form FUNCTION:HOW or FUNCTION#CALL:HOW", text);
	memcpy(death.function, text, length);
	char *count = strchr(death.function, '#');
	if (count)
		*count++ = '\0';
	size_t prefix = strlen(MUSTER_SIM_DLOPEN);
	/* a blank would end the text in MUSTER_SIM_DIES */
	bool loads = strncmp(death.function, MUSTER_SIM_DLOPEN, prefix) == 0 && death.function[prefix] &&
		     !strchr(death.function, ' ');
	if (!loads && !muster_sim_is_function(death.function))
		return unknown_function(death.function, err);
	if (count && muster_parse_int(count, 1, 1000000, &death.call, "CALL", err) < 0)
		return -1;
	if (parse_how(colon + 1, &death, err) < 0)
		return -1;
	if (!count && death.how >= MUSTER_SIM_DIES_COUNT)
		death.call = 0;
	*ret = death;
	return 0;
}

/* soname "libnccl.so.2" has the stem "libnccl.so": the file's name must be the stem, or the stem and a '.'. */
bool muster_sim_is_library(const char *file, const char *soname)
{
	const char *slash = strrchr(file, '/'), *suffix = strstr(soname, ".so");
	const char *name = slash ? slash + 1 : file;
	size_t stem = suffix ? (size_t)(suffix - soname) + 3 : strlen(soname);
	return strlen(name) >= stem && memcmp(name, soname, stem) == 0 && (name[stem] == '\0' || name[stem] == '.');
}
