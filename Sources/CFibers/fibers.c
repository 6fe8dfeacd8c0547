// Stacks with ucontext(3), which the C library adapts to each processor and to its shadow stacks. A switch saves and
// restores the signal mask, which takes a system call.
//
// The sanitizers must be notified of each switch. Otherwise they report an overflow on the other stack, or races
// between code that runs in turn.
#define _GNU_SOURCE
#include "CFibers.h"

#if defined(__linux__)

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECKS_ADDRESSES
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define CHECKS_THREADS
#include <sanitizer/tsan_interface.h>
#endif
#endif

struct fiber {
    ucontext_t own, caller;
    char *mapping;
    size_t mapped;
    char *stack;  // above the guard page
    size_t size;
    void (*body)(void *);
    void *argument;
    bool has_returned;
    // for the sanitizers
    void *own_frames, *caller_frames;
    const void *caller_stack;
    size_t caller_size;
    void *own_thread, *caller_thread;
};

// Inlined, because the thread sanitizer would otherwise record a call that begins on one stack and ends on the other.
#define INLINED __attribute__((always_inline))

static inline INLINED void announce_own(fiber *f) {
    (void)f;
#if defined(CHECKS_ADDRESSES)
    __sanitizer_start_switch_fiber(&f->caller_frames, f->stack, f->size);
#elif defined(CHECKS_THREADS)
    f->caller_thread = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->own_thread, 0);
#endif
}

static inline INLINED void reached_own(fiber *f) {
    (void)f;
#if defined(CHECKS_ADDRESSES)
    __sanitizer_finish_switch_fiber(f->own_frames, &f->caller_stack, &f->caller_size);
#endif
}

static inline INLINED void announce_caller(fiber *f) {
    (void)f;
#if defined(CHECKS_ADDRESSES)
    __sanitizer_start_switch_fiber(&f->own_frames, f->caller_stack, f->caller_size);
#elif defined(CHECKS_THREADS)
    __tsan_switch_to_fiber(f->caller_thread, 0);
#endif
}

static inline INLINED void reached_caller(fiber *f) {
    (void)f;
#if defined(CHECKS_ADDRESSES)
    __sanitizer_finish_switch_fiber(f->caller_frames, NULL, NULL);
#endif
}

static void leave(fiber *f) {
    announce_caller(f);
    swapcontext(&f->own, &f->caller);
    reached_own(f);
}

// The first function on each fiber's stack. It runs one body after the other.
static void run_bodies(unsigned high, unsigned low) {
    fiber *f = (fiber *)((uintptr_t)high << 32 | low);
    reached_own(f);
    for (;;) {
        f->body(f->argument);
        f->has_returned = true;
        leave(f);
    }
}

fiber *fiber_create(size_t stack_size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    fiber *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->size = (stack_size + page - 1) / page * page;
    f->mapped = f->size + page;
    f->mapping = mmap(NULL, f->mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (f->mapping == MAP_FAILED || mprotect(f->mapping, page, PROT_NONE) != 0 || getcontext(&f->own) != 0) {
        if (f->mapping != MAP_FAILED) munmap(f->mapping, f->mapped);
        free(f);
        return NULL;
    }
    f->stack = f->mapping + page;
    // A huge page would take 2 MiB for the few pages that most stacks need.
    madvise(f->mapping, f->mapped, MADV_NOHUGEPAGE);
    f->own.uc_stack.ss_sp = f->stack;
    f->own.uc_stack.ss_size = f->size;
    uintptr_t address = (uintptr_t)f;
    makecontext(&f->own, (void (*)(void))run_bodies, 2, (unsigned)(address >> 32), (unsigned)address);
#if defined(CHECKS_THREADS)
    f->own_thread = __tsan_create_fiber(0);
#endif
    return f;
}

void fiber_destroy(fiber *f) {
#if defined(CHECKS_THREADS)
    __tsan_destroy_fiber(f->own_thread);
#endif
    munmap(f->mapping, f->mapped);
    free(f);
}

bool fiber_resume(fiber *f) {
    announce_own(f);
    swapcontext(&f->caller, &f->own);
    reached_caller(f);
    return f->has_returned;
}

bool fiber_start(fiber *f, void (*body)(void *), void *argument) {
    f->body = body;
    f->argument = argument;
    f->has_returned = false;
    return fiber_resume(f);
}

void fiber_park(fiber *f) { leave(f); }

#else

fiber *fiber_create(size_t stack_size) {
    (void)stack_size;
    return NULL;
}
void fiber_destroy(fiber *f) { (void)f; }
bool fiber_start(fiber *f, void (*body)(void *), void *argument) {
    (void)f;
    body(argument);
    return true;
}
bool fiber_resume(fiber *f) {
    (void)f;
    return true;
}
void fiber_park(fiber *f) { (void)f; }

#endif
