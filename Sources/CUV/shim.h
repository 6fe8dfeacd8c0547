#include "localsocket.h"
#include <pthread.h>
#include <stdio.h>
#include <uv.h>

#ifdef __linux__
/* glibc declares this function only under _GNU_SOURCE, which an importer cannot set for a header that has been read
   already. */
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pthread_getname_np(pthread_t thread, char *name, size_t size);

static inline int shim_name_current_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }
#else
static inline int shim_name_current_thread(const char *name) { return pthread_setname_np(name); }
#endif

static inline int shim_current_thread_name(char *name, size_t size) {
    return pthread_getname_np(pthread_self(), name, size);
}

/* Writes one piece of output; output of other threads cannot come between its bytes. */
static inline void shim_print(const void *bytes, size_t count) {
    fwrite(bytes, 1, count, stdout);
    fflush(stdout);
}
