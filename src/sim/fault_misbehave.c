/* fault_misbehave.c - read how a rank's worker misbehaves inside a vendor library */
#include "sim/fault_misbehave.h"

#include "vendor/cublaslt_abi.h"
#include "vendor/cuda_abi.h"
#include "vendor/cufile_abi.h"
#include "vendor/nccl_abi.h"
#include "vendor/nvml_abi.h"
#include "util/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {
#define X(name, word, meaning) word,
	MUSTER_SIM_DEATHS(X)
#undef X
};

/* Where a worker can be met. A name that is none of these would have no effect, unnoticed. */
const char *const muster_sim_misbehaviour_functions[] = {
#define X(symbol, parameters) #symbol,
	MUSTER_CUDA_FUNCTIONS(X) MUSTER_CUBLASLT_FUNCTIONS(X) MUSTER_NVML_FUNCTIONS(X) MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
		MUSTER_NCCL_FUNCTIONS(X) MUSTER_CUFILE_FUNCTIONS(X)
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
	"ibv_query_device",
	"ibv_query_port",
	"ibv_query_gid",
	/* of the preloaded library */
	"sched_getaffinity",
	"readlink",
	"curl_easy_perform",
	"XML_Parse",
};

const size_t muster_sim_misbehaviour_function_count =
	sizeof muster_sim_misbehaviour_functions / sizeof *muster_sim_misbehaviour_functions;

bool muster_sim_is_function(const char *name)
{
	for (size_t i = 0; i < muster_sim_misbehaviour_function_count; i++)
		if (strcmp(muster_sim_misbehaviour_functions[i], name) == 0)
			return true;
	return false;
}

int muster_sim_misbehaviour_parse(const char *text, struct muster_sim_misbehaviour *ret, struct muster_error *err)
{
	struct muster_sim_misbehaviour death = { .call = 1 };
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
	bool loads = strncmp(death.function, MUSTER_SIM_DLOPEN, prefix) == 0 && death.function[prefix];
	if (!loads && !muster_sim_is_function(death.function))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" must be a function of a stand-in or \"dlopen:SONAME\"",
			death.function);
	if (count && muster_parse_int(count, 1, 1000000, &death.call, "CALL", err) < 0)
		return -1;
	int how = muster_parse_name(colon + 1, words, MUSTER_SIM_DIES_COUNT, "HOW", err);
	if (how < 0)
		return -1;
	death.how = (enum muster_sim_how)how;
	*ret = death;
	return 0;
}

bool muster_sim_is_library(const char *file, const char *soname)
{
	const char *slash = strrchr(file, '/'), *suffix = strstr(soname, ".so");
	const char *name = slash ? slash + 1 : file;
	size_t stem = suffix ? (size_t)(suffix - soname) + 3 : strlen(soname);
	return strlen(name) >= stem && memcmp(name, soname, stem) == 0 && (name[stem] == '\0' || name[stem] == '.');
}
