// Functions of `debug` that could change the values that functions of C rely on: a script must not crash its host.
#include "host.h"

// The closures have Lua's own function as their upvalue, which scripts cannot replace.
static int call_original(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(1))(L); }

static int set_upvalue(lua_State *L) {
    if (lua_iscfunction(L, 1)) return luaL_argerror(L, 1, "the upvalues of a native function cannot be changed");
    return call_original(L);
}

static int set_local(lua_State *L) {
    bool names_thread = lua_isthread(L, 1);
    lua_State *thread = names_thread ? lua_tothread(L, 1) : L;
    int level = names_thread ? 2 : 1;
    lua_Debug frame;
    if (lua_getstack(thread, (int)luaL_checkinteger(L, level), &frame) && lua_getinfo(thread, "S", &frame) &&
        *frame.what == 'C')
        return luaL_argerror(L, level, "the values of a native function cannot be changed");
    return call_original(L);
}

static void replace(lua_State *L, const char *name, lua_CFunction by) {
    if (lua_getfield(L, -1, name) == LUA_TFUNCTION) {
        lua_pushcclosure(L, by, 1);
        lua_setfield(L, -2, name);
    } else {
        lua_pop(L, 1);
    }
}

// Called in protected mode after the libraries have been opened.
void debug_setup(lua_State *L) {
    if (lua_getglobal(L, LUA_DBLIBNAME) == LUA_TTABLE) {
        replace(L, "setupvalue", set_upvalue);
        replace(L, "setlocal", set_local);
    }
    lua_pop(L, 1);
}
