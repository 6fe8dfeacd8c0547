// Memory of one state. Blocks up to 256 bytes come from slabs of 64 KB by size class, because malloc is too slow for
// objects created in a loop. Larger blocks come from malloc. A slab is divided into blocks a page at a time, as they
// are needed: an idle state uses about 25 classes, and only a few pages of each.
//
// A state with a memory account charges it before it takes memory from the system, in steps of 64 KB or more, so that
// small allocations cost no more than without one. The account counts what the system provides: whole slabs, and blocks
// with their headers. Two measures keep that close to what Lua uses:
// * Blocks of up to 8 KB come from slabs as well, and blocks of 32 KB or more are mapped, because malloc keeps freed
//   memory in pieces that fit nothing else.
// * When the account refuses memory, slabs without a live block are returned to the system. Otherwise a script that
//   fills memory with objects of one size and frees them could not use that memory for another size.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include "host.h"

enum { SLAB = 65536, HEADER = 16, STEP = 65536, PAGE = 4096, LEAST_MAPPED = 32768 };
// Classes 1 to 16 are steps of 16 bytes. Above, states with an account have four classes for each doubling up to 8 KB.
enum { SMALL = 16, SMALL_SIZE = 256, CLASSES = MEMORY_CLASSES - 1, SLAB_SIZE = 8192 };

// The head of each slab.
typedef struct slab {
    struct slab *next;
    uint16_t class, blocks;  // `blocks`: the number of blocks divided so far; the memory after them is untouched
    uint32_t free;           // counted by `return_slabs` only
} slab;

static size_t class_size(size_t class) {
    if (class <= SMALL) return class * 16;
    size_t step = class - SMALL - 1;
    return (size_t)(5 + step % 4) << (6 + step / 4);
}

// The class of blocks of a size; 0 for blocks outside of slabs.
static inline size_t class_of(memory *m, size_t size) {
#if __has_feature(address_sanitizer)
    return 0;  // the sanitizer checks only blocks of malloc
#endif
    if (size <= SMALL_SIZE) return (size + 15) >> 4;
    if (!m->maps || size > SLAB_SIZE) return 0;
    int doubling = 63 - __builtin_clzl(size - 1);  // 8 for 257 to 512
    return SMALL + 1 + (size_t)(doubling - 8) * 4 + ((size - 1) >> (doubling - 2)) - 4;
}

static size_t capacity(size_t class) { return (SLAB - HEADER) / class_size(class); }
static slab *slab_of(void *p) { return (slab *)((uintptr_t)p & ~(uintptr_t)(SLAB - 1)); }

// The size of a block outside of slabs.
static size_t size_taken(memory *m, size_t size) {
    if (m->maps && size >= m->mapped) return (size + PAGE - 1) & ~(size_t)(PAGE - 1);
    return (size + 8 + 15) & ~(size_t)15;  // malloc's header and alignment
}

// ---- the account

// Whether the account grants `size` bytes more.
static bool draw(memory *m, size_t size, int32_t manner) {
    size_t wanted = (m->held + size - m->granted + STEP - 1) & ~(size_t)(STEP - 1);
    if (!m->charge(m->owner, wanted, manner)) return false;
    m->granted += wanted;
    m->is_overdrawn = manner != SHIM_CHARGE;
    return true;
}

static size_t return_slabs(memory *m);

static bool fits(memory *m, size_t size) {
    // Memory cannot be refused during a host call.
    return m->held + size <= m->granted || draw(m, size, m->enforce ? SHIM_CHARGE : SHIM_CHARGE_FORCED);
}

static bool reserve(memory *m, size_t size) {
    if (m->charge && !fits(m, size)) {
        // Looking for free slabs takes a step for each free block, so it runs only if many blocks were freed since the
        // last time.
        size_t idle = m->held > m->used ? m->held - m->used : 0;
        if (idle < m->idle) m->idle = idle;
        bool is_worthwhile = idle > m->idle + m->granted / 16;
        bool is_granted = is_worthwhile && return_slabs(m) > 0 && fits(m, size);
        if (is_worthwhile) m->idle = m->held > m->used ? m->held - m->used : 0;
        // Lua collects garbage and asks again when it is refused memory, but its buffers (luaL_Buffer) do not. So the
        // first small request beyond the limit is granted, and the script collects garbage before its next instruction.
        if (!is_granted && !m->is_overdrawn && draw(m, size, SHIM_CHARGE_OVERDRAFT)) {
            is_granted = true;
            collect_soon((host *)m);
        }
        if (!is_granted) return false;
    }
    m->held += size;
    return true;
}

static void unreserve(memory *m, size_t size) {
    m->held -= size;
    if (!m->charge || m->granted < m->held + 4 * STEP) return;
    size_t surplus = (m->granted - m->held - STEP) & ~(size_t)(STEP - 1);
    m->granted -= surplus;
    m->release(m->owner, surplus);
}

