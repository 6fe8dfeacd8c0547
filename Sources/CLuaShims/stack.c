// Operations that neither raise nor run Lua code, provided that the host has memory (see CLuaShims.h).
#include "host.h"

int32_t shim_top(lua_State *L) { return lua_gettop(L); }
void shim_settop(lua_State *L, int32_t top) { lua_settop(L, top); }  // no to-be-closed slots in host frames
bool shim_reserve(lua_State *L, int32_t slots) { return lua_checkstack(L, slots); }
int32_t shim_type(lua_State *L, int32_t i) { return lua_type(L, i); }

const char *shim_type_name(lua_State *L, int32_t i) {
    const char *name = lua_typename(L, lua_type(L, i));
    if (lua_getmetatable(L, i)) {
        lua_pushliteral(L, "__name");
        lua_rawget(L, -2);
        if (lua_type(L, -1) == LUA_TSTRING) name = lua_tostring(L, -1);  // the metatable keeps it alive
        lua_pop(L, 2);
    }
    return name;
}

bool shim_is_integer(lua_State *L, int32_t i) { return lua_isinteger(L, i); }
bool shim_boolean(lua_State *L, int32_t i) { return lua_toboolean(L, i); }
int64_t shim_integer(lua_State *L, int32_t i) { return lua_tointeger(L, i); }
double shim_number(lua_State *L, int32_t i) { return lua_tonumber(L, i); }
bool shim_exact_integer(lua_State *L, int32_t i, int64_t *out) {
    int exact = 0;
    if (lua_type(L, i) == LUA_TNUMBER) *out = lua_tointegerx(L, i, &exact);
    return exact;
}
const char *shim_bytes(lua_State *L, int32_t i, size_t *n) {
    *n = 0;
    return lua_type(L, i) == LUA_TSTRING ? lua_tolstring(L, i, n) : NULL;
}
bool shim_starts_with(lua_State *L, int32_t i, const void *prefix, size_t n) {
    size_t length;
    const char *bytes = shim_bytes(L, i, &length);
    return bytes && length >= n && memcmp(bytes, prefix, n) == 0;
}
const void *shim_pointer(lua_State *L, int32_t i) { return lua_topointer(L, i); }
size_t shim_rawlen(lua_State *L, int32_t i) { return lua_rawlen(L, i); }
void shim_push_nil(lua_State *L) { lua_pushnil(L); }
void shim_push_boolean(lua_State *L, bool v) { lua_pushboolean(L, v); }
void shim_push_integer(lua_State *L, int64_t v) { lua_pushinteger(L, v); }
void shim_push_number(lua_State *L, double v) { lua_pushnumber(L, v); }
void shim_push_bytes(lua_State *L, const void *p, size_t n) { lua_pushlstring(L, n ? p : "", n); }
void shim_push_copy(lua_State *L, int32_t i) { lua_pushvalue(L, i); }
void shim_push_globals(lua_State *L) { lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS); }
void shim_push_registry(lua_State *L) { lua_pushvalue(L, LUA_REGISTRYINDEX); }
void shim_push_table(lua_State *L, int32_t array, int32_t fields) {
    lua_createtable(L, array < 0 ? 0 : array, fields < 0 ? 0 : fields);
}

void shim_rawget(lua_State *L, int32_t t) {
    if (lua_istable(L, t)) {
        lua_rawget(L, t);
    } else {
        lua_pop(L, 1);
        lua_pushnil(L);
    }
}
bool shim_rawset(lua_State *L, int32_t t) {
    int usable = lua_istable(L, t) && !lua_isnil(L, -2);
    if (usable && lua_type(L, -2) == LUA_TNUMBER && !lua_isinteger(L, -2)) {
        double d = lua_tonumber(L, -2);
        usable = d == d;
    }
    if (usable) lua_rawset(L, t); else lua_pop(L, 2);
    return usable;
}
void shim_rawseti(lua_State *L, int32_t t, int64_t i) {
    if (lua_istable(L, t)) lua_rawseti(L, t, i); else lua_pop(L, 1);
}

static int raw_next(lua_State *L) {
    lua_settop(L, 2);
    if (lua_next(L, 1)) return 2;
    lua_pushnil(L);
    lua_pushnil(L);
    return 2;
}
bool shim_rawnext(lua_State *L, int32_t t) {
    if (!lua_istable(L, t)) {
        lua_pop(L, 1);
        return false;
    }
    lua_pushvalue(L, t);
    lua_pushcfunction(L, raw_next);
    lua_rotate(L, -3, 1);  // key table next -> next key table
    lua_insert(L, -2);     // -> next table key
    if (lua_pcall(L, 2, 2, 0) != LUA_OK) {
        lua_pop(L, 1);
        return false;
    }
    if (!lua_isnil(L, -2)) return true;
    lua_pop(L, 2);
    return false;
}

bool shim_get_metatable(lua_State *L, int32_t i) { return lua_getmetatable(L, i); }
void shim_set_metatable(lua_State *L, int32_t i) {
    i = lua_absindex(L, i);
    if (lua_istable(L, -1) || lua_isnil(L, -1)) lua_setmetatable(L, i); else lua_pop(L, 1);
}

int32_t shim_reference(lua_State *L) { return luaL_ref(L, LUA_REGISTRYINDEX); }
void shim_push_reference(lua_State *L, int32_t slot) { lua_rawgeti(L, LUA_REGISTRYINDEX, slot); }
void shim_unreference(lua_State *L, int32_t slot) { luaL_unref(L, LUA_REGISTRYINDEX, slot); }
