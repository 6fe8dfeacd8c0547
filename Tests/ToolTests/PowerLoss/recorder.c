// A library for LD_PRELOAD that records the writes of a process to the files of one folder, and its flushes.
//
// RECORDER_FOLDER names the folder, RECORDER_TRACE the file to which records are appended. Several processes may append to
// one file: a lock on it is held while a call is made and its record is written, so that the records have the order of
// the calls' effects. A process acknowledges a commit by reading the environment variable `ACKNOWLEDGE:number`.
//
// A record is struct head, then `count` bytes. WriteTrace.swift reads it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { mostFiles = 4096, highFile = 900 };

struct __attribute__((packed)) head {
    uint8_t kind;
    uint32_t process;
    uint64_t file;   // its inode
    uint64_t first;  // an offset, a size or a number
    uint64_t second;
    uint32_t count;
};

static char folder[PATH_MAX];
static size_t folderLength;
static int trace = -1;
static int lockFile = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
// By descriptor: the inode of a file in the folder, 0 for others, and whether each write waits for the device.
static uint64_t inodes[mostFiles];
static uint8_t isSynchronous[mostFiles];

#define ORIGINAL(result, name, ...) static result (*real_##name)(__VA_ARGS__)
ORIGINAL(int, open, const char *, int, ...);
ORIGINAL(int, close, int);
ORIGINAL(ssize_t, write, int, const void *, size_t);
ORIGINAL(ssize_t, pwrite, int, const void *, size_t, off_t);
ORIGINAL(ssize_t, writev, int, const struct iovec *, int);
ORIGINAL(ssize_t, pwritev, int, const struct iovec *, int, off_t);
ORIGINAL(int, fdatasync, int);
ORIGINAL(int, fsync, int);
ORIGINAL(int, ftruncate, int, off_t);
ORIGINAL(int, unlink, const char *);
ORIGINAL(int, rename, const char *, const char *);
ORIGINAL(int, link, const char *, const char *);
ORIGINAL(long, syscall, long, ...);
ORIGINAL(char *, getenv, const char *);

static int moved(int file) {
    int high = fcntl(file, F_DUPFD_CLOEXEC, highFile);
    real_close(file);
    return high;
}

static void start(void) {
    static int isStarted = 0;
    if (isStarted) return;
    isStarted = 1;
#define FIND(name) real_##name = dlsym(RTLD_NEXT, #name)
    FIND(open), FIND(close), FIND(write), FIND(pwrite), FIND(writev), FIND(pwritev), FIND(fdatasync);
    FIND(fsync), FIND(ftruncate), FIND(unlink), FIND(rename), FIND(link), FIND(syscall), FIND(getenv);
    const char *where = real_getenv("RECORDER_FOLDER");
    const char *path = real_getenv("RECORDER_TRACE");
    if (!where || !path || !realpath(where, folder)) return;
    folderLength = strlen(folder);
    int file = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int lock = real_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || lock < 0) abort();
    lockFile = moved(lock);
    trace = moved(file);
}

__attribute__((constructor)) static void startEarly(void) { start(); }

static void enter(void) {
    pthread_mutex_lock(&mutex);
    flock(lockFile, LOCK_EX);
}

static void leave(void) {
    flock(lockFile, LOCK_UN);
    pthread_mutex_unlock(&mutex);
}

static void record(
    uint8_t kind, uint64_t file, uint64_t first, uint64_t second, const void *bytes, size_t count) {
    int code = errno;
    struct head head = {kind, (uint32_t)getpid(), file, first, second, (uint32_t)count};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)bytes, count}};
    if (real_writev(trace, parts, 2) != (ssize_t)(sizeof head + count)) abort();
    errno = code;
}

static int isRecorded(int file) { return trace >= 0 && file >= 0 && file < mostFiles && inodes[file]; }

static int isInside(const char *path) {
    return trace >= 0 && path && strncmp(path, folder, folderLength) == 0
        && (path[folderLength] == '/' || path[folderLength] == 0);
}

static const char *name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// MARK: Files

static int openFile(const char *path, int flags, mode_t mode) {
    start();
    if (!isInside(path)) {
        int file = real_open(path, flags, mode);
        if (file >= 0 && file < mostFiles) inodes[file] = 0;
        return file;
    }
    enter();
    int isNew = flags & O_CREAT && access(path, F_OK) != 0;
    int file = real_open(path, flags, mode);
    struct stat status;
    if (file >= mostFiles) abort();
    if (file >= 0 && fstat(file, &status) == 0) {
        inodes[file] = status.st_ino;
        isSynchronous[file] = (flags & O_DSYNC) != 0;
        record(
            'o', status.st_ino, (flags & O_TRUNC) != 0, isNew | (S_ISDIR(status.st_mode) ? 2 : 0),
            name(path), strlen(name(path)));
    }
    leave();
    return file;
}

#define OPEN(function)                                   \
    int function(const char *path, int flags, ...) {     \
        mode_t mode = 0;                                 \
        if (flags & (O_CREAT | O_TMPFILE)) {             \
            va_list rest;                                \
            va_start(rest, flags);                       \
            mode = va_arg(rest, mode_t);                 \
            va_end(rest);                                \
        }                                                \
        return openFile(path, flags, mode);              \
    }
OPEN(open)
OPEN(open64)

