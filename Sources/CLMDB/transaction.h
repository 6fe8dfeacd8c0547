#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An entry of LMDB's list of changed pages; the first one has the number of the others. */
struct shim_dirty_page {
    size_t number;
    void *page;
};

/* LMDB's transaction struct in all releases of 0.9 (0.9.70 and later are a different branch). */
struct shim_transaction {
    void *parent;
    void *child;
    /* The number of the first page that no transaction has used. */
    size_t next_page;
    size_t version;
    void *environment;
    void *free_pages;
    void *loose_pages;
    int loose_count;
    /* The changed pages that were written to the file before the commit: their count, then their numbers. */
    size_t *spilled_pages;
    struct shim_dirty_page *dirty_pages;
    void *names;
    void *tables;
    void *sequences;
    void *cursors;
    void *table_flags;
    unsigned table_count;
    unsigned flags;
    /* The number of pages that the list of changed pages has space for. */
    unsigned dirty_space;
};

/* Whether the loaded library is one of these releases, and recent enough for writes to the map: older releases
   mishandle pages that such a write both allocates and frees (LMDB's issue ITS#9007). */
static inline int shim_knows_transactions(void) {
    int major, minor, patch;
    mdb_version(&major, &minor, &patch);
    return major == 0 && minor == 9 && patch >= 24 && patch < 70;
}

static inline size_t shim_next_page(const MDB_txn *transaction) {
    return ((const struct shim_transaction *)transaction)->next_page;
}

static inline size_t shim_version(const MDB_txn *transaction) {
    return ((const struct shim_transaction *)transaction)->version;
}

/* The greatest number of pages that LMDB keeps in memory. */
enum { shim_most_dirty_pages = (1 << 17) - 1 };

/* Whether a write transaction has the layout of the struct above; only before its first change. */
static inline int shim_knows_dirty_pages(const MDB_txn *transaction) {
    const struct shim_transaction *begun = (const struct shim_transaction *)transaction;
    return shim_knows_transactions() && begun->version == mdb_txn_id((MDB_txn *)transaction)
        && begun->environment == mdb_txn_env((MDB_txn *)transaction)
        && begun->dirty_space == shim_most_dirty_pages && !begun->spilled_pages && !begun->loose_pages
        && begun->dirty_pages && begun->dirty_pages[0].number == 0;
}

static inline size_t shim_dirty_page_count(const MDB_txn *transaction) {
    return ((const struct shim_transaction *)transaction)->dirty_pages[0].number;
}

static inline unsigned shim_dirty_space(const MDB_txn *transaction) {
    return ((const struct shim_transaction *)transaction)->dirty_space;
}

static inline void shim_set_dirty_space(MDB_txn *transaction, unsigned space) {
    ((struct shim_transaction *)transaction)->dirty_space = space;
}

/* The number of pages that the changed values with their own pages take in addition to one each. */
static inline size_t shim_long_dirty_pages(const MDB_txn *transaction) {
    const struct shim_dirty_page *list = ((const struct shim_transaction *)transaction)->dirty_pages;
    size_t sum = 0;
    for (size_t index = 1; index <= list[0].number; index++) {
        const unsigned char *page = list[index].page;
        unsigned short flags;
        unsigned count;
        memcpy(&flags, page + 10, sizeof flags);
        memcpy(&count, page + 12, sizeof count);
        /* P_OVERFLOW is 4. */
        if (flags & 4 && count > 0) sum += count - 1;
    }
    return sum;
}

/* Creates a list of spilled pages that has space for `count` of them, if there is none; LMDB creates one for all that it
   keeps in memory, and releases before 0.9.25 do not free it. */
static inline void shim_prepare_spilling(MDB_txn *transaction, size_t count) {
    struct shim_transaction *begun = (struct shim_transaction *)transaction;
    if (begun->spilled_pages) return;
    size_t *list = malloc((count + 2) * sizeof *list);
    if (!list) return;
    list[0] = count;
    list[1] = 0;
    begun->spilled_pages = list + 1;
}
