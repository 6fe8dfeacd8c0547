// The module luv in a state of the host: its callbacks can be interrupted like other code, and their errors are kept
// for the host. By default, luv ends the process at the first error in a callback.
#define _GNU_SOURCE
#include <dlfcn.h>
#include "host.h"

// Declared as in luv.h, which need not be installed when this file is compiled.
typedef int (*luv_protected_call)(lua_State *L, int arguments, int results, int flags);
typedef void (*luv_set_callback_function)(lua_State *L, luv_protected_call call);
typedef void *(*luv_loop_function)(lua_State *L);
typedef void (*luv_set_loop_function)(lua_State *L, void *loop);

static const char failures_key = 0;  // its address is the registry key of the list of errors

// Pops an error and appends it to the list, with a traceback of the code that raised it.
static void keep_failure(lua_State *L, host *h) {
    int enforce = h->mem.enforce;
    quota_set(h, 0);  // no jump may leave this function: libuv is on the stack
    int error = lua_gettop(L);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &failures_key) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &failures_key);
    }
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, error);
    lua_rawseti(L, -2, 1);
    lua_pushstring(L, h->traceback ? h->traceback : "");
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_settop(L, error - 1);
    quota_set(h, enforce);
}

// luv calls all its callbacks through this function, with the function and its arguments on the stack. Returns the
// number of results, or a negative value.
static int call_back(lua_State *L, int arguments, int results, int flags) {
    (void)flags;
    host *h = host_of(L);
    int base = lua_gettop(L) - arguments;
    if (h->luv_is_silent || !lua_checkstack(L, 8) || !frame_enter(h, L)) {
        lua_settop(L, base - 1);
        return -LUA_ERRRUN;
    }
    lua_pushcfunction(L, message_handler);
    lua_insert(L, base);
    int status = lua_pcall(L, arguments, results, base);
    lua_remove(L, base);
    int was_stopped = h->raised;
    frame_leave(h);
    if (status == LUA_OK) return results == LUA_MULTRET ? lua_gettop(L) - base + 1 : results;
    if (was_stopped) lua_pop(L, 1); else keep_failure(L, h);
    return -status;
}

// Takes the module as its argument; returns true if it is the C module luv.
static int adopt(lua_State *L) {
    bool is_adopted = false;
    Dl_info info;
    lua_getfield(L, 1, "run");
    lua_CFunction run = lua_tocfunction(L, -1);
    if (run && dladdr((void *)run, &info) && info.dli_fname) {
        void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        if (library) {
            luv_set_callback_function set_callback = (luv_set_callback_function)dlsym(library, "luv_set_callback");
            luv_loop_function loop = (luv_loop_function)dlsym(library, "luv_loop");
            luv_set_loop_function set_loop = (luv_set_loop_function)dlsym(library, "luv_set_loop");
            if (set_callback && loop && set_loop) {
                // Callbacks run on the stack that luv uses; the coroutine that loaded luv may have been collected.
                set_loop(host_of(L)->main, loop(L));
                set_callback(L, call_back);
                is_adopted = true;
            }
            dlclose(library);  // luv stays loaded: this was a second reference
        }
    }
    lua_pushboolean(L, is_adopted);
    return 1;
}

bool shim_adopt_luv(lua_State *L) {
    host *h = host_of(L);
    int enforce = h->mem.enforce;
    quota_set(h, 0);
    lua_pushcfunction(L, adopt);
    lua_insert(L, -2);
    bool result = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_toboolean(L, -1);
    lua_pop(L, 1);
    quota_set(h, enforce);
    return result;
}

void shim_silence_luv(lua_State *L) { host_of(L)->luv_is_silent = 1; }

void shim_take_luv_failures(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &failures_key);
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &failures_key);
}
