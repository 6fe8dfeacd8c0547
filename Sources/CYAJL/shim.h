#include <yajl/yajl_gen.h>
#include <yajl/yajl_parse.h>

/* Swift cannot call variadic functions. */
static inline int shim_allow_multiple_values(yajl_handle handle) {
    return yajl_config(handle, yajl_allow_multiple_values, 1);
}
