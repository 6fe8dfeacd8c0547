// Limits of a run: time, and instructions of Lua. A run that exceeds one is stopped unconditionally, so that no pcall,
// coroutine or message handler outlives it.
//
// The time limit costs one clock reading for each outermost run: one thread for all states of the process sleeps until
// the nearest deadline that it knows. A run wakes it only if its own deadline comes before that. The instruction limit
// is a count hook, which halves the speed of Lua code. It is installed only while there is a limit.
#include <pthread.h>
#include <time.h>
#include "host.h"

enum { COUNT = 1000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_thread;
    host *first;            // of the states with a time limit
    _Atomic int64_t wakes;  // when the thread checks again
} watch = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, NULL, INT64_MAX };

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

// Only the system clock can be used for waits on all systems; if it jumps, one wait is too long or too short.
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

static int64_t nearest_deadline(void) {
    int64_t nearest = INT64_MAX;
    for (host *h = watch.first; h; h = h->next_watched) {
        uint64_t run;
        int64_t deadline;
        if (current(h, &run, &deadline) && deadline < nearest) nearest = deadline;
    }
    return nearest;
}

static void stop_late_runs(int64_t now) {
    for (host *h = watch.first; h; h = h->next_watched) {
        uint64_t run;
        int64_t deadline;
        if (current(h, &run, &deadline) && deadline <= now)
            interrupt_request(h->interrupt, false, SHIM_STOP_TIME, run);
    }
}

static void *watch_time(void *unused) {
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    for (;;) {
        int64_t now = monotonic_now();
        stop_late_runs(now);
        int64_t next = nearest_deadline();
        if (next <= now) next = now + 10000000;  // the stopped runs have ended by then
        atomic_store(&watch.wakes, next);
        // A run that began before this value was visible to it has not woken the thread.
        if (nearest_deadline() < next && next != now + 10000000) continue;
        if (next == INT64_MAX) {
            pthread_cond_wait(&watch.changed, &watch.lock);
        } else {
            struct timespec until = after(next - now);
            pthread_cond_timedwait(&watch.changed, &watch.lock, &until);
        }
    }
    return NULL;
}

// Starts the thread that watches the time; it lives as long as the process. Returns false if the system cannot create a
// thread.
static bool start_watch(void) {
    if (watch.has_thread) return true;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    sigset_t all, old;  // the watching thread must not receive signals meant for others
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    watch.has_thread = pthread_create(&thread, &attributes, watch_time, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return watch.has_thread;
}

bool shim_time_limit(lua_State *L, int64_t nanoseconds) {
    host *h = host_of(L);
    h->time_limit = nanoseconds;
    // The run that removes the limit has a deadline, which must not carry over to the next run.
    if (!nanoseconds) atomic_store(&h->deadline, 0);
    if (!nanoseconds || h->is_watched) return true;
    pthread_mutex_lock(&watch.lock);
    bool started = start_watch();
    if (started) {
        h->next_watched = watch.first;
        if (h->next_watched) h->next_watched->watched_by = &h->next_watched;
        h->watched_by = &watch.first;
        h->is_watched = true;
        watch.first = h;
    } else {
        h->time_limit = 0;
    }
    pthread_mutex_unlock(&watch.lock);
    return started;
}

int64_t shim_time_left(lua_State *L) {
    int64_t deadline = atomic_load(&host_of(L)->deadline);
    return deadline ? deadline - monotonic_now() : INT64_MAX;
}

int64_t shim_instructions(lua_State *L) {
    host *h = host_of(L);
    return h->instruction_limit - h->instructions_left;
}

void limits_begin_run(host *h) {
    h->instructions_left = h->instruction_limit;
    if (!h->time_limit) return;
    int64_t now = monotonic_now();
    int64_t deadline = h->time_limit > INT64_MAX - 1 - now ? INT64_MAX - 1 : now + h->time_limit;
    atomic_store(&h->deadline, deadline);
    if (deadline >= atomic_load(&watch.wakes)) return;
    pthread_mutex_lock(&watch.lock);
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
}

void limits_end_run(host *h) {
    if (h->time_limit) atomic_store(&h->deadline, 0);
}

void limits_teardown(host *h) {
    if (!h->is_watched) return;
    h->is_watched = false;
    pthread_mutex_lock(&watch.lock);
    *h->watched_by = h->next_watched;
    if (h->next_watched) h->next_watched->watched_by = h->watched_by;
    h->watched_by = NULL;
    pthread_mutex_unlock(&watch.lock);
}
