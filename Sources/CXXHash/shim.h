#include <xxhash.h>

#if defined(__linux__) && defined(__x86_64__)
/* The functions for the vector instructions of this processor; NULL if libxxhash was built without them. */
extern XXH64_hash_t XXH3_64bits_dispatch(const void *input, size_t length) __attribute__((weak));
#endif

/* XXH3 of 64 bits. Inputs of at most 240 bytes are processed without vector instructions. */
static inline XXH64_hash_t shim_xxh3(const void *input, size_t length) {
#if defined(__linux__) && defined(__x86_64__)
    if (length > 240 && XXH3_64bits_dispatch) return XXH3_64bits_dispatch(input, length);
#endif
    return XXH3_64bits(input, length);
}
