// A library for LD_PRELOAD that ends a process, or makes one call fail, at the N-th system call on the files of one folder.
//
// INTERRUPTER_FOLDER names the folder, and INTERRUPTER_COUNT a file with one number of 8 bytes, which counts the calls. Before
// the call INTERRUPTER_AT, the process is killed; with INTERRUPTER_ERROR, this call fails with that error instead. Without an
// error, only calls that change a file or a folder count, because the files are the same before and after other calls.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static size_t folderLength;
static uint64_t target;
static int error;
static uint64_t *counter;

#define ORIGINAL(result, name, ...) static result (*real_##name)(__VA_ARGS__)
ORIGINAL(int, open, const char *, int, ...);
ORIGINAL(ssize_t, read, int, void *, size_t);
ORIGINAL(ssize_t, pread, int, void *, size_t, off_t);
ORIGINAL(ssize_t, write, int, const void *, size_t);
ORIGINAL(ssize_t, pwrite, int, const void *, size_t, off_t);
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

static void start(void) {
    static int isStarted = 0;
    if (isStarted) return;
    isStarted = 1;
#define FIND(name) real_##name = dlsym(RTLD_NEXT, #name)
    FIND(open), FIND(read), FIND(pread), FIND(write), FIND(pwrite), FIND(writev), FIND(pwritev);
    FIND(fdatasync), FIND(fsync), FIND(msync), FIND(ftruncate), FIND(mmap), FIND(unlink), FIND(rename);
    FIND(link), FIND(mkdir), FIND(rmdir), FIND(syscall);
    const char *where = getenv("INTERRUPTER_FOLDER");
    const char *count = getenv("INTERRUPTER_COUNT");
    if (!where || !count || !realpath(where, folder)) return;
    const char *at = getenv("INTERRUPTER_AT");
    const char *code = getenv("INTERRUPTER_ERROR");
    target = at ? strtoull(at, NULL, 10) : 0;
    error = code ? atoi(code) : 0;
    int file = real_open(count, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || real_ftruncate(file, sizeof *counter) != 0) abort();
    void *map = real_mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) abort();
    close(file);
    folderLength = strlen(folder);
    counter = map;
}

__attribute__((constructor)) static void startEarly(void) { start(); }

static int isInside(const char *path) {
    return counter && path && strncmp(path, folder, folderLength) == 0
        && (path[folderLength] == '/' || path[folderLength] == 0);
}

static int isFile(int file) {
    start();
    if (!counter || file < 0) return 0;
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return isInside(path);
}

static int isPath(const char *path) {
    start();
    return isInside(path);
}

// Counts a call, and returns whether it must fail.
static int fails(int isCounted, int isChange) {
    if (!isCounted || (!isChange && !error)) return 0;
    uint64_t number = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    if (number != target) return 0;
    if (!error) kill(getpid(), SIGKILL);
    errno = error;
    return 1;
}

#define OPEN(function)                                                                      \
    int function(const char *path, int flags, ...) {                                        \
        mode_t mode = 0;                                                                    \
        if (flags & (O_CREAT | O_TMPFILE)) {                                                \
            va_list rest;                                                                   \
            va_start(rest, flags);                                                          \
            mode = va_arg(rest, mode_t);                                                    \
            va_end(rest);                                                                   \
        }                                                                                   \
        if (fails(isPath(path), flags & (O_CREAT | O_TRUNC))) return -1;                    \
        return real_open(path, flags, mode);                                                \
    }
OPEN(open)
OPEN(open64)

ssize_t read(int file, void *bytes, size_t count) {
    return fails(isFile(file), 0) ? -1 : real_read(file, bytes, count);
}
ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
    return fails(isFile(file), 0) ? -1 : real_pread(file, bytes, count, offset);
}
ssize_t pread64(int file, void *bytes, size_t count, off_t offset) {
    return pread(file, bytes, count, offset);
}
ssize_t write(int file, const void *bytes, size_t count) {
    return fails(isFile(file), 1) ? -1 : real_write(file, bytes, count);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return fails(isFile(file), 1) ? -1 : real_pwrite(file, bytes, count, offset);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
    return pwrite(file, bytes, count, offset);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
    return fails(isFile(file), 1) ? -1 : real_writev(file, parts, count);
}
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    return fails(isFile(file), 1) ? -1 : real_pwritev(file, parts, count, offset);
}
int fdatasync(int file) { return fails(isFile(file), 1) ? -1 : real_fdatasync(file); }
int fsync(int file) { return fails(isFile(file), 1) ? -1 : real_fsync(file); }
int msync(void *start_, size_t length, int flags) {
    start();
    return fails(counter != NULL, 1) ? -1 : real_msync(start_, length, flags);
}
int ftruncate(int file, off_t size) {
    return fails(isFile(file), 1) ? -1 : real_ftruncate(file, size);
}
int ftruncate64(int file, off_t size) { return ftruncate(file, size); }
void *mmap(void *address, size_t length, int rights, int flags, int file, off_t offset) {
    if (fails(isFile(file), 0)) return MAP_FAILED;
    return real_mmap(address, length, rights, flags, file, offset);
}
void *mmap64(void *address, size_t length, int rights, int flags, int file, off_t offset) {
    return mmap(address, length, rights, flags, file, offset);
}
int unlink(const char *path) { return fails(isPath(path), 1) ? -1 : real_unlink(path); }
int rename(const char *from, const char *to) {
    return fails(isPath(to), 1) ? -1 : real_rename(from, to);
}
int link(const char *from, const char *to) { return fails(isPath(to), 1) ? -1 : real_link(from, to); }
int mkdir(const char *path, mode_t mode) {
    return fails(isPath(path), 1) ? -1 : real_mkdir(path, mode);
}
int rmdir(const char *path) { return fails(isPath(path), 1) ? -1 : real_rmdir(path); }

// The system calls that the tool makes by number: renames that replace no file, and reservations of space for files.
long syscall(long number, ...) {
    start();
    va_list rest;
    va_start(rest, number);
    long words[6];
    for (int index = 0; index < 6; index++) words[index] = va_arg(rest, long);
    va_end(rest);
    int isCounted = (number == SYS_renameat2 && isInside((const char *)words[3]))
        || (number == SYS_fallocate && isFile((int)words[0]));
    if (fails(isCounted, 1)) return -1;
    return real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
