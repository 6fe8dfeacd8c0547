// Memory of one state. Blocks up to 256 bytes come from slabs by size class, because malloc is too slow for objects
// created in a loop. Larger blocks come from malloc. Sizes are counted as Lua sees them. The quota applies only while
// Lua code runs; see CLuaShims.h.
#include <stdio.h>
#include "host.h"

enum { SLAB = 65536, CLASSES = 16 };

static void *take(memory *m, size_t class) {
    void *p = m->free[class];
    if (p) {
        void *next = *(void **)p;
        __builtin_prefetch(next, 1);  // the next allocation of a loop would wait for it
        m->free[class] = next;
        return p;
    }
    char *slab = malloc(SLAB);
    if (!slab) return NULL;
    *(void **)slab = m->slabs;
    m->slabs = slab;
    size_t size = class * 16;
    char *first = slab + 16;  // the first 16 bytes link the slabs
    size_t count = (SLAB - 16) / size;
    // Linked in ascending order, so that objects created one after another are adjacent in memory.
    for (size_t i = count - 1; i > 0; i--) {
        *(void **)(first + i * size) = m->free[class];
        m->free[class] = first + i * size;
    }
    return first;
}

static inline void give(memory *m, size_t class, void *p) {
    *(void **)p = m->free[class];
    m->free[class] = p;
}

static void *out_of_memory(memory *m, size_t wanted) {
    if (m->enforce) return NULL;  // Lua code is running and gets an error
    fprintf(stderr, "moonpool: out of memory (%zu bytes wanted in a host call)\n", wanted);
    abort();  // raising here would jump across Swift frames
}

void *host_allocate(void *ud, void *p, size_t old, size_t new) {
    memory *m = ud;
    if (!p) old = 0;  // `old` is then the kind of object
    size_t from = (old + 15) >> 4, to = (new + 15) >> 4;
    if (new == 0) {
        m->used -= old;
        if (p) {
            if (from <= CLASSES) give(m, from, p); else if (p != m->kept) free(p);
        }
        return NULL;
    }
    if (new > old && m->enforce && m->quota && m->used - old + new > m->quota) return NULL;
    void *q;
    if (p && from == to && from <= CLASSES) {
        q = p;
    } else if (p && from > CLASSES && to > CLASSES) {
        q = realloc(p, new);
        if (!q && new > old) return out_of_memory(m, new);
        if (!q) q = p;  // shrinking may not fail (manual, lua_Alloc)
    } else {
        q = to <= CLASSES ? take(m, to) : malloc(new);
        if (!q) return out_of_memory(m, new);
        if (p) {
            memcpy(q, p, old < new ? old : new);
            if (from <= CLASSES) give(m, from, p); else free(p);
        }
    }
    m->used += new - old;
    if (m->used > m->peak) m->peak = m->used;
    return q;
}

void host_free_memory(memory *m) {
    for (void *s = m->slabs, *next; s; s = next) {
        next = *(void **)s;
        free(s);
    }
    m->slabs = NULL;
}

shim_memory shim_memory_figures(lua_State *L) {
    memory *m = &host_of(L)->mem;
    return (shim_memory){ m->used, m->peak, m->quota };
}
void shim_memory_quota(lua_State *L, size_t bytes) { host_of(L)->mem.quota = bytes; }
void shim_collect(lua_State *L) { lua_gc(L, LUA_GCCOLLECT); }
