#pragma once
// Everything that the shims know about one Lua state. The state's extra space points to it, and coroutines copy that
// pointer.
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "CLuaShims.h"

enum { MEMORY_CLASSES = 37 };  // class 0 is not used

typedef struct {
    size_t used, peak;    // as Lua counts
    int enforce;          // Lua code is running: the account can refuse memory
    void *free[MEMORY_CLASSES];  // free blocks of each size class
    struct slab *slabs;
    struct slab *undivided[MEMORY_CLASSES];  // the newest slab of each class, while it is not completely divided
    void *kept;           // a large block that is kept when Lua frees it
    size_t kept_size;
    // The memory account, if there is one.
    bool maps;            // blocks are allocated so that they can be returned to the system
    size_t mapped;        // blocks of this size or more are mapped
    const void *owner;
    bool (*charge)(const void *owner, size_t size, int32_t manner);  // SHIM_CHARGE_…; NULL: nothing is counted
    void (*release)(const void *owner, size_t size);
    size_t held;          // bytes taken from the system, plus those of the host's objects
    size_t granted;       // bytes that may be held without asking the account
    size_t uncounted;     // bytes held before counting began
    size_t idle;          // the fewest bytes held and unused since the last search for free slabs
    bool is_overdrawn;    // a request has exceeded the limit since memory was last refused or granted
    volatile sig_atomic_t collect_due;  // garbage is to be collected before the next instruction
} memory;

// The estimated size of a host object behind a userdata or a function, without the memory that the object charges.
enum { MEMORY_OF_OBJECT = 192 };
void memory_prepare(memory *m, size_t limit);
void memory_relieve(lua_State *L);
void memory_reserve_object(memory *m, size_t size);
void memory_release_object(memory *m, size_t size);

// A Lua stack that is executing, and its own hook from before a stop was armed on it.
typedef struct {
    lua_State *L;
    lua_Hook hook;
    int mask, count;
    volatile sig_atomic_t armed;
    struct host *outer;
} frame;

typedef struct host {
    memory mem;              // first: the allocator receives a pointer to it
    const void *owner;
    shim_host_calls calls;
    lua_State *main;
    lua_State *current;
    uint64_t passages;       // calls from Lua to Swift and from Swift to Lua
    bool has_finalizers;     // a script with a memory account has set a `__gc`
    bool collector_rests;    // while the quota is off
    // interrupt
    frame *volatile frames;
    volatile sig_atomic_t depth;
    int capacity;
    const char *stack_begin;  // where the outermost frame is on the stack of C
    shim_interrupt *interrupt;
    // the list of the states with a time limit
    bool is_watched;  // used on the state's thread; the links of the list are protected by a lock
    struct host *next_watched, **watched_by;
    _Atomic uint64_t run;    // id of the outermost run, 0 when idle
    _Atomic uint64_t stop;   // the run to stop
    uint64_t runs;
    volatile sig_atomic_t raised;  // the stop hook has raised in this run
    _Atomic bool catchable;        // the stop may be caught once
    int64_t warned_at;             // when the catchable stop was raised; 0: not yet
    _Atomic int reason;            // why: SHIM_STOP_…
    int luv_is_silent;     // callbacks of luv are dropped: the state is about to close
    int stop_values[SHIM_STOP_REASONS];
    // limits of each outermost run; 0: none
    int64_t time_limit, instruction_limit;
    int64_t instructions_left;
    _Atomic int64_t deadline;      // of the current run, on the monotonic clock; 0: none
    lua_CFunction xpcall, collectgarbage;
    int main_levels;  // stack levels while the watched chunk is the innermost function
    // errors
    int describing;        // errors at this depth are described where they are raised; 0: none
    int error_observer;    // registry slot of a function that is called where an error is raised; 0: none
    bool observing_error;
    char *traceback;
    char *kept;
    const void *kept_for;
    // warnings
    char *warning;
    size_t warning_length;
    int warnings_on, warning_continues;
    // registry slots
    int function_metatable, walk_metatable, anchor_metatable, memory_error;
    shim_class *classes;
    size_t spare_classes;  // classes that can be reused
} host;

static inline host *host_of(lua_State *L) { return *(host **)lua_getextraspace(L); }

void *host_allocate(void *ud, void *p, size_t old, size_t new);
void host_free_memory(memory *m);
void host_free_kept(memory *m);

void finalizers_follow(host *h);
void finalizers_setup(lua_State *L);

// Called before a host call, whose memory is not limited: collects garbage, or raises an error.
static inline void relieve_memory(lua_State *L, host *h) {
    if (h->mem.charge) memory_relieve(L);
}

// Turns the quota on while Lua code runs, and off while the host works.
//
// Lua runs finalizers (`__gc`) in the middle of any allocation. The quota must be on for them, so once a script has set
// one, the collector is suspended while the quota is off.
static inline void quota_set(host *h, int on) {
    h->mem.enforce = on;
    if (h->has_finalizers) finalizers_follow(h);
}

// Entering Swift turns the quota off and records the stack in `current`. Leaving restores both.
typedef struct { lua_State *current; int enforce; } passage;
static inline passage passage_to_swift(host *h, lua_State *L) {
    passage p = { h->current, h->mem.enforce };
    h->current = L;
    h->passages++;
    quota_set(h, 0);
    return p;
}
static inline void passage_back(host *h, passage p) { h->current = p.current; quota_set(h, p.enforce); }

// Marks the begin and end of execution on a Lua stack. Returns false if there is no memory for the frame.
int frame_enter(host *h, lua_State *L);
void frame_leave(host *h);
void frames_end(host *h);  // when the state is closed
bool stop_asked(host *h);
bool stop_due(host *h);  // whether the next instruction would raise the stop; false while the code cleans up after it
void stop_hook(lua_State *L, lua_Debug *ar);
void collect_soon(host *h);  // makes a hook collect garbage before the next instruction
int raise_error(lua_State *L);  // raises the value on top, or a stop that is due instead
void stop_here(host *h, int reason);  // called by the run itself; `stop_hook` raises
bool interrupt_request(shim_interrupt *i, bool catchable, int reason, uint64_t only);  // only: this run; 0: any
int64_t monotonic_now(void);
void interrupt_setup(lua_State *L, host *h);
// Limits: called at the begin and end of an outermost run, and to restore a stack's hook when nothing else is hooked.
void limits_begin_run(host *h);
void limits_end_run(host *h);
void limits_charge(host *h, int64_t instructions);
void limits_hook(host *h, lua_State *L);
void limits_teardown(host *h);
void interrupt_teardown(host *h);
void coroutine_setup(lua_State *L);
void collect_setup(lua_State *L, host *h);
void class_setup(lua_State *L, host *h);
void class_teardown(host *h);
void function_setup(lua_State *L, host *h);
void protected_setup(lua_State *L);
void stoppable_setup(lua_State *L);
void debug_setup(lua_State *L);
void describe_memory_error(lua_State *L);  // [-1, +1] the account's error in place of Lua's, if there is an account
int class_create_function(lua_State *L);
int message_handler(lua_State *L);
int32_t status_of_lua(int status);  // SHIM_OK and others, for a LUA_OK and others
