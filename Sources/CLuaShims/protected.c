// From Swift into Lua: every call that may run Lua code goes through shim_call.
#include <stdio.h>
#include "host.h"

// Replaces an error value with its description, as the handler of lua.c does. Runs where the error was raised, so that
// a __tostring can inspect the stack. Errors of the host stay unchanged.
static bool describes_itself(lua_State *L) {
    shim_class *ours;
    if (lua_type(L, 1) == LUA_TSTRING || lua_type(L, 1) == LUA_TNUMBER || shim_to_box(L, 1, &ours)) return false;
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return true;
    lua_settop(L, 1);
    return false;
}

// Calls the error observer, which can inspect the stack of an error. Errors of the observer are dropped.
static void observe_error(lua_State *L, host *h) {
    if (!h->error_observer || h->observing_error || !lua_checkstack(L, 4)) return;
    h->observing_error = true;
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->error_observer);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1);
    h->observing_error = false;
}

void shim_set_error_observer(lua_State *L) {
    host *h = host_of(L);
    if (h->error_observer) luaL_unref(L, LUA_REGISTRYINDEX, h->error_observer);
    h->error_observer = luaL_ref(L, LUA_REGISTRYINDEX);
}

// The traceback is taken where the error was raised, with the quota off; the error value itself does not change.
int message_handler(lua_State *L) {
    host *h = host_of(L);
    if (h->raised) return 1;  // the stop hook has taken the traceback
    int enforce = h->mem.enforce;
    free(h->traceback);
    h->traceback = NULL;
    if (h->describing == h->depth && describes_itself(L)) return 1;
    quota_set(h, 0);
    if (h->kept && h->kept_for == lua_topointer(L, 1)) {
        h->traceback = h->kept;  // raised again: the first traceback counts
        h->kept = NULL;
    } else {
        luaL_traceback(L, L, NULL, 1);
        h->traceback = strdup(lua_tostring(L, -1));
        lua_pop(L, 1);
        observe_error(L, h);
    }
    quota_set(h, enforce);
    return 1;
}

const char *shim_last_traceback(lua_State *L) { return host_of(L)->traceback; }
void shim_keep_traceback(lua_State *L, const char *text) {
    host *h = host_of(L);
    free(h->kept);
    h->kept = text ? strdup(text) : NULL;
    h->kept_for = lua_topointer(L, -1);
}

int32_t status_of_lua(int status) {
    switch (status) {
    case LUA_OK: return SHIM_OK;
    case LUA_ERRMEM: return SHIM_MEMORY;
    case LUA_ERRERR: return SHIM_HANDLER;
    case LUA_ERRSYNTAX: return SHIM_SYNTAX;
    default: return SHIM_RUNTIME;
    }
}

// A run in which the stop hook has raised counts as stopped, even if the script caught that with `pcall`.
static int stopped(lua_State *L, host *h, int base) {
    lua_settop(L, base);
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->stop_values[atomic_load(&h->reason)]);
    return SHIM_STOPPED;
}

int32_t shim_call(lua_State *L, int32_t arguments, int32_t results) {
    host *h = host_of(L);
    int base = lua_gettop(L) - arguments - 1;
    if (!lua_checkstack(L, 4) || !frame_enter(h, L)) {
        lua_settop(L, base);
        lua_pushliteral(L, "stack overflow");
        return SHIM_OVERFLOW;
    }
    lua_pushcfunction(L, message_handler);
    lua_insert(L, base + 1);
    passage p = { h->current, h->mem.enforce };
    h->current = L;
    h->passages++;
    quota_set(h, 1);
    int status = lua_pcall(L, arguments, results, base + 1);
    passage_back(h, p);
    lua_remove(L, base + 1);
    int was_stopped = h->raised;
    frame_leave(h);
    if (was_stopped) return stopped(L, h, base);
    if (status == LUA_ERRMEM || status == LUA_ERRERR) {  // Lua has not called the message handler
        free(h->traceback);
        h->traceback = NULL;
    }
    if (status == LUA_ERRMEM) describe_memory_error(L);
    return status_of_lua(status);
}

int32_t shim_call_described(lua_State *L, int32_t arguments, int32_t results) {
    host *h = host_of(L);
    int outer = h->describing;
    h->describing = h->depth + 1;
    int32_t status = shim_call(L, arguments, results);
    h->describing = outer;
    return status;
}

// Inserts `f` below the topmost `arguments` values and calls it.
static int32_t protect(lua_State *L, lua_CFunction f, int arguments, int results) {
    if (!lua_checkstack(L, 4)) {
        lua_pop(L, arguments);
        lua_pushliteral(L, "stack overflow");
        return SHIM_OVERFLOW;
    }
    lua_pushcfunction(L, f);
    lua_insert(L, -arguments - 1);
    return shim_call(L, arguments, results);
}

static int get(lua_State *L) { lua_gettable(L, 1); return 1; }
static int set(lua_State *L) { lua_settable(L, 1); return 0; }
static int length(lua_State *L) { lua_len(L, 1); return 1; }
static int to_string(lua_State *L) { luaL_tolstring(L, 1, NULL); return 1; }

