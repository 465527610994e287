/* SPDX-License-Identifier: Apache-2.0 */
/* cufile.c - from a file to the GPU by cuFile
 *
 * cuFile does not say whether it takes the direct path for a file. So cuFile is opened without its compatibility mode
 * first, and with this mode only if that fails:
 *
 *   first attempt   second attempt   gpu.cufile_path
 *   succeeds        not made         "direct: nvidia-fs 2.26", or "direct: PCI peer-to-peer" without nvidia-fs
 *   fails           succeeds         "compatibility: " and why the first one failed
 *   fails           fails            null, with the error of the second one
 *
 * cuFile takes its settings from the environment when its driver is opened, so each attempt is a driver session of its
 * own: allow_compatibility, cuFileDriverOpen, cuFileHandleRegister, reads, cuFileHandleDeregister, cuFileDriverClose.
 * What is registered is deregistered before the driver is closed, after an error too.
 *
 * Four threads read pieces of 16 MiB. A thread has no current context of its own, and cuFileRead needs one: each sets
 * the primary context, which is retained for the time of the reads.
 */
#include "probes/gpu_stream/stream.h"
#include "probes/windows.h"

#include "util/clock.h"
#include "util/text.h"
#include "vendor/cufile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define PIECE ((size_t)16 << 20)
#define READ_MS 5000.0 /* no new piece begins after that */

struct session {
	const struct muster_cufile *lib;
	bool open;
	CUfileHandle_t handle; /* NULL: the file is not registered */
	CUfileError_t status;  /* why it is not */
};

static void end_session(struct session *session)
{
	if (session->handle)
		session->lib->cuFileHandleDeregister(session->handle);
	if (session->open)
		session->lib->cuFileDriverClose();
	session->handle = NULL;
	session->open = false;
}

/* Open the driver and register the file. */
static int begin_session(struct session *session, int fd, bool compatible, struct muster_error *err)
{
	CUfileDescr_t description = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };
	muster_cufile_allow_compatibility(compatible);
	session->status = session->lib->cuFileDriverOpen();
	if (muster_cufile_check(session->status, err, "cuFileDriverOpen") < 0)
		return -1;
	session->open = true;
	session->status = session->lib->cuFileHandleRegister(&session->handle, &description);
	if (muster_cufile_check(session->status, err, "cuFileHandleRegister") == 0)
		return 0;
	session->handle = NULL;
	end_session(session);
	return -1;
}

/* Which of the two direct ways it is: nvidia-fs, where cuFile gives a version of that driver other than 0.0, else PCI
 * peer-to-peer. */
static void name_direct(const struct session *session, char *path, size_t size)
{
	CUfileDrvProps_t properties = { 0 };
	CUfileError_t status = session->lib->cuFileDriverGetProperties(&properties);
	if (status.err == CU_FILE_SUCCESS && (properties.nvfs.major_version || properties.nvfs.minor_version))
		snprintf(path, size, "direct: nvidia-fs %u.%u", properties.nvfs.major_version,
			properties.nvfs.minor_version);
	else
		snprintf(path, size, "direct: PCI peer-to-peer");
}

/* Both attempts. path: how the data goes, valid when this returns 0. A failed attempt leaves no session open. */
static int open_session(struct session *session, int fd, char *path, size_t size, struct muster_error *err)
{
	if (begin_session(session, fd, false, err) == 0) {
		name_direct(session, path, size);
		return 0;
	}
	snprintf(path, size, "compatibility: %s", muster_cufile_meaning(session->status));
	return begin_session(session, fd, true, err);
}

/* What the threads share. */
struct reads {
	const struct muster_stream *stream;
	const struct session *session;
	CUcontext context;
	size_t first, bytes; /* of a window: the offsets where it begins and ends */
	double end;          /* no piece begins after it, but for the first of a window; by muster_now_ms */
	/* the offset of the piece that is taken next; bytes that were read since the start of the pass */
	_Atomic size_t next, done;
	_Atomic int error; /* errno, or minus a CUfileOpError; 0: none */
};

/* One thread: take the next piece of the window and read it to the same offset of the GPU's buffer, until the window or
 * the time is over, or any thread has failed. A piece that was taken is read to its end. cuFileRead returns the bytes,
 * -1 with errno, or minus a CUfileOpError; fewer bytes than asked for are EIO. */
static void *read_pieces(void *arg)
{
	struct reads *reads = arg;
	if (reads->stream->cuda->cuCtxSetCurrent(reads->context) != CUDA_SUCCESS)
		reads->error = -(int)CU_FILE_CUDA_DRIVER_ERROR;
	while (!reads->error && (reads->next == reads->first || muster_now_ms() < reads->end)) {
		size_t at = atomic_fetch_add(&reads->next, PIECE), left = at < reads->bytes ? reads->bytes - at : 0;
		size_t bytes = left < PIECE ? left : PIECE;
		if (bytes == 0)
			break;
		ssize_t got = reads->session->lib->cuFileRead(
			reads->session->handle, (void *)(uintptr_t)reads->stream->device, bytes, (off_t)at, (off_t)at);
		if (got == (ssize_t)bytes)
			reads->done += bytes;
		else
			reads->error = got >= 0 ? EIO : got == -1 ? errno : (int)got;
	}
	return NULL;
}

