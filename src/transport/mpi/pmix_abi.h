/* SPDX-License-Identifier: Apache-2.0 */
/* pmix_abi.h - the part of PMIx that muster calls, as pmix.h of PMIx 3 and later declares it
 *
 * Types carry pmix.h's names so that tests/abi/ can compare them with the library's own header.
 */
#ifndef MUSTER_TRANSPORT_MPI_PMIX_ABI_H
#define MUSTER_TRANSPORT_MPI_PMIX_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUSTER_PMIX_COLLECT_DATA "pmix.collect"

#ifndef MUSTER_ABI_VENDOR_TYPES
#define PMIX_SUCCESS 0
#define PMIX_OPERATION_SUCCEEDED (-157)
#define PMIX_ERR_PROC_TERM_WO_SYNC (-200)
#define PMIX_BOOL 1
#define PMIX_MAX_NSLEN 255
#define PMIX_MAX_KEYLEN 511

union muster_pmix_data {
	bool flag;
	void *largest[3];
};
typedef int pmix_status_t;
typedef uint8_t pmix_data_range_t;
typedef void (*pmix_op_cbfunc_t)(pmix_status_t status, void *arg);
typedef struct pmix_proc {
	char nspace[256];
	uint32_t rank;
} pmix_proc_t;
typedef struct pmix_value {
	uint16_t type;
	union muster_pmix_data data;
} pmix_value_t;
typedef struct pmix_info {
	char key[512];
	uint32_t flags;
	pmix_value_t value;
} pmix_info_t;
#endif

/* X(result, symbol, parameters) */
/* clang-format off */
#define MUSTER_PMIX_FUNCTIONS(X) \
	X(int, PMIx_Initialized, (void)) \
	X(pmix_status_t, PMIx_Fence, \
		(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo)) \
	X(pmix_status_t, PMIx_Notify_event, \
		(pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range, \
			const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t done, void *arg)) \
	X(const char *, PMIx_Error_string, (pmix_status_t status))
/* clang-format on */

#endif