void memory_reserve_object(memory *m, size_t size) {
    int enforce = m->enforce;
    m->enforce = 0;
    reserve(m, size);
    m->enforce = enforce;
}
void memory_release_object(memory *m, size_t size) { unreserve(m, size); }

// ---- slabs

static void *aligned_map(void) {
    char *p = mmap(NULL, SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (((uintptr_t)p & (SLAB - 1)) == 0) return p;  // usually true: the map is directly below the previous one
    munmap(p, SLAB);
    p = mmap(NULL, 2 * SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    char *first = (char *)(((uintptr_t)p + SLAB - 1) & ~(uintptr_t)(SLAB - 1));
    if (first > p) munmap(p, (size_t)(first - p));
    munmap(first + SLAB, (size_t)(p + SLAB - first));
    return first;
}

// Divides the next page of the class's newest slab, or of another one; returns the first block and frees the others.
static void *take_undivided(memory *m, size_t class) {
    slab *s = m->undivided[class];
    if (!s) {
        if (!reserve(m, SLAB)) return NULL;
        s = m->maps ? aligned_map() : malloc(SLAB);
        if (!s) {
            unreserve(m, SLAB);
            return NULL;
        }
        *s = (slab){ m->slabs, (uint16_t)class, 0, 0 };
        m->slabs = s;
    }
    size_t size = class_size(class), left = capacity(class) - s->blocks;
    char *first = (char *)s + HEADER + s->blocks * size;
    size_t in_page = (PAGE - 1 - ((uintptr_t)(first - 1) & (PAGE - 1))) / size;
    size_t count = in_page < 1 ? 1 : in_page;
    if (count > left) count = left;
    // Linked in ascending order, so that objects created one after another are adjacent in memory.
    for (size_t i = count - 1; i > 0; i--) {
        *(void **)(first + i * size) = m->free[class];
        m->free[class] = first + i * size;
    }
    s->blocks += (uint16_t)count;
    m->undivided[class] = count < left ? s : NULL;
    return first;
}

static void *take(memory *m, size_t class) {
    void *p = m->free[class];
    if (p) {
        void *next = *(void **)p;
        __builtin_prefetch(next, 1);  // the next allocation of a loop would wait for it
        m->free[class] = next;
        return p;
    }
    return take_undivided(m, class);
}

static inline void give(memory *m, size_t class, void *p) {
    *(void **)p = m->free[class];
    m->free[class] = p;
}

// Whether a slab has no live block; call it after counting the free blocks.
static bool is_empty(slab *s) { return s->free == s->blocks; }

// Returns slabs without a live block to the system; returns their number of bytes.
static size_t return_slabs(memory *m) {
    if (!m->maps) return 0;
    for (slab *s = m->slabs; s; s = s->next) s->free = 0;
    for (size_t class = 1; class <= CLASSES; class++)
        for (void *p = m->free[class]; p; p = *(void **)p) slab_of(p)->free++;
    for (size_t class = 1; class <= CLASSES; class++) {
        void **link = &m->free[class];
        for (void *p = *link; p; p = *(void **)p) {
            if (is_empty(slab_of(p))) continue;
            *link = p;
            link = p;
        }
        *link = NULL;
    }
    size_t returned = 0;
    for (slab **link = &m->slabs, *s; (s = *link);) {
        if (!is_empty(s)) {
            link = &s->next;
            continue;
        }
        if (m->undivided[s->class] == s) m->undivided[s->class] = NULL;
        *link = s->next;
        munmap(s, SLAB);
        returned += SLAB;
    }
    if (returned) unreserve(m, returned);
    return returned;
}

// ---- larger blocks

static void *large(memory *m, size_t size) {
    if (!m->maps || size < m->mapped) return malloc(size);
    void *p = mmap(NULL, size_taken(m, size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void free_large(memory *m, void *p, size_t size) {
    if (m->maps && size >= m->mapped) munmap(p, size_taken(m, size)); else free(p);
}

static void *resize_large(memory *m, void *p, size_t old, size_t new) {
    if (!m->maps || (old < m->mapped && new < m->mapped)) return realloc(p, new);
    if (old >= m->mapped && new >= m->mapped) {
        void *q = mremap(p, size_taken(m, old), size_taken(m, new), MREMAP_MAYMOVE);
        return q == MAP_FAILED ? NULL : q;
    }
    void *q = large(m, new);
    if (!q) return NULL;
    memcpy(q, p, old < new ? old : new);
    free_large(m, p, old);
    return q;
}

// ---- Lua's allocator

static void *out_of_memory(memory *m, size_t wanted) {
    if (m->enforce) return NULL;  // Lua code is running and gets an error
    fprintf(stderr, "moonpool: out of memory (%zu bytes wanted in a host call)\n", wanted);
    abort();  // raising here would jump across Swift frames
}

void *host_allocate(void *ud, void *p, size_t old, size_t new) {
    memory *m = ud;
    if (!p) old = 0;  // `old` is then the kind of object
    if (p && new && new <= old && m->enforce) {  // shrinking may not fail (manual, lua_Alloc)
        m->enforce = 0;
        void *q = host_allocate(ud, p, old, new);
        m->enforce = 1;
        return q;
    }
    size_t from = class_of(m, old), to = class_of(m, new);
    if (new == 0) {
        m->used -= old;
        if (!p) return NULL;
        if (p == m->kept) {
            m->kept_size = old;
            return NULL;
        }
        if (from) {
            give(m, from, p);
        } else {
            free_large(m, p, old);
            unreserve(m, size_taken(m, old));
        }
        return NULL;
    }
    void *q;
    if (p && from == to && from) {
        q = p;
    } else if (to) {
        q = take(m, to);
        if (!q) return out_of_memory(m, new);
        if (p) {
            memcpy(q, p, old < new ? old : new);
            if (from) {
                give(m, from, p);
            } else {
                free_large(m, p, old);
                unreserve(m, size_taken(m, old));
            }
        }
    } else {
        size_t taken = size_taken(m, new), before = p && !from ? size_taken(m, old) : 0;
        if (taken > before && !reserve(m, taken - before)) return NULL;
        q = before ? resize_large(m, p, old, new) : large(m, new);
        if (!q) {
            if (taken > before) unreserve(m, taken - before);
            return out_of_memory(m, new);
        }
        if (p && !before) {
            memcpy(q, p, old);
            give(m, from, p);
        }
        if (taken < before) unreserve(m, before - taken);
    }
    m->used += new - old;
    if (m->used > m->peak) m->peak = m->used;
    return q;
}

void host_free_kept(memory *m) {
    if (m->kept && !class_of(m, m->kept_size)) {  // else its slab is freed with the others
        free_large(m, m->kept, m->kept_size);
        unreserve(m, size_taken(m, m->kept_size));
    }
    m->kept = NULL;
}

void host_free_memory(memory *m) {
    for (slab *s = m->slabs, *next; s; s = next) {
        next = s->next;
        if (m->maps) munmap(s, SLAB); else free(s);
    }
    m->slabs = NULL;
    if (m->charge && m->granted > m->uncounted) m->release(m->owner, m->granted - m->uncounted);
    m->charge = NULL;
}

shim_memory shim_memory_figures(lua_State *L) {
    memory *m = &host_of(L)->mem;
    return (shim_memory){ m->used, m->peak };
}

void shim_count_memory(lua_State *L) {
    host *h = host_of(L);
    memory *m = &h->mem;
    if (m->charge || !m->maps) return;
    m->uncounted = m->granted = m->held;
    m->owner = h->owner;
    m->charge = h->calls.charge_memory;
    m->release = h->calls.release_memory;
    finalizers_setup(L);
}

// Lua does not know the memory of the host's objects, and would collect them too late.
void memory_relieve(lua_State *L) {
    host *h = host_of(L);
    int32_t pressure = h->calls.memory_pressure(h->owner);
    if (pressure == SHIM_PRESSURE_NONE) return;
    if (pressure != SHIM_PRESSURE_REFUSE) {
        shim_collect_now(L);
        pressure = h->calls.memory_pressure(h->owner);
        if (pressure >= SHIM_PRESSURE_EXHAUSTED && return_slabs(&h->mem) > 0)
            pressure = h->calls.memory_pressure(h->owner);
    }
    if (pressure < SHIM_PRESSURE_EXHAUSTED) return;
    lua_pushliteral(L, "not enough memory");  // lua_error converts this text to a memory error
    lua_error(L);
}

// Collecting allocates nothing, but finalizers do.
static void collect(lua_State *L, host *h) {
    int enforce = h->mem.enforce;
    h->mem.enforce = h->mem.charge != NULL;
    lua_gc(L, LUA_GCCOLLECT);
    h->mem.enforce = enforce;
}

void shim_collect(lua_State *L) { collect(L, host_of(L)); }

void shim_collect_now(lua_State *L) {
    host *h = host_of(L);
    collect(L, h);
#ifdef __GLIBC__
    malloc_trim(0);  // returns memory that objects of the host have freed
#endif
    h->calls.did_collect(h->owner);
}

void memory_prepare(memory *m, size_t limit) {
    if (!limit) return;
    m->maps = true;
    // A process can have about 65,000 mappings.
    m->mapped = limit >> 14 > LEAST_MAPPED ? limit >> 14 : LEAST_MAPPED;
}

void shim_map_large_blocks(void) {
#if defined(__GLIBC__)
    // Otherwise malloc takes them from the heap after it has freed a large block once, and calloc then touches all pages.
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

void shim_trim_heap(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}
