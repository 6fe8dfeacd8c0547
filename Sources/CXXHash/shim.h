#include <xxhash.h>

#if defined(__linux__) && defined(__x86_64__)
/* The functions for the vector instructions of this processor; NULL if libxxhash was built without them. */
extern XXH64_hash_t XXH3_64bits_dispatch(const void *input, size_t length) __attribute__((weak));

/* Clears the upper halves of the vector registers, which libxxhash 0.8.1 leaves set. Until then, all code with SSE
   instructions takes up to a fifth longer. */
__attribute__((target("avx"))) static inline void shim_clear_upper_halves(void) {
    __builtin_ia32_vzeroupper();
}
#endif

/* XXH3 of 64 bits. Inputs of at most 240 bytes are processed without vector instructions. */
static inline XXH64_hash_t shim_xxh3(const void *input, size_t length) {
#if defined(__linux__) && defined(__x86_64__)
    if (length > 240 && XXH3_64bits_dispatch && __builtin_cpu_supports("avx")) {
        XXH64_hash_t hash = XXH3_64bits_dispatch(input, length);
        shim_clear_upper_halves();
        return hash;
    }
#endif
    return XXH3_64bits(input, length);
}
