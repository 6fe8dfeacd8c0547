#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <fcntl.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* Returns the free memory of the process's heap to the system, if the library can do so. */
static inline void shim_return_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Allocates space on the device and returns the system's error code. Existing data is kept. */
static inline int shim_allocate(int file, int keeps_size, off_t start, off_t count) {
    /* FALLOC_FL_KEEP_SIZE is 1. Called by number, because glibc declares the function only under _GNU_SOURCE. */
    while (syscall(SYS_fallocate, file, keeps_size ? 1 : 0, start, count) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

/* Whether allocated blocks of a file keep their addresses on the device, as on ext4 and tmpfs. XFS shares the blocks of
   copied files and allocates new ones when either file is written. */
static inline int shim_keeps_places(int file) {
    struct statfs system;
    if (fstatfs(file, &system) != 0) return 0;
    return system.f_type == 0xEF53 || system.f_type == 0x01021994;
}

/* Renames a file unless the new name exists, and returns the system's error code. RENAME_NOREPLACE is 1. */
static inline int shim_rename_exclusively(const char *from, const char *to) {
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1) == 0 ? 0 : errno;
}

/* Creates a file in memory without a path; returns a negative value if the system has none. MFD_CLOEXEC is 1. */
static inline int shim_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1);
}

/* Creates a file without a path in a folder; returns a negative value if the file system does not support that. */
static inline int shim_unnamed_file(const char *folder) {
    return open(folder, O_RDWR | O_CLOEXEC | O_DIRECTORY | 020000000, 0600);
}

/* The device, inode and size of the file at a path. */
struct shim_identity {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t blocks;  /* of 512 bytes */
};

/* Looks up a path without reading the times of the file. A system with fine-grained times updates them at the next write
   after they were read, and each flush then writes the file's metadata too, which takes a third longer. */
static inline int shim_look_up(const char *path, int follows_links, struct shim_identity *found) {
#ifdef SYS_statx
    /* The layout of the system's struct statx, of which 256 bytes are filled. */
    struct {
        uint32_t mask, block_size;
        uint64_t attributes;
        uint32_t links, user, group;
        uint16_t mode, unused;
        uint64_t inode, size, blocks, known_attributes;
        struct { int64_t seconds; uint32_t nanoseconds; int32_t unused; } times[4];
        uint32_t kind_major, kind_minor, device_major, device_minor;
        uint64_t rest[14];
    } state;
    /* AT_SYMLINK_NOFOLLOW is 0x100; STATX_TYPE, STATX_INO, STATX_SIZE and STATX_BLOCKS are 1, 0x100, 0x200 and 0x400. */
    if (syscall(SYS_statx, AT_FDCWD, path, follows_links ? 0 : 0x100, 0x701, &state) == 0) {
        found->device = makedev(state.device_major, state.device_minor);
        found->inode = state.inode;
        found->size = (int64_t)state.size;
        found->blocks = (int64_t)state.blocks;
        return 0;
    }
    if (errno != ENOSYS) return -1;
#endif
    struct stat status;
    if ((follows_links ? stat(path, &status) : lstat(path, &status)) != 0) return -1;
    *found = (struct shim_identity){ status.st_dev, status.st_ino, status.st_size, status.st_blocks };
    return 0;
}
#else
struct shim_identity {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t blocks;  /* of 512 bytes */
};

static inline int shim_look_up(const char *path, int follows_links, struct shim_identity *found) {
    struct stat status;
    if ((follows_links ? stat(path, &status) : lstat(path, &status)) != 0) return -1;
    *found = (struct shim_identity){ status.st_dev, status.st_ino, status.st_size, status.st_blocks };
    return 0;
}

static inline int shim_rename_exclusively(const char *from, const char *to) { return ENOSYS; }

static inline int shim_memory_file(const char *name) { return -1; }

static inline int shim_unnamed_file(const char *folder) { return -1; }

static inline void shim_return_memory(void) {}

static inline int shim_allocate(int file, int keeps_size, off_t start, off_t count) {
    return ENOTSUP;
}

static inline int shim_keeps_places(int file) { return 0; }
#endif
