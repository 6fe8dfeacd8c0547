// Stopping a script. A request names the run that it applies to and signals the loop thread. The signal handler arms a
// hook on the executing Lua stack. The hook raises and stays armed, so that `while true do pcall(f) end` ends too.
// Without a request none of this costs anything.
//
// A catchable stop raises once, as `lua` does on Ctrl-C, so that a script can clean up in a pcall. Code that still runs
// after the grace period is stopped unconditionally.
//
// From another thread only the flag and the signal are safe: lua_sethook there races with the running state.
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include "host.h"

struct shim_interrupt {
    pthread_mutex_t lock;  // guards host, repeating, and the thread's lifetime while it is being signaled
    pthread_cond_t ended;
    atomic_int references;
    host *host;
    _Atomic(pthread_t) thread;
    bool repeating;
};

static const int64_t grace = 200000000;  // nanoseconds

static _Thread_local host *running;  // the state with the innermost run on this thread
static _Thread_local bool ready;     // SIGURG is unblocked on this thread
static atomic_bool previous_is_third;       // whether CallInfo has the layout that `step` expects
static atomic_int hook_switch;              // the offset in a Lua stack of its "hooks are allowed" byte; 0: unknown

// ---- on the loop thread

bool stop_asked(host *h) {
    uint64_t run = atomic_load(&h->run);
    return run && atomic_load(&h->stop) == run;
}

bool stop_due(host *h) {
    if (!stop_asked(h)) return false;
    if (h->raised || !atomic_load(&h->catchable)) return true;
    return !h->warned_at || monotonic_now() - h->warned_at >= grace;
}

int raise_error(lua_State *L) {
    host *h = host_of(L);
    // The reason why a function failed no longer matters; often the stop was the reason.
    if (stop_due(h)) stop_hook(L, NULL);
    return lua_error(L);
}

// Async-signal-safe: lua_sethook is meant to be called from a handler (manual, lua_sethook; lua.c does it).
static void arm(host *h) {
    int depth = h->depth;
    if (!depth) return;
    frame *f = &h->frames[depth - 1];
    lua_Hook hook = lua_gethook(f->L);
    int mask = lua_gethookmask(f->L), count = lua_gethookcount(f->L);
    if (hook != stop_hook) {
        f->hook = hook;
        f->mask = mask;
        f->count = count;
    }
    // lua_sethook visits all calls. If that took longer than the time between two signals, nothing else would run.
    if (!f->armed || hook != stop_hook || mask != LUA_MASKCOUNT || count != 1) {
        f->armed = 1;
        lua_sethook(f->L, stop_hook, LUA_MASKCOUNT, 1);
    }
    // Lua switches hooks off for finalizers and for the script's own hooks, which have to stop as well.
    int offset = atomic_load(&hook_switch);
    if (offset) ((volatile unsigned char *)f->L)[offset] = 1;
}

void collect_soon(host *h) {
    h->mem.collect_due = 1;
    arm(h);
}

static void on_signal(int signal) {
    (void)signal;
    int saved = errno;
    host *h = running;
    if (h && stop_asked(h)) arm(h);
    errno = saved;
}

static int keep_value(lua_State *L) {
    lua_settop(L, 1);
    return 1;
}

static bool step(lua_State *L, lua_Debug *ar, int level) {
    if (!previous_is_third) return lua_getstack(L, level, ar);
    // lua_getstack counts from the top each time, which is quadratic on a deep stack.
    struct CallInfo *previous = ((struct CallInfo **)(void *)ar->i_ci)[2];
    if (!previous || !((struct CallInfo **)(void *)previous)[2]) return false;  // the base is not a function
    ar->i_ci = previous;
    return true;
}

// Replaces the handler of the innermost xpcall, which would run inside this hook, where no hook can stop it.
static void replace_handler(lua_State *L, host *h) {
    lua_Debug ar;
    if (!h->xpcall || !lua_getstack(L, 0, &ar)) return;
    int level = 0;
    do {
        lua_getinfo(L, "f", &ar);
        bool found = lua_tocfunction(L, -1) == h->xpcall;
        lua_pop(L, 1);
        if (found) {
            lua_pushcfunction(L, keep_value);
            if (!lua_setlocal(L, &ar, 2)) lua_pop(L, 1);
            return;
        }
    } while (step(L, &ar, ++level));
}

int64_t monotonic_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void give_back(host *h, frame *f) {
    // A coroutine that was created while its creator was being stopped has inherited the stop hook, and had no hook of
    // its own.
    if (f->hook) lua_sethook(f->L, f->hook, f->mask, f->count); else limits_hook(h, f->L);
}

// Restores a stack's own hook.
static void disarm(host *h, lua_State *L) {
    frame *f = &h->frames[h->depth - 1];
    if (f->armed && f->L == L) {
        f->armed = 0;
        give_back(h, f);
    } else {
        limits_hook(h, L);
    }
}

