// The environment of the program's own Lua files: copies of the standard functions, taken before a script runs, so that
// no script can change what these files call. Methods of strings are the exception (`text:upper()` finds the script's
// `string`): these files write `string.upper(text)`.
#include "host.h"

static const char captured[] = "moonpool.standard";

static void copy_table(lua_State *L, int from) {
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, from)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
}

static int capture(lua_State *L) {
    lua_pushglobaltable(L);
    copy_table(L, 1);
    static const char *const shared[] = { LUA_GNAME, LUA_LOADLIBNAME };  // they lead to tables that scripts change
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        lua_pushnil(L);
        lua_setfield(L, 2, shared[i]);
    }
    lua_pushnil(L);
    while (lua_next(L, 2)) {
        if (lua_istable(L, -1)) {
            copy_table(L, 4);
            lua_pushvalue(L, 3);
            lua_insert(L, -2);
            lua_rawset(L, 2);  // an existing key, which `next` permits
        }
        lua_settop(L, 3);
    }
    lua_setfield(L, LUA_REGISTRYINDEX, captured);
    return 0;
}

void shim_capture_standard(lua_State *L) {
    lua_pushcfunction(L, capture);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1);
}

void shim_push_standard(lua_State *L) {
    lua_pushstring(L, captured);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

static int load_runtime(lua_State *L) {
    const char *text = lua_touserdata(L, 1), *name = lua_touserdata(L, 2);
    if (luaL_loadbufferx(L, text, strlen(text), name, "t") != LUA_OK) return lua_error(L);
    lua_newtable(L);  // the file's own globals
    lua_newtable(L);
    lua_getfield(L, LUA_REGISTRYINDEX, captured);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_setupvalue(L, -2, 1);
    return 1;
}

int32_t shim_load_runtime(lua_State *L, const char *text, const char *name) {
    lua_pushcfunction(L, load_runtime);
    lua_pushlightuserdata(L, (void *)text);
    lua_pushlightuserdata(L, (void *)name);
    return status_of_lua(lua_pcall(L, 2, 1, 0));
}
