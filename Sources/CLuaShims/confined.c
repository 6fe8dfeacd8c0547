// Replacements, in a confined script, for functions of Lua's libraries that could leave the state, confuse the virtual
// machine (binary chunks), or run where a stop cannot reach (finalizers).
#include "stoppable.h"

static int call_original(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(1))(L); }

static int text_load(lua_State *L) {
    if (lua_gettop(L) < 3) lua_settop(L, 3);
    luaL_optstring(L, 3, NULL);
    lua_pushliteral(L, "t");  // whatever the caller passed: Lua trusts binary chunks
    lua_replace(L, 3);
    return call_original(L);
}

static int plain_setmetatable(lua_State *L) {
    if (lua_type(L, 2) == LUA_TTABLE) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL) return luaL_error(L, "a sandboxed script has no '__gc'");
        lua_pop(L, 1);
    }
    return call_original(L);
}

// Replaces the function `name` of the table on top with one that calls it.
static void replace(lua_State *L, const char *name, lua_CFunction by) {
    if (lua_getfield(L, -1, name) != LUA_TFUNCTION) {
        lua_pop(L, 1);
        return;
    }
    lua_pushcclosure(L, by, 1);
    lua_setfield(L, -2, name);
}

static void drop(lua_State *L, const char *const *names) {
    for (; *names; names++) {
        lua_pushnil(L);
        lua_setfield(L, -2, *names);
    }
}

static int confine(lua_State *L) {
    lua_pushglobaltable(L);
    static const char *const reaching_out[] = { "dofile", "loadfile", "require", NULL };
    drop(L, reaching_out);
    replace(L, "load", text_load);
    replace(L, "setmetatable", plain_setmetatable);
    // Keeps only the functions of `os` that read the time.
    luaL_requiref(L, LUA_OSLIBNAME, luaopen_os, 0);
    static const char *const times[] = { "clock", "date", "difftime", "time", NULL };
    lua_createtable(L, 0, 4);
    for (const char *const *name = times; *name; name++) {
        lua_getfield(L, -2, *name);
        lua_setfield(L, -2, *name);
    }
    lua_setfield(L, -3, LUA_OSLIBNAME);
    lua_pop(L, 1);
    if (lua_getfield(L, -1, LUA_STRLIBNAME) == LUA_TTABLE) {
        static const char *const binary[] = { "dump", NULL };
        drop(L, binary);
    }
    lua_pop(L, 1);
    if (lua_getfield(L, -1, LUA_TABLIBNAME) == LUA_TTABLE) {
        lua_pushcfunction(L, stoppable_sort);
        lua_setfield(L, -2, "sort");
    }
    lua_settop(L, 0);
    // All strings share their metatable, including strings that the host's functions use.
    lua_pushliteral(L, "");
    if (lua_getmetatable(L, -1)) {
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    // Opened libraries must not be reachable through the registry's list either.
    lua_createtable(L, 0, 0);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    return 0;
}

void shim_confine(lua_State *L) {
    lua_pushcfunction(L, confine);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1);
}
