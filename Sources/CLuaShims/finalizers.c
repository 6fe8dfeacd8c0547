// Detects that a script with a memory account sets a finalizer (see quota_set).
#include "host.h"

// Suspends the collector while the quota is off, unless the script itself has stopped it.
void finalizers_follow(host *h) {
    bool rests = !h->mem.enforce;
    if (rests == h->collector_rests) return;
    if (rests) {
        if (lua_gc(h->main, LUA_GCISRUNNING) != 1) return;
        lua_gc(h->main, LUA_GCSTOP);
    } else {
        lua_gc(h->main, LUA_GCRESTART);
    }
    h->collector_rests = rests;
}

// Upvalues: "__gc", Lua's own function.
static int noting_setmetatable(lua_State *L) {
    host *h = host_of(L);
    if (!h->has_finalizers && lua_type(L, 2) == LUA_TTABLE) {
        lua_pushvalue(L, lua_upvalueindex(1));
        if (lua_rawget(L, 2) != LUA_TNIL) h->has_finalizers = true;
        lua_pop(L, 1);
    }
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

// Replaces the `setmetatable` of the table on top.
static void replace(lua_State *L) {
    lua_pushliteral(L, "__gc");
    // A function that is a closure belongs to a confined script, which has no finalizers.
    if (lua_getfield(L, -2, "setmetatable") == LUA_TFUNCTION && lua_iscfunction(L, -1) && !lua_getupvalue(L, -1, 1)) {
        lua_pushcclosure(L, noting_setmetatable, 2);
        lua_setfield(L, -2, "setmetatable");
    }
}

static int install(lua_State *L) {
    lua_pushglobaltable(L);
    replace(L);
    lua_settop(L, 0);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, LUA_DBLIBNAME) == LUA_TTABLE) replace(L);
    return 0;
}

void finalizers_setup(lua_State *L) {
    lua_pushcfunction(L, install);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1);  // without memory for this, the script cannot run either
}
