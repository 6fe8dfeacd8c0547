// Limits of a run: time, and instructions of Lua. A run that exceeds one is stopped unconditionally, so that no pcall,
// coroutine or message handler outlives it.
//
// The time limit costs one clock reading for each outermost run: a thread sleeps until the deadline of the run that was
// current when it last checked. The instruction limit is a count hook, which halves the speed of Lua code. It is
// installed only while there is a limit.
#include <pthread.h>
#include <time.h>
#include "host.h"

enum { COUNT = 1000 };

typedef struct time_watch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    host *host;
    bool ends;
    _Atomic bool sleeps;  // waits without a deadline: the next run has to wake it
} time_watch;

// ---- instructions

static void count_hook(lua_State *L, lua_Debug *ar) {
    host *h = host_of(L);
    limits_charge(h, COUNT);
    if (stop_asked(h)) stop_hook(L, ar);
}

void limits_hook(host *h, lua_State *L) {
    if (h->instruction_limit) lua_sethook(L, count_hook, LUA_MASKCOUNT, COUNT);
    else lua_sethook(L, NULL, 0, 0);
}

void limits_charge(host *h, int64_t instructions) {
    if (!h->instruction_limit) return;
    h->instructions_left -= instructions;
    if (h->instructions_left <= 0) stop_here(h, SHIM_STOP_INSTRUCTIONS);
}

void shim_instruction_limit(lua_State *L, int64_t count) {
    host *h = host_of(L);
    bool was_limited = h->instruction_limit != 0;
    h->instruction_limit = count;
    h->instructions_left = count;
    // Coroutines inherit the hook of the stack that creates them.
    if (was_limited != (count != 0)) limits_hook(h, h->main);
}

// ---- time

// Only the system's clock is available for waiting everywhere; when it jumps, one wait is too long or too short.
static struct timespec after(int64_t nanoseconds) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    int64_t seconds = nanoseconds / 1000000000;
    if (seconds > 3600) seconds = 3600;  // a thread that wakes early checks again
    time.tv_sec += seconds;
    time.tv_nsec += nanoseconds % 1000000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

// Reads the current run and its deadline; returns false if there is none.
static bool current(host *h, uint64_t *run, int64_t *deadline) {
    *run = atomic_load(&h->run);
    *deadline = atomic_load(&h->deadline);
    return *deadline && *run && atomic_load(&h->run) == *run;
}

static void *watch(void *argument) {
    time_watch *w = argument;
    pthread_mutex_lock(&w->lock);
    while (!w->ends) {
        uint64_t run;
        int64_t deadline;
        if (!current(w->host, &run, &deadline)) {
            atomic_store(&w->sleeps, true);
            // A run may have begun before it could know that it has to wake this thread.
            if (!current(w->host, &run, &deadline)) pthread_cond_wait(&w->changed, &w->lock);
            atomic_store(&w->sleeps, false);
            continue;
        }
        int64_t left = deadline - monotonic_now();
        if (left <= 0) {
            interrupt_request(w->host->interrupt, false, SHIM_STOP_TIME, run);
            left = 10000000;  // it has ended by then
        }
        struct timespec until = after(left);
        pthread_cond_timedwait(&w->changed, &w->lock, &until);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

bool shim_time_limit(lua_State *L, int64_t nanoseconds) {
    host *h = host_of(L);
    h->time_limit = nanoseconds;
    // The run that removes the limit has a deadline, which must not carry over to the next run.
    if (!nanoseconds) atomic_store(&h->deadline, 0);
    if (!nanoseconds || h->watch) return true;
    time_watch *w = calloc(1, sizeof *w);
    if (!w) return false;
    w->host = h;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    sigset_t all, old;  // the watching thread must not receive signals meant for others
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pthread_create(&w->thread, NULL, watch, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (started) {
        h->watch = w;
        return true;
    }
    h->time_limit = 0;
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    free(w);
    return false;
}

int64_t shim_instructions(lua_State *L) {
    host *h = host_of(L);
    return h->instruction_limit - h->instructions_left;
}

void limits_begin_run(host *h) {
    h->instructions_left = h->instruction_limit;
    if (!h->time_limit) return;
    int64_t now = monotonic_now();
    atomic_store(&h->deadline, h->time_limit > INT64_MAX - now ? INT64_MAX : now + h->time_limit);
    if (!atomic_load(&h->watch->sleeps)) return;
    pthread_mutex_lock(&h->watch->lock);
    pthread_cond_signal(&h->watch->changed);
    pthread_mutex_unlock(&h->watch->lock);
}

void limits_end_run(host *h) {
    if (h->time_limit) atomic_store(&h->deadline, 0);
}

void limits_teardown(host *h) {
    time_watch *w = h->watch;
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    free(w);
    h->watch = NULL;
}
