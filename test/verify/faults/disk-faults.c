// A disk that fails when it is told to: preloaded into the service (LD_PRELOAD), it stands between SQLite and the
// system for the files of one directory. What it is told, and what it counts, is in a file of five numbers that
// the test writes and reads. It makes no fault by itself, and touches no other file.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fault { NONE, FULL, READ_ONLY, WRITE_FAILS, SYNC_FAILS, SYNC_LOSES, POWER_CUT };

struct control {
  int32_t fault;
  int32_t sync_ms; // each fsync takes so much longer; below 0: it hangs until this is changed
  int32_t faults;  // how many were given
  int32_t syncs;   // how many fsyncs went well
  int32_t hanging; // how many are being delayed
};

// A write since the last fsync of its file that went well, with what stood there before.
struct unsynced {
  struct unsynced *before;
  int fd;
  off_t offset, size_before; // of the file
  size_t length;
  char bytes[];
};

enum { FDS_MAX = 65536, UNWATCHED = 0, SHARED_MEMORY = 1, KEPT = 2 };

static struct control idle, *control = &idle;
static const char *directory;
static unsigned char watched[FDS_MAX];
static struct unsynced *last;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("DISK_FAULTS_CONTROL");
  directory = getenv("DISK_FAULTS_DIRECTORY");
  int fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0 || directory == NULL) abort();
  control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (control == MAP_FAILED) abort();
  syscall(SYS_close, fd);
}

static int fault(void) { return __atomic_load_n(&control->fault, __ATOMIC_SEQ_CST); }

static void count(int32_t *counter, int by) { __atomic_add_fetch(counter, by, __ATOMIC_SEQ_CST); }

static int fail(int code) {
  count(&control->faults, 1);
  errno = code;
  return -1;
}

static int is_inside(const char *path) {
  return directory != NULL && strncmp(path, directory, strlen(directory)) == 0;
}

static int kind_of(int fd) { return fd >= 0 && fd < FDS_MAX ? watched[fd] : UNWATCHED; }

// Remembers what a write is about to replace, so that it can be lost.
static void remember(int fd, size_t length, off_t offset) {
  struct stat file;
  struct unsynced *write = malloc(sizeof *write + length);
  if (write == NULL || fstat(fd, &file) != 0) abort();
  ssize_t had = syscall(SYS_pread64, fd, write->bytes, length, offset);
  write->fd = fd;
  write->offset = offset;
  write->size_before = file.st_size;
  write->length = had < 0 ? 0 : (size_t)had;
  pthread_mutex_lock(&mutex);
  write->before = last;
  last = write;
  pthread_mutex_unlock(&mutex);
}

// Forgets the unsynced writes of a file, or of all (-1); `is_lost`: puts back what stood there before.
static void end_unsynced(int fd, int is_lost) {
  pthread_mutex_lock(&mutex);
  for (struct unsynced **place = &last; *place != NULL;) {
    struct unsynced *write = *place;
    if (fd != -1 && write->fd != fd) {
      place = &write->before;
      continue;
    }
    if (is_lost) {
      if (syscall(SYS_pwrite64, write->fd, write->bytes, write->length, write->offset) < 0) abort();
      if (syscall(SYS_ftruncate, write->fd, write->size_before) < 0) abort();
    }
    *place = write->before;
    free(write);
  }
  pthread_mutex_unlock(&mutex);
}

static int open_file(int at, const char *path, int flags, mode_t mode) {
  int inside = is_inside(path);
  if (inside && fault() == READ_ONLY && (flags & O_ACCMODE) != O_RDONLY) return fail(EROFS);
  int fd = (int)syscall(SYS_openat, at, path, flags, mode);
  if (fd >= 0 && fd < FDS_MAX)
    watched[fd] = !inside ? UNWATCHED : strstr(path, "-shm") != NULL ? SHARED_MEMORY : KEPT;
  return fd;
}

static mode_t mode_of(int flags, va_list more) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define OPEN(name)                                                                                                     \
  int name(const char *path, int flags, ...) {                                                                         \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    mode_t mode = mode_of(flags, more);                                                                                \
    va_end(more);                                                                                                      \
    return open_file(AT_FDCWD, path, flags, mode);                                                                     \
  }
#define OPEN_AT(name)                                                                                                  \
  int name(int at, const char *path, int flags, ...) {                                                                 \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    mode_t mode = mode_of(flags, more);                                                                                \
    va_end(more);                                                                                                      \
    return open_file(at, path, flags, mode);                                                                           \
  }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

int close(int fd) {
  if (kind_of(fd) != UNWATCHED) {
    end_unsynced(fd, 0);
    watched[fd] = UNWATCHED;
  }
  return (int)syscall(SYS_close, fd);
}

// A full disk still takes what replaces bytes that the file has; of what would make it longer it takes the first part.
static size_t room_for(int fd, size_t length, off_t offset) {
  struct stat file;
  if (fstat(fd, &file) != 0) abort();
  if (offset + (off_t)length <= file.st_size) return length;
  return offset >= file.st_size ? 0 : (size_t)(file.st_size - offset);
}

static ssize_t write_at(int fd, const void *bytes, size_t length, off_t offset) {
  int kind = kind_of(fd);
  if (kind != UNWATCHED) {
    if (fault() == READ_ONLY) return fail(EROFS);
    if (fault() == WRITE_FAILS) return fail(EIO);
    if (fault() == FULL) {
      length = room_for(fd, length, offset);
      if (length == 0) return fail(ENOSPC);
    }
    if (kind == KEPT) remember(fd, length, offset);
  }
  return syscall(SYS_pwrite64, fd, bytes, length, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return write_at(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return write_at(fd, bytes, length, offset); }

static int truncate_to(int fd, off_t length) {
  struct stat file;
  if (kind_of(fd) != UNWATCHED && fault() == READ_ONLY) return fail(EROFS);
  if (kind_of(fd) == KEPT && fstat(fd, &file) == 0 && file.st_size > length)
    remember(fd, (size_t)(file.st_size - length), length);
  return (int)syscall(SYS_ftruncate, fd, length);
}

int ftruncate(int fd, off_t length) { return truncate_to(fd, length); }
int ftruncate64(int fd, off_t length) { return truncate_to(fd, length); }

int unlink(const char *path) {
  if (is_inside(path) && fault() == READ_ONLY) return fail(EROFS);
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static void delay(void) {
  int32_t waited_ms = 0, wanted_ms;
  count(&control->hanging, 1);
  while ((wanted_ms = __atomic_load_n(&control->sync_ms, __ATOMIC_SEQ_CST)) < 0 || waited_ms < wanted_ms) {
    usleep(5000);
    waited_ms += 5;
  }
  count(&control->hanging, -1);
}

static int sync_file(long call, int fd) {
  if (kind_of(fd) == UNWATCHED) return (int)syscall(call, fd);
  delay();
  if (fault() == SYNC_FAILS) return fail(EIO);
  if (fault() == SYNC_LOSES) {
    end_unsynced(fd, 1);
    return fail(EIO);
  }
  if (fault() == POWER_CUT) {
    end_unsynced(-1, 1);
    count(&control->faults, 1);
    kill(getpid(), SIGKILL);
  }
  int answer = (int)syscall(call, fd);
  if (answer == 0) {
    end_unsynced(fd, 0);
    count(&control->syncs, 1);
  }
  return answer;
}

int fsync(int fd) { return sync_file(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_file(SYS_fdatasync, fd); }