int close(int file) {
    start();
    if (file >= 0 && (file == trace || file == lockFile)) return 0;
    if (file >= 0 && file < mostFiles) inodes[file] = 0;
    return real_close(file);
}

// MARK: Writes

static void recordWrite(int file, const void *bytes, size_t count, off_t offset) {
    record(isSynchronous[file] ? 'W' : 'w', inodes[file], (uint64_t)offset, 0, bytes, count);
}

static ssize_t writeParts(int file, const struct iovec *parts, int count, off_t offset, int isAt) {
    enter();
    if (!isAt) offset = lseek(file, 0, SEEK_CUR);
    ssize_t written =
        isAt ? real_pwritev(file, parts, count, offset) : real_writev(file, parts, count);
    ssize_t rest = written;
    for (int index = 0; index < count && rest > 0; index++) {
        ssize_t part = (ssize_t)parts[index].iov_len < rest ? (ssize_t)parts[index].iov_len : rest;
        recordWrite(file, parts[index].iov_base, (size_t)part, offset);
        offset += part;
        rest -= part;
    }
    leave();
    return written;
}

ssize_t write(int file, const void *bytes, size_t count) {
    start();
    if (!isRecorded(file)) return real_write(file, bytes, count);
    struct iovec part = {(void *)bytes, count};
    return writeParts(file, &part, 1, 0, 0);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    start();
    if (!isRecorded(file)) return real_pwrite(file, bytes, count, offset);
    struct iovec part = {(void *)bytes, count};
    return writeParts(file, &part, 1, offset, 1);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
    return pwrite(file, bytes, count, offset);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    start();
    if (!isRecorded(file)) return real_writev(file, parts, count);
    return writeParts(file, parts, count, 0, 0);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    start();
    if (!isRecorded(file)) return real_pwritev(file, parts, count, offset);
    return writeParts(file, parts, count, offset, 1);
}

int ftruncate(int file, off_t size) {
    start();
    if (!isRecorded(file)) return real_ftruncate(file, size);
    enter();
    int code = real_ftruncate(file, size);
    if (code == 0) record('t', inodes[file], (uint64_t)size, 0, 0, 0);
    leave();
    return code;
}

int ftruncate64(int file, off_t size) { return ftruncate(file, size); }

// MARK: Flushes

static int flush(int file, int (*call)(int)) {
    static uint64_t last = 0;
    if (!isRecorded(file)) return call(file);
    uint64_t inode = inodes[file];
    enter();
    uint64_t number = ++last;
    record('s', inode, number, 0, 0, 0);
    leave();
    int code = call(file);
    if (code == 0) {
        enter();
        record('S', inode, number, 0, 0, 0);
        leave();
    }
    return code;
}

int fdatasync(int file) {
    start();
    return flush(file, real_fdatasync);
}

int fsync(int file) {
    start();
    return flush(file, real_fsync);
}

// MARK: Names

int unlink(const char *path) {
    start();
    if (!isInside(path)) return real_unlink(path);
    enter();
    int code = real_unlink(path);
    if (code == 0) record('u', 0, 0, 0, name(path), strlen(name(path)));
    leave();
    return code;
}

static void recordRename(const char *from, const char *to) {
    struct stat status;
    if (lstat(to, &status) != 0) abort();
    char names[2 * NAME_MAX + 2];
    int count = snprintf(names, sizeof names, "%s\n%s", name(from), name(to));
    record('r', status.st_ino, 0, 0, names, (size_t)count);
}

int rename(const char *from, const char *to) {
    start();
    if (!isInside(to)) return real_rename(from, to);
    enter();
    int code = real_rename(from, to);
    if (code == 0) recordRename(from, to);
    leave();
    return code;
}

int link(const char *from, const char *to) {
    start();
    if (!isInside(to)) return real_link(from, to);
    enter();
    int code = real_link(from, to);
    struct stat status;
    if (code == 0 && lstat(to, &status) == 0)
        record('l', status.st_ino, 0, 0, name(to), strlen(name(to)));
    leave();
    return code;
}

// The system calls that the tool makes by number: renames that replace no file, and reservations of
// space for files.
long syscall(long number, ...) {
    start();
    va_list rest;
    va_start(rest, number);
    long words[6];
    for (int index = 0; index < 6; index++) words[index] = va_arg(rest, long);
    va_end(rest);
    int isRename = number == SYS_renameat2 && isInside((const char *)words[3]);
    int isReservation = number == SYS_fallocate && isRecorded((int)words[0]);
    if (isRename || isReservation) enter();
    long result =
        real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    if (result == 0 && isRename) recordRename((const char *)words[1], (const char *)words[3]);
    if (result == 0 && isReservation && ((int)words[1] & FALLOC_FL_KEEP_SIZE) == 0)
        record('e', inodes[(int)words[0]], (uint64_t)(words[2] + words[3]), 0, 0, 0);
    if (isRename || isReservation) leave();
    return result;
}

// MARK: Acknowledgements

char *getenv(const char *variable) {
    start();
    static const char mark[] = "ACKNOWLEDGE:";
    if (trace < 0 || strncmp(variable, mark, sizeof mark - 1) != 0) return real_getenv(variable);
    enter();
    record('A', 0, strtoull(variable + sizeof mark - 1, 0, 10), 0, 0, 0);
    leave();
    return 0;
}