void stop_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    host *h = host_of(L);
    if (h->mem.collect_due) {
        h->mem.collect_due = 0;
        shim_collect_now(L);
    }
    if (!stop_asked(h)) {  // or a coroutine inherited the hook from a run that has ended
        disarm(h, L);
        return;
    }
    if (!h->raised && atomic_load(&h->catchable)) {
        int64_t time = monotonic_now();
        if (!h->warned_at || time - h->warned_at < grace) {
            bool first = !h->warned_at;
            disarm(h, L);
            if (!first) return;
            h->warned_at = time;
            replace_handler(L, h);
            lua_rawgeti(L, LUA_REGISTRYINDEX, h->stop_values[atomic_load(&h->reason)]);
            lua_error(L);
        }
    }
    if (!h->raised) {
        int enforce = h->mem.enforce;
        quota_set(h, 0);
        luaL_traceback(L, L, NULL, 0);
        free(h->traceback);
        h->traceback = strdup(lua_tostring(L, -1));
        lua_pop(L, 1);
        quota_set(h, enforce);
        h->raised = 1;
    }
    replace_handler(L, h);
    lua_sethook(L, stop_hook, LUA_MASKCOUNT, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->stop_values[atomic_load(&h->reason)]);
    lua_error(L);
}

static void begin_run(host *h) {
    if (!ready) {  // signal masks are inherited; the creator of this thread may have blocked the signal
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGURG);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        ready = true;
    }
    h->raised = 0;
    h->warned_at = 0;
    h->stack_begin = __builtin_frame_address(0);
    atomic_store(&h->interrupt->thread, pthread_self());
    atomic_store(&h->run, ++h->runs);
    limits_begin_run(h);
}

static void end_run(host *h) {
    uint64_t run = h->runs;
    limits_end_run(h);
    atomic_store(&h->run, 0);
    if (atomic_load(&h->stop) != run) return;
    // A requester signals this thread only while it holds the lock, so the thread may end afterward.
    pthread_mutex_lock(&h->interrupt->lock);
    pthread_cond_broadcast(&h->interrupt->ended);
    pthread_mutex_unlock(&h->interrupt->lock);
}

void stop_here(host *h, int reason) {
    if (stop_asked(h) && !atomic_load(&h->catchable)) return;
    atomic_store(&h->reason, reason);
    atomic_store(&h->catchable, false);
    atomic_store(&h->stop, atomic_load(&h->run));
}

int frame_enter(host *h, lua_State *L) {
    int depth = h->depth;
    if (depth == h->capacity) {
        int capacity = depth ? 2 * depth : 16;
        frame *grown = malloc((size_t)capacity * sizeof *grown);
        if (!grown) return 0;
        frame *old = h->frames;
        if (depth) memcpy(grown, old, (size_t)depth * sizeof *grown);
        h->frames = grown;  // the handler sees either the old array or the new one, both complete
        atomic_signal_fence(memory_order_seq_cst);
        h->capacity = capacity;
        free(old);
    }
    h->frames[depth] = (frame){ .L = L };
    atomic_signal_fence(memory_order_seq_cst);
    h->depth = depth + 1;
    h->frames[depth].outer = running;  // belongs to another state if a host function of that state runs this one
    if (!depth) begin_run(h);
    running = h;
    if (stop_asked(h)) arm(h);
    return 1;
}

void frame_leave(host *h) {
    int depth = h->depth - 1;
    frame *f = &h->frames[depth];
    h->depth = depth;
    atomic_signal_fence(memory_order_seq_cst);
    if (f->armed && lua_gethook(f->L) == stop_hook) give_back(h, f);
    running = f->outer;
    if (depth == 0) {
        end_run(h);
    } else if (stop_asked(h)) {
        arm(h);
    }
}

// Leaves all frames: their stacks are gone, so that no stop may reach them.
void frames_end(host *h) {
    if (!h->depth) return;
    h->depth = 0;
    atomic_signal_fence(memory_order_seq_cst);
    running = h->frames[0].outer;
    end_run(h);
}

void *shim_exchange_running(void *states) {
    host *before = running;
    running = states;
    return before;
}

// ---- from any thread

static void release(shim_interrupt *i) {
    if (atomic_fetch_sub(&i->references, 1) > 1) return;
    pthread_mutex_destroy(&i->lock);
    pthread_cond_destroy(&i->ended);
    free(i);
}

// The signal may arrive between two frames, or in the few instructions where arming is lost, so it is repeated.
static void *repeat(void *argument) {
    shim_interrupt *i = argument;
    pthread_mutex_lock(&i->lock);
    while (i->host && stop_asked(i->host)) {
        pthread_kill(atomic_load(&i->thread), SIGURG);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&i->ended, &i->lock, &until);
    }
    i->repeating = false;
    pthread_mutex_unlock(&i->lock);
    release(i);
    return NULL;
}

bool shim_interrupt_request(shim_interrupt *i, bool catchable, int32_t reason) {
    return interrupt_request(i, catchable, reason, 0);
}

