// coroutine.resume, wrap and close as in lcorolib.c, with one addition: they record the running stack, so that a stop
// reaches it. Coroutines that Swift drives work the same way.
#include "host.h"

static int resume_framed(lua_State *L, lua_State *co, int arguments, int *results) {
    host *h = host_of(L);
    limits_charge(h, 100);  // otherwise the steps of a new coroutine before its first count are not counted
    if (!frame_enter(h, co)) return luaL_error(L, "not enough memory");
    int status = lua_resume(co, L, arguments, results);
    frame_leave(h);
    return status;
}

static int aux_resume(lua_State *L, lua_State *co, int arguments) {
    int results;
    if (!lua_checkstack(co, arguments)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, arguments);
    int status = resume_framed(L, co, arguments, &results);
    if (status == LUA_OK || status == LUA_YIELD) {
        if (!lua_checkstack(L, results + 1)) {
            lua_pop(co, results);
            lua_pushliteral(L, "too many results to resume");
            return -1;
        }
        lua_xmove(co, L, results);
        return results;
    }
    lua_xmove(co, L, 1);
    if (status == LUA_ERRMEM) describe_memory_error(L);
    return -1;
}

static lua_State *coroutine_argument(lua_State *L) {
    lua_State *co = lua_tothread(L, 1);
    if (!co) luaL_typeerror(L, 1, "coroutine");
    return co;
}

static int co_resume(lua_State *L) {
    lua_State *co = coroutine_argument(L);
    int n = aux_resume(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, n >= 0);
    if (n < 0) n = 1;
    lua_insert(L, -(n + 1));
    return n + 1;
}

static int reset_framed(lua_State *L, lua_State *co) {
    host *h = host_of(L);
    if (!frame_enter(h, co)) return luaL_error(L, "not enough memory");
    int status = lua_resetthread(co);  // runs __close metamethods
    frame_leave(h);
    return status;
}

static int wrapped(lua_State *L) {
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    if (!co) return luaL_error(L, "coroutine expected");
    int n = aux_resume(L, co, lua_gettop(L));
    if (n >= 0) return n;
    int status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD) {
        status = reset_framed(L, co);
        if (lua_gettop(co) > 0) {
            lua_pop(L, 1);
            lua_xmove(co, L, 1);
        }
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int co_wrap(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, wrapped, 1);
    return 1;
}

enum { MOST_STACK = 1 << 20 };  // in bytes, at the call of `close`; Lua's depth limit takes less
enum { SUSPENDED, RUNNING, NORMAL, DEAD };
static int status_of(lua_State *L, lua_State *co) {
    if (L == co) return RUNNING;
    switch (lua_status(co)) {
    case LUA_YIELD: return SUSPENDED;
    case LUA_OK: {
        lua_Debug ar;
        if (lua_getstack(co, 0, &ar)) return NORMAL;
        return lua_gettop(co) == 0 ? DEAD : SUSPENDED;
    }
    default: return DEAD;
    }
}

// Lua limits the depth of calls of C, but starts to count again in each coroutine that it closes.
static bool is_stack_used_up(host *h) {
    return llabs((const char *)__builtin_frame_address(0) - h->stack_begin) > MOST_STACK;
}

static int co_close(lua_State *L) {
    static const char *const names[] = { "suspended", "running", "normal", "dead" };
    lua_State *co = coroutine_argument(L);
    int status = status_of(L, co);
    if (status != SUSPENDED && status != DEAD) return luaL_error(L, "cannot close a %s coroutine", names[status]);
    if (is_stack_used_up(host_of(L))) return luaL_error(L, "C stack overflow");
    if (reset_framed(L, co) == LUA_OK) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushboolean(L, 0);
    lua_xmove(co, L, 1);
    return 2;
}

// Lua creates the texts of these errors on the stack of a coroutine that does not run. Without memory for one, it would
// jump to the main stack, over the frames in between. Texts that exist take no memory.
static void keep_texts(lua_State *L) {
    static const char *const texts[] = {
        "cannot resume non-suspended coroutine", "cannot resume dead coroutine", "C stack overflow",
        "error in error handling", NULL,
    };
    for (const char *const *text = texts; *text; text++) {
        lua_pushstring(L, *text);
        luaL_ref(L, LUA_REGISTRYINDEX);
    }
}

// Called in protected mode after the libraries have been opened.
void coroutine_setup(lua_State *L) {
    host *h = host_of(L);
    keep_texts(L);
    if (lua_getglobal(L, "xpcall") == LUA_TFUNCTION && !h->xpcall) h->xpcall = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    if (lua_getglobal(L, LUA_COLIBNAME) == LUA_TTABLE) {
        static const luaL_Reg ours[] = { { "resume", co_resume }, { "wrap", co_wrap }, { "close", co_close }, { NULL, NULL } };
        luaL_setfuncs(L, ours, 0);
    }
    lua_pop(L, 1);
}

lua_State *shim_to_thread(lua_State *L, int32_t index) { return lua_tothread(L, index); }
int32_t shim_thread_status(lua_State *L, lua_State *co) { return status_of(L, co); }