int32_t shim_get(lua_State *L) {
    if (lua_istable(L, -2)) {
        if (!lua_getmetatable(L, -2)) {  // nothing can run or raise
            lua_rawget(L, -2);
            lua_remove(L, -2);
            return SHIM_OK;
        }
        lua_pop(L, 1);
    }
    return protect(L, get, 2, 1);
}
int32_t shim_set(lua_State *L) { return protect(L, set, 3, 0); }
int32_t shim_length(lua_State *L) { return protect(L, length, 1, 1); }
int32_t shim_tostring(lua_State *L) { return protect(L, to_string, 1, 1); }

int32_t shim_load(lua_State *L, const void *p, size_t n, const char *name, const char *mode) {
    return status_of_lua(luaL_loadbufferx(L, n ? p : "", n, name, mode));  // lua_load is protected
}

// ---- pcall and xpcall of scripts with a memory account, as in lbaselib.c. A script that is refused memory catches the
// account's error, which has a code, instead of Lua's string.

void describe_memory_error(lua_State *L) {
    host *h = host_of(L);
    h->mem.is_overdrawn = false;
    if (!h->memory_error) return;
    lua_pop(L, 1);  // before the push, because there may be no slot left
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->memory_error);
}

void shim_set_memory_error(lua_State *L) {
    host *h = host_of(L);
    if (!h->memory_error) h->memory_error = luaL_ref(L, LUA_REGISTRYINDEX);
    else lua_rawseti(L, LUA_REGISTRYINDEX, h->memory_error);
}

// The lowest `extra` values on the stack are not results.
static int finish(lua_State *L, int status, lua_KContext extra) {
    if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)extra;
    if (status == LUA_ERRMEM) describe_memory_error(L);
    lua_pushboolean(L, 0);
    lua_pushvalue(L, -2);
    return 2;
}

static int protected_call(lua_State *L) {
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    return finish(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish), 0);
}

// The handler stays in slot 2, where a stop looks for it.
static int protected_call_with_handler(lua_State *L) {
    int count = lua_gettop(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2);
    return finish(L, lua_pcallk(L, count - 2, LUA_MULTRET, 2, 2, finish), 2);
}

// Called in protected mode after the libraries have been opened.
void protected_setup(lua_State *L) {
    if (lua_getglobal(L, "pcall") == LUA_TFUNCTION) {
        lua_pushcfunction(L, protected_call);
        lua_setglobal(L, "pcall");
        lua_pushcfunction(L, protected_call_with_handler);
        lua_setglobal(L, "xpcall");
    }
    lua_pop(L, 1);
}

typedef struct { char *bytes; size_t length, capacity; } block;
static int append(lua_State *L, const void *p, size_t n, void *ud) {
    (void)L;
    block *b = ud;
    if (b->length + n > b->capacity) {
        size_t capacity = 2 * (b->length + n);
        char *bytes = realloc(b->bytes, capacity);
        if (!bytes) return 1;
        b->bytes = bytes;
        b->capacity = capacity;
    }
    memcpy(b->bytes + b->length, p, n);
    b->length += n;
    return 0;
}
static int dump(lua_State *L) {
    int strip = lua_toboolean(L, 2);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    // Works like string.dump. The function must be on top when lua_dump looks for it, so the buffer must not push
    // anything and uses a plain heap block.
    block b = { NULL, 0, 0 };
    if (lua_dump(L, append, &b, strip)) {
        free(b.bytes);
        return luaL_error(L, "unable to dump given function");
    }
    host_of(L)->mem.enforce = 0;  // a refused allocation would leak the block
    lua_pushlstring(L, b.bytes, b.length);
    free(b.bytes);
    return 1;
}
int32_t shim_dump(lua_State *L, bool strip) {
    lua_pushboolean(L, strip);
    return protect(L, dump, 2, 1);
}

void shim_traceback(lua_State *L, lua_State *of, const char *message, int32_t level) {
    luaL_traceback(L, of, message, level);
}
// Returns the caller of the running function. Fast creation calls the general function itself; then its own caller is
// returned.
void shim_where(lua_State *L, int32_t level) {
    lua_Debug ar;
    if (lua_getstack(L, level, &ar) && lua_getinfo(L, "f", &ar)) {
        if (lua_tocfunction(L, -1) == class_create_function) level++;
        lua_pop(L, 1);
    }
    luaL_where(L, level);
    // A location in one of the program's own files is not the user's.
    if (strncmp(lua_tostring(L, -1), "[moonpool ", 10) == 0) {
        lua_pop(L, 1);
        lua_pushliteral(L, "");
    }
}

bool shim_stack_frame(lua_State *L, int32_t level, shim_frame *out) {
    lua_Debug ar;
    memset(out, 0, sizeof *out);
    if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "Sln", &ar)) return false;
    snprintf(out->source, sizeof out->source, "%s", ar.short_src);
    if (ar.name) snprintf(out->name, sizeof out->name, "%s", ar.name);
    out->line = ar.currentline;
    out->defined = ar.linedefined;
    out->is_lua = ar.what[0] != 'C';
    return true;
}

const char *shim_push_upvalue(lua_State *L, int32_t f, int32_t n) { return lua_getupvalue(L, f, n); }
bool shim_set_upvalue(lua_State *L, int32_t f, int32_t n) {
    if (lua_setupvalue(L, f, n)) return true;
    lua_pop(L, 1);
    return false;
}