static int check_reads(const struct reads *reads, struct muster_error *err)
{
	if (reads->error < 0)
		return muster_cufile_check((CUfileError_t){ .err = (CUfileOpError)-reads->error }, err, "cuFileRead");
	if (reads->error > 0)
		return muster_fail(err, MUSTER_EIO, "cuFileRead: %s", strerror(reads->error));
	return 0;
}

/* A window by THREADS threads, or as many as can be made; its time includes their start and end. */
static int read_window(struct reads *reads, double *ret_ms, struct muster_error *err)
{
	pthread_t threads[THREADS];
	size_t count = 0;
	double began = muster_clock_now(&muster_clock_raw);
	while (count < THREADS && pthread_create(&threads[count], NULL, read_pieces, reads) == 0)
		count++;
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	*ret_ms = muster_clock_now(&muster_clock_raw) - began;
	if (count == 0)
		return muster_fail(err, MUSTER_ENOMEM, "no thread for reads by cuFile");
	return check_reads(reads, err);
}

/* Windows until all bytes are read or READ_MS are over. pass->bytes is the end of what was read so far, and so where
 * the next window begins. */
static int read_all(struct reads *reads, size_t all, struct muster_stream_pass *pass, struct muster_error *err)
{
	double ms;
	reads->end = muster_now_ms() + READ_MS;
	do {
		size_t left = all - pass->bytes;
		reads->first = pass->bytes;
		atomic_store(&reads->next, pass->bytes);
		reads->bytes = pass->bytes + (left < MUSTER_WINDOW_BYTES ? left : MUSTER_WINDOW_BYTES);
		if (read_window(reads, &ms, err) < 0)
			return -1;
		muster_stream_keep(pass, reads->done - reads->first, ms);
	} while (pass->bytes == reads->bytes && pass->bytes < all && muster_now_ms() < reads->end);
	return 0;
}

/* The pass in an open session: clear the buffer, read, verify. Pieces are taken in their order and none is given up, so
 * what was read has no gaps once all threads have ended. */
static int measure(struct muster_stream *stream, const struct session *session, const struct muster_stream_file *file,
	struct muster_stream_pass *ret, struct muster_error *err)
{
	const struct muster_cuda *cuda = stream->cuda;
	CUdevice device = muster_probe_env(stream->ctx)->gpu->cuda_device;
	void *memory = (void *)(uintptr_t)stream->device;
	size_t all = file->bytes < stream->bytes ? file->bytes : stream->bytes;
	struct reads reads = { .stream = stream, .session = session };
	struct muster_stream_pass pass = { 0 };
	if (muster_stream_clear(stream, err) < 0 ||
		MUSTER_CUDA(cuda, err, cuDevicePrimaryCtxRetain, &reads.context, device) < 0)
		return -1;
	/* Where the GPU's window on PCI is too small for it, cuFile goes through buffers of its own. */
	bool registered = session->lib->cuFileBufRegister(memory, stream->bytes, 0).err == CU_FILE_SUCCESS;
	int failed = read_all(&reads, all, &pass, err);
	if (registered)
		session->lib->cuFileBufDeregister(memory);
	cuda->cuDevicePrimaryCtxRelease_v2(device);
	if (failed < 0 || muster_stream_verify(stream, pass.bytes, file->seed, &pass.wrong, err) < 0)
		return -1;
	if (pass.windows == 0)
		return muster_fail(err, MUSTER_EIO, "reads by cuFile took no time");
	*ret = pass;
	return 0;
}

/* The same file, opened once more: cuFile takes none that was opened with O_TMPFILE. -1: it cannot be opened again. */
static int reopen(int fd)
{
	char name[64];
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return open(name, O_RDWR | O_DIRECT | O_CLOEXEC);
}

int muster_stream_from_cufile(struct muster_stream *stream, const struct muster_stream_file *file,
	struct muster_stream_pass *ret, char *path, size_t path_size, struct muster_error *err)
{
	struct session session = { .lib = muster_cufile(err) };
	if (!session.lib)
		return -1;
	if (!file->file.direct)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "cuFile needs direct I/O: %s", file->file.why_buffered);
	muster_step(stream->ctx, "%zu MiB from the disk to the GPU by cuFile", file->bytes >> 20);
	int own = reopen(file->file.fd), failed;
	failed = open_session(&session, own < 0 ? file->file.fd : own, path, path_size, err);
	if (failed == 0)
		failed = measure(stream, &session, file, ret, err);
	end_session(&session);
	if (own >= 0)
		close(own);
	return failed;
}
