// A library for LD_PRELOAD that watches the system calls of a process on the files of one folder, FILECALLS_FOLDER.
//
// FILECALLS_TRACE names a file to which the changes of files and flushes are appended as records. Several processes may
// append to one file: a lock on it is held while a call is made and its record is written, so that the records have the
// order of the calls' effects. A process acknowledges a commit by reading the environment variable `ACKNOWLEDGE:number`.
// A record is struct head, then `count` bytes. WriteTrace.swift reads it.
//
// FILECALLS_COUNT names a file with one number of 8 bytes, which counts the calls. Before the call FILECALLS_AT, the process
// is killed; with FILECALLS_ERROR, this call fails with that error instead. FILECALLS_KIND selects the calls that count: those
// that `change` a file or a folder, those that only `read`, or `all`.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct __attribute__((packed)) head {
    uint8_t kind;
    uint32_t process;
    uint64_t file;   // its inode
    uint64_t first;  // an offset, a size or a number
    uint64_t second;
    uint32_t count;
};

enum { highFile = 900 };
enum kind { isRead = 1, isChange = 2 };

static char folder[PATH_MAX];
static size_t folderLength;
static int trace = -1, lockFile = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *counter;
static uint64_t target;
static int error, countedKinds;

#define ORIGINAL(result, name, ...) static result (*real_##name)(__VA_ARGS__)
ORIGINAL(int, open, const char *, int, ...);
ORIGINAL(int, close, int);
ORIGINAL(ssize_t, read, int, void *, size_t);
ORIGINAL(ssize_t, pread, int, void *, size_t, off_t);
ORIGINAL(ssize_t, writev, int, const struct iovec *, int);
ORIGINAL(ssize_t, pwritev, int, const struct iovec *, int, off_t);
ORIGINAL(int, fdatasync, int);
ORIGINAL(int, fsync, int);
ORIGINAL(int, msync, void *, size_t, int);
ORIGINAL(int, ftruncate, int, off_t);
ORIGINAL(void *, mmap, void *, size_t, int, int, int, off_t);
ORIGINAL(int, unlink, const char *);
ORIGINAL(int, rename, const char *, const char *);
ORIGINAL(int, link, const char *, const char *);
ORIGINAL(int, mkdir, const char *, mode_t);
ORIGINAL(int, rmdir, const char *);
ORIGINAL(long, syscall, long, ...);
ORIGINAL(char *, getenv, const char *);

static int moved(int file) {
    int high = fcntl(file, F_DUPFD_CLOEXEC, highFile);
    real_close(file);
    return high;
}

static void startTrace(const char *path) {
    int file = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int lock = real_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || lock < 0) abort();
    lockFile = moved(lock);
    trace = moved(file);
}

static void startCounter(const char *path) {
    const char *at = real_getenv("FILECALLS_AT"), *code = real_getenv("FILECALLS_ERROR");
    const char *kind = real_getenv("FILECALLS_KIND");
    target = at ? strtoull(at, NULL, 10) : 0;
    error = code ? atoi(code) : 0;
    countedKinds = !kind || strcmp(kind, "change") == 0 ? isChange
        : strcmp(kind, "read") == 0 ? isRead : isRead | isChange;
    int file = real_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || real_ftruncate(file, sizeof *counter) != 0) abort();
    void *map = real_mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) abort();
    real_close(file);
    counter = map;
}

static void start(void) {
    static int isStarted = 0;
    if (isStarted) return;
    isStarted = 1;
#define FIND(name) real_##name = dlsym(RTLD_NEXT, #name)
    FIND(open), FIND(close), FIND(read), FIND(pread), FIND(writev), FIND(pwritev), FIND(fdatasync);
    FIND(fsync), FIND(msync), FIND(ftruncate), FIND(mmap), FIND(unlink), FIND(rename), FIND(link);
    FIND(mkdir), FIND(rmdir), FIND(syscall), FIND(getenv);
    const char *where = real_getenv("FILECALLS_FOLDER");
    if (!where || !realpath(where, folder)) return;
    folderLength = strlen(folder);
    const char *tracePath = real_getenv("FILECALLS_TRACE"), *count = real_getenv("FILECALLS_COUNT");
    if (tracePath) startTrace(tracePath);
    if (count) startCounter(count);
}

__attribute__((constructor)) static void startEarly(void) { start(); }

static int isInside(const char *path) {
    start();
    return folderLength && path && strncmp(path, folder, folderLength) == 0
        && (path[folderLength] == '/' || path[folderLength] == 0);
}

static int isFile(int file) {
    start();
    if (!folderLength || file < 0) return 0;
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    int code = errno;
    ssize_t length = readlink(name, path, sizeof path - 1);
    errno = code;
    if (length <= 0) return 0;
    path[length] = 0;
    return isInside(path);
}

// Counts a call, and returns whether it must fail.
static int fails(int isWatched, enum kind kind) {
    if (!counter || !isWatched || !(kind & countedKinds)) return 0;
    if (__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST) != target) return 0;
    if (!error) kill(getpid(), SIGKILL);
    errno = error;
    return 1;
}

// MARK: Records

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

static uint64_t inode(int file) {
    struct stat status;
    if (fstat(file, &status) != 0) abort();
    return status.st_ino;
}

static void recordName(uint8_t kind, uint64_t file, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    record(kind, file, 0, 0, name, strlen(name));
}

static void recordRename(const char *from, const char *to) {
    struct stat status;
    if (lstat(to, &status) != 0) abort();
    char names[2 * NAME_MAX + 2];
    const char *first = strrchr(from, '/'), *second = strrchr(to, '/');
    int count = snprintf(
        names, sizeof names, "%s\n%s", first ? first + 1 : from, second ? second + 1 : to);
    record('r', status.st_ino, 0, 0, names, (size_t)count);
}

