#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reading a page of a mapped file raises SIGBUS if another program has truncated the file, or its device has failed. The
   handler of the signal puts a page without content there, so that the read continues: no value has its checksum, and no
   transaction of the file begins or commits afterward. It may call little besides system calls. */

enum { SHIM_LOST_PAGES_MAPS = 256 };

/* The map of a data file. */
struct shim_lost_pages_map {
    atomic_uintptr_t begin, end;
    atomic_int has_lost;
};

struct shim_lost_pages {
    struct shim_lost_pages_map maps[SHIM_LOST_PAGES_MAPS];
    struct sigaction previous;
    atomic_flag is_installed;
};

static inline struct shim_lost_pages *shim_lost_pages_state(void) {
    static struct shim_lost_pages state = { .is_installed = ATOMIC_FLAG_INIT };
    return &state;
}

static inline const char *shim_lost_pages_number(const char *text, uintptr_t *number) {
    for (*number = 0; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
        *number = *number * 16 + (uintptr_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    return text;
}

/* Whether a lock file is mapped at an address; LMDB does not tell where it maps it. A line of the system's table of
   mappings is `begin-end rights offset device inode  path`, with numbers without 0x. */
static inline int shim_lost_pages_is_lock(uintptr_t address) {
    int table = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), is_lock = 0;
    if (table < 0) return 0;
    char line[4352];
    size_t used = 0;
    while (!is_lock && read(table, line + used, 1) == 1) {
        if (line[used] != '\n') {
            if (used + 2 < sizeof line) used++;
            continue;
        }
        line[used] = 0;
        uintptr_t begin, end;
        shim_lost_pages_number(shim_lost_pages_number(line, &begin) + 1, &end);
        is_lock = address >= begin && address < end && used > 5 && strcmp(line + used - 5, "-lock") == 0;
        used = 0;
    }
    close(table);
    return is_lock;
}

/* Puts a page of zeros at an address, or for a data file an empty leaf page, in which LMDB finds no entries: its flag, and
   the bounds of its free space, at offset 10. Other threads see the page only when it is complete. */
static inline int shim_lost_pages_replace(uintptr_t address, int is_lock) {
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 0;
    uint16_t head[] = { 2, 16, (uint16_t)size };
    if (!is_lock) memcpy(page + 10, head, sizeof head);
    /* MREMAP_MAYMOVE | MREMAP_FIXED, which the C library declares only with _GNU_SOURCE */
    return syscall(SYS_mremap, page, size, size, 3, address & ~(size - 1)) != -1;
}

static inline void shim_lost_pages_handle(int number, siginfo_t *info, void *context) {
    struct shim_lost_pages *state = shim_lost_pages_state();
    uintptr_t address = (uintptr_t)info->si_addr;
    int is_known = 0;
    for (int slot = 0; slot < SHIM_LOST_PAGES_MAPS && !is_known; slot++) {
        struct shim_lost_pages_map *map = &state->maps[slot];
        is_known = address >= atomic_load(&map->begin) && address < atomic_load(&map->end);
        if (is_known) atomic_store(&map->has_lost, 1);
    }
    if ((is_known || shim_lost_pages_is_lock(address)) && shim_lost_pages_replace(address, !is_known)) return;
    /* The host's handler is called; without one, the signal is raised again and takes the default action. */
    if (state->previous.sa_flags & SA_SIGINFO) state->previous.sa_sigaction(number, info, context);
    else if (state->previous.sa_handler != SIG_DFL && state->previous.sa_handler != SIG_IGN)
        state->previous.sa_handler(number);
    else sigaction(number, &state->previous, NULL);
}

/* Protects the map of a data file until `shim_lost_pages_end`. Returns its slot, or a negative number if too many files
   are open. */
static inline int shim_lost_pages_begin(const void *begin, size_t size) {
    struct shim_lost_pages *state = shim_lost_pages_state();
    if (!atomic_flag_test_and_set(&state->is_installed)) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = shim_lost_pages_handle;
        action.sa_flags = SA_SIGINFO;
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &state->previous);
    }
    for (int slot = 0; slot < SHIM_LOST_PAGES_MAPS; slot++) {
        uintptr_t none = 0;
        struct shim_lost_pages_map *map = &state->maps[slot];
        if (!atomic_compare_exchange_strong(&map->begin, &none, (uintptr_t)begin)) continue;
        atomic_store(&map->has_lost, 0);
        atomic_store(&map->end, (uintptr_t)begin + size);
        return slot;
    }
    return -1;
}

static inline void shim_lost_pages_end(int slot) {
    struct shim_lost_pages_map *map = &shim_lost_pages_state()->maps[slot];
    atomic_store(&map->end, 0);
    atomic_store(&map->begin, 0);
}

/* Whether a page of a protected map was lost. */
static inline int shim_lost_pages_has_lost(int slot) {
    return atomic_load_explicit(&shim_lost_pages_state()->maps[slot].has_lost, memory_order_relaxed);
}
