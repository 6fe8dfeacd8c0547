// Replacements for functions of Lua's libraries that a stop can interrupt: a hostile pattern on a text of a few hundred
// letters, or `table.move({}, 1, 1 << 62, 2)`, would never end in practice.
#include "stoppable.h"

void stoppable_look(lua_State *L, unsigned steps) {
    host *h = host_of(L);
    limits_charge(h, steps);
    if (stop_asked(h)) stop_hook(L, NULL);
}

static int bounded_rep(lua_State *L) {
    size_t length, separator;
    luaL_checklstring(L, 1, &length);
    luaL_checkinteger(L, 2);
    luaL_optlstring(L, 3, "", &separator);
    if (length + separator == 0) {  // the original would count to the end as well
        lua_pushliteral(L, "");
        return 1;
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

// Called in protected mode after the libraries have been opened.
void stoppable_setup(lua_State *L) {
    if (lua_getglobal(L, LUA_STRLIBNAME) == LUA_TTABLE) {
        static const luaL_Reg functions[] = {
            { "find", stoppable_find },     { "match", stoppable_match },
            { "gmatch", stoppable_gmatch }, { "gsub", stoppable_gsub },   { NULL, NULL },
        };
        luaL_setfuncs(L, functions, 0);
        lua_getfield(L, -1, "rep");
        lua_pushcclosure(L, bounded_rep, 1);
        lua_setfield(L, -2, "rep");
    }
    lua_pop(L, 1);
    if (lua_getglobal(L, LUA_TABLIBNAME) == LUA_TTABLE) {
        // Not `sort`: Lua's sort ends after n log n comparisons, and comparisons in Lua can be stopped.
        static const luaL_Reg functions[] = {
            { "insert", stoppable_insert }, { "remove", stoppable_remove }, { "move", stoppable_move },
            { "concat", stoppable_concat }, { "unpack", stoppable_unpack }, { NULL, NULL },
        };
        luaL_setfuncs(L, functions, 0);
    }
    lua_pop(L, 1);
}