bool interrupt_request(shim_interrupt *i, bool catchable, int reason, uint64_t only) {
    pthread_mutex_lock(&i->lock);
    host *h = i->host;
    uint64_t run = h ? atomic_load(&h->run) : 0;
    if (only && run != only) run = 0;
    if (run) {
        // A later request neither makes an unconditional one catchable nor changes its reason.
        bool is_certain = atomic_load(&h->stop) == run && !atomic_load(&h->catchable);
        if (!is_certain && (!catchable || atomic_load(&h->stop) != run)) {
            atomic_store(&h->reason, reason);
            atomic_store(&h->catchable, catchable);
        }
        atomic_store(&h->stop, run);
        if (atomic_load(&h->run) != run) run = 0;  // it has ended in the meantime, and may not have seen the request
    }
    if (run) {
        pthread_kill(atomic_load(&i->thread), SIGURG);
        if (!i->repeating) {
            sigset_t all, old;  // the repeating thread must not receive signals meant for others
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &old);
            pthread_t thread;
            atomic_fetch_add(&i->references, 1);
            if (pthread_create(&thread, NULL, repeat, i) == 0) {
                i->repeating = true;
                pthread_detach(thread);
            } else {
                atomic_fetch_sub(&i->references, 1);
            }
            pthread_sigmask(SIG_SETMASK, &old, NULL);
        }
    }
    pthread_mutex_unlock(&i->lock);
    return run != 0;
}

bool shim_interrupt_pending(shim_interrupt *i) {
    pthread_mutex_lock(&i->lock);
    bool asked = i->host && stop_asked(i->host);
    pthread_mutex_unlock(&i->lock);
    return asked;
}

bool shim_interrupt_due(shim_interrupt *i) {
    pthread_mutex_lock(&i->lock);
    bool due = i->host && stop_due(i->host);
    pthread_mutex_unlock(&i->lock);
    return due;
}

shim_interrupt *shim_interrupt_retain(lua_State *L) {
    shim_interrupt *i = host_of(L)->interrupt;
    atomic_fetch_add(&i->references, 1);
    return i;
}
void shim_interrupt_release(shim_interrupt *i) { release(i); }
bool shim_is_running(lua_State *L) { return host_of(L)->depth > 0; }
bool shim_stop_asked(lua_State *L) { return stop_asked(host_of(L)); }
bool shim_stop_due(lua_State *L) { return stop_due(host_of(L)); }
int32_t shim_stop_reason(lua_State *L) { return atomic_load(&host_of(L)->reason); }
void shim_set_stop_value(lua_State *L, int32_t reason) {
    lua_rawseti(L, LUA_REGISTRYINDEX, host_of(L)->stop_values[reason]);
}

// ---- setup

static int look(lua_State *L) {
    lua_Debug inner, outer;
    if (lua_getstack(L, 0, &inner) && lua_getstack(L, 1, &outer))
        atomic_store(&previous_is_third, ((struct CallInfo **)(void *)inner.i_ci)[2] == outer.i_ci);
    return 0;
}
// The byte at the head of a Lua stack that is 1 outside of hooks and 0 inside, if there is exactly one.
enum { HEAD_BEGINS = 8, HEAD_ENDS = 16 };
static _Thread_local unsigned char outside[HEAD_ENDS];
static void compare_head(lua_State *L, lua_Debug *ar) {
    (void)ar;
    int found = 0, offset = 0;
    for (int i = HEAD_BEGINS; i < HEAD_ENDS; i++) {
        if (outside[i] != 1 || ((unsigned char *)L)[i] != 0) continue;
        found++;
        offset = i;
    }
    if (found == 1) atomic_store(&hook_switch, offset);
}
static int nothing(lua_State *L) {
    (void)L;
    return 0;
}
static int look_at_head(lua_State *L) {
    memcpy(outside, L, HEAD_ENDS);
    lua_sethook(L, compare_head, LUA_MASKCALL, 0);
    lua_pushcfunction(L, nothing);
    lua_call(L, 0, 0);
    lua_sethook(L, NULL, 0, 0);
    return 0;
}
static void install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;  // no SA_RESTART, or a blocked io.read would never return
    sigemptyset(&action.sa_mask);
    sigaction(SIGURG, &action, NULL);
}

void interrupt_setup(lua_State *L, host *h) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    lua_pushcfunction(L, look);
    lua_call(L, 0, 0);
    lua_pushcfunction(L, look_at_head);
    lua_call(L, 0, 0);
    shim_interrupt *i = calloc(1, sizeof *i);
    if (!i) luaL_error(L, "not enough memory");
    pthread_mutex_init(&i->lock, NULL);
    pthread_cond_init(&i->ended, NULL);
    i->references = 1;
    i->host = h;
    h->interrupt = i;
    for (int reason = 0; reason < SHIM_STOP_REASONS; reason++) {
        lua_pushliteral(L, "interrupted");
        h->stop_values[reason] = luaL_ref(L, LUA_REGISTRYINDEX);
    }
}

void interrupt_teardown(host *h) {
    limits_teardown(h);
    shim_interrupt *i = h->interrupt;
    if (!i) return;
    pthread_mutex_lock(&i->lock);
    i->host = NULL;
    pthread_cond_broadcast(&i->ended);
    pthread_mutex_unlock(&i->lock);
    release(i);
}
