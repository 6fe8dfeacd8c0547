#include <stddef.h>

/* The beginning of LMDB's transaction struct in all releases of 0.9 (0.9.70 and later are a different branch). */
struct shim_transaction {
    void *parent;
    void *child;
    /* The number of the first page that no transaction has used. */
    size_t next_page;
    size_t version;
};

/* Whether the loaded library is such a release, and recent enough to handle pages correctly that a write allocates and
   frees while it writes to the map (its ITS#9007). */
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
