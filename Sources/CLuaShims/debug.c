// Functions of `debug` that could change the values that functions of C rely on, or leave their calls: a script must
// not crash its host.
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
    if (lua_getstack(thread, (int)luaL_checkinteger(L, level), &frame) && lua_getinfo(thread, "S", &frame)) {
        if (*frame.what == 'C')
            return luaL_argerror(L, level, "the values of a native function cannot be changed");
        // The virtual machine relies on the types of values without a name, such as the table of a constructor.
        if (!lua_checkstack(thread, 1)) return luaL_error(L, "stack overflow");
        const char *name = lua_getlocal(thread, &frame, (int)luaL_checkinteger(L, level + 1));
        if (name) lua_pop(thread, 1);
        if (name && *name == '(' && strcmp(name, "(vararg)") != 0)
            return luaL_argerror(L, level + 1, "a value without a name cannot be changed");
    }
    return call_original(L);
}

// Lua creates the table of lines with the stack of the inspected coroutine. Where memory is refused, an error of a
// coroutine that does not run unwinds the main coroutine, and leaves the calls of the running one.
static int get_info(lua_State *L) {
    if (!lua_isthread(L, 1) || lua_tothread(L, 1) == L || lua_isfunction(L, 2)) return call_original(L);
    const char *options = luaL_optstring(L, 3, "");
    if (!strchr(options, 'L')) return call_original(L);
    bool wants_function = strchr(options, 'f');
    lua_settop(L, 3);
    luaL_gsub(L, options, "L", "f");
    lua_replace(L, 3);
    call_original(L);
    if (lua_istable(L, -1)) {
        lua_Debug function;
        lua_getfield(L, -1, "func");
        lua_getinfo(L, ">L", &function);
        lua_setfield(L, -2, "activelines");
        if (!wants_function) {
            lua_pushnil(L);
            lua_setfield(L, -2, "func");
        }
    }
    return 1;
}

// Functions of C recognize their userdata by the metatable, which is in the registry by its name.
static int set_metatable(lua_State *L) {
    luaL_argexpected(L, lua_type(L, 2) == LUA_TNIL || lua_istable(L, 2), 2, "nil or table");
    bool has_one = lua_getmetatable(L, 1);
    if (lua_type(L, 1) == LUA_TUSERDATA && lua_istable(L, 2) && !(has_one && lua_rawequal(L, -1, 2))) {
        lua_pushnil(L);
        for (; lua_next(L, LUA_REGISTRYINDEX); lua_pop(L, 1))
            if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, 2))
                return luaL_argerror(L, 2, "this metatable belongs to the values of a library");
    }
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
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
        replace(L, "getinfo", get_info);
        replace(L, "setupvalue", set_upvalue);
        replace(L, "setlocal", set_local);
        lua_pushcfunction(L, set_metatable);
        lua_setfield(L, -2, "setmetatable");
    }
    lua_pop(L, 1);
}
