#include <zlib.h>

/* The functions' real names are hidden behind macros that Swift cannot see. 47 = any window size, gzip or zlib header;
   31 = the largest window, gzip header. */
static inline int shim_deflate_begin(z_stream *stream) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
}

static inline int shim_inflate_begin(z_stream *stream) {
    return inflateInit2(stream, 47);
}
