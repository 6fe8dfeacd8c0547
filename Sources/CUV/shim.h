#include "localsocket.h"
#include <pthread.h>
#include <stdio.h>
#include <uv.h>

#ifdef __linux__
/* glibc declares it under _GNU_SOURCE only, which an importer cannot set for a header that is already read. */
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pthread_getname_np(pthread_t thread, char *name, size_t size);

static inline int shim_name_current_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }
#else
static inline int shim_name_current_thread(const char *name) { return pthread_setname_np(name); }
#endif

static inline int shim_current_thread_name(char *name, size_t size) {
    return pthread_getname_np(pthread_self(), name, size);
}

/* One piece of output: no other thread's comes between its bytes. */
static inline void shim_print(const void *bytes, size_t count) {
    fwrite(bytes, 1, count, stdout);
    fflush(stdout);
}