// Makes a call that changes something, under the lock of the trace, and records it if it succeeds.
#define CHANGE(isWatched, call, recording)         \
    do {                                           \
        int isWatched_ = (isWatched);              \
        if (fails(isWatched_, isChange)) return -1; \
        if (!isWatched_ || trace < 0) return call; \
        enter();                                   \
        __typeof__(call) result = call;            \
        if (result >= 0) { recording; }            \
        leave();                                   \
        return result;                             \
    } while (0)

// MARK: Files

static int openFile(const char *path, int flags, mode_t mode) {
    if (!isInside(path)) return real_open(path, flags, mode);
    if (fails(1, flags & (O_CREAT | O_TRUNC) ? isChange : isRead)) return -1;
    if (trace < 0) return real_open(path, flags, mode);
    enter();
    int isNew = flags & O_CREAT && access(path, F_OK) != 0;
    int file = real_open(path, flags, mode);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0) {
        const char *name = strrchr(path, '/') + 1;
        int kind = isNew | (S_ISDIR(status.st_mode) ? 2 : 0);
        record('o', status.st_ino, (flags & O_TRUNC) != 0, kind, name, strlen(name));
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
    return file >= 0 && (file == trace || file == lockFile) ? 0 : real_close(file);
}

ssize_t read(int file, void *bytes, size_t count) {
    return fails(isFile(file), isRead) ? -1 : real_read(file, bytes, count);
}
ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
    return fails(isFile(file), isRead) ? -1 : real_pread(file, bytes, count, offset);
}
ssize_t pread64(int file, void *bytes, size_t count, off_t offset) {
    return pread(file, bytes, count, offset);
}
void *mmap(void *address, size_t length, int rights, int flags, int file, off_t offset) {
    start();
    if (fails(isFile(file), isRead)) return MAP_FAILED;
    return real_mmap(address, length, rights, flags, file, offset);
}
void *mmap64(void *address, size_t length, int rights, int flags, int file, off_t offset) {
    return mmap(address, length, rights, flags, file, offset);
}

// MARK: Writes

static void recordParts(
    int file, const struct iovec *parts, int count, off_t offset, ssize_t written) {
    uint8_t kind = fcntl(file, F_GETFL) & O_DSYNC ? 'W' : 'w';
    for (int index = 0; index < count && written > 0; index++) {
        ssize_t part =
            (ssize_t)parts[index].iov_len < written ? (ssize_t)parts[index].iov_len : written;
        record(kind, inode(file), (uint64_t)offset, 0, parts[index].iov_base, (size_t)part);
        offset += part;
        written -= part;
    }
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    CHANGE(
        isFile(file), real_writev(file, parts, count),
        recordParts(file, parts, count, lseek(file, 0, SEEK_CUR) - result, result));
}
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    CHANGE(
        isFile(file), real_pwritev(file, parts, count, offset),
        recordParts(file, parts, count, offset, result));
}
ssize_t write(int file, const void *bytes, size_t count) {
    struct iovec part = {(void *)bytes, count};
    return writev(file, &part, 1);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    struct iovec part = {(void *)bytes, count};
    return pwritev(file, &part, 1, offset);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
    return pwrite(file, bytes, count, offset);
}
int ftruncate(int file, off_t size) {
    CHANGE(
        isFile(file), real_ftruncate(file, size),
        record('t', inode(file), (uint64_t)size, 0, 0, 0));
}
int ftruncate64(int file, off_t size) { return ftruncate(file, size); }

// MARK: Flushes

// Between the two records of a flush, other calls may follow.
static int flush(int file, int (*call)(int)) {
    static uint64_t last = 0;
    int isWatched = isFile(file);
    if (fails(isWatched, isChange)) return -1;
    if (!isWatched || trace < 0) return call(file);
    enter();
    uint64_t number = ++last;
    record('s', inode(file), number, 0, 0, 0);
    leave();
    int code = call(file);
    enter();
    if (code == 0) record('S', inode(file), number, 0, 0, 0);
    leave();
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
int msync(void *bytes, size_t length, int flags) {
    start();
    return fails(1, isChange) ? -1 : real_msync(bytes, length, flags);
}

// MARK: Names

int unlink(const char *path) {
    CHANGE(isInside(path), real_unlink(path), recordName('u', 0, path));
}
int rename(const char *from, const char *to) {
    CHANGE(isInside(to), real_rename(from, to), recordRename(from, to));
}
int link(const char *from, const char *to) {
    struct stat status;
    CHANGE(
        isInside(to), real_link(from, to),
        if (lstat(to, &status) == 0) recordName('l', status.st_ino, to));
}
int mkdir(const char *path, mode_t mode) {
    return fails(isInside(path), isChange) ? -1 : real_mkdir(path, mode);
}
int rmdir(const char *path) { return fails(isInside(path), isChange) ? -1 : real_rmdir(path); }

// The system calls that the tool makes by number: renames that replace no file, and reservations of space for files.
long syscall(long number, ...) {
    start();
    va_list rest;
    va_start(rest, number);
    long words[6];
    for (int index = 0; index < 6; index++) words[index] = va_arg(rest, long);
    va_end(rest);
    int isRename = number == SYS_renameat2 && isInside((const char *)words[3]);
    int isReservation = number == SYS_fallocate && isFile((int)words[0]);
    CHANGE(
        isRename || isReservation,
        real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]),
        if (isRename) recordRename((const char *)words[1], (const char *)words[3]);
        else if (((int)words[1] & FALLOC_FL_KEEP_SIZE) == 0)
            record('e', inode((int)words[0]), (uint64_t)(words[2] + words[3]), 0, 0, 0));
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
