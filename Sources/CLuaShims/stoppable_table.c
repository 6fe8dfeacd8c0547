// The functions of `table` that contain loops. Lua's versions trust `__len` and their arguments, and cannot be stopped.
#include "stoppable.h"

static lua_Integer length_of(lua_State *L, int index) {
    if (!lua_istable(L, index)) {  // any value with a length
        if (luaL_getmetafield(L, index, "__len") == LUA_TNIL) luaL_checktype(L, index, LUA_TTABLE);
        lua_pop(L, 1);
    }
    return luaL_len(L, index);
}

// Access runs no code of the script, and the length is the real one.
static bool is_plain(lua_State *L, int index) {
    if (!lua_istable(L, index)) return false;
    if (!lua_getmetatable(L, index)) return true;
    lua_pop(L, 1);
    return false;
}

int stoppable_insert(lua_State *L) {
    if (lua_gettop(L) == 2 && is_plain(L, 1)) {
        lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
        return 0;
    }
    lua_Integer end = length_of(L, 1), position;
    end = (lua_Integer)((lua_Unsigned)end + 1);
    unsigned steps = 0;
    switch (lua_gettop(L)) {
    case 2: position = end; break;
    case 3:
        position = luaL_checkinteger(L, 2);
        luaL_argcheck(L, (lua_Unsigned)position - 1u < (lua_Unsigned)end, 2, "position out of bounds");
        for (lua_Integer i = end; i > position; i--) {
            stoppable_step(L, &steps);
            lua_geti(L, 1, i - 1);
            lua_seti(L, 1, i);
        }
        break;
    default: return luaL_error(L, "wrong number of arguments to 'insert'");
    }
    lua_seti(L, 1, position);
    return 0;
}

int stoppable_remove(lua_State *L) {
    lua_Integer size = length_of(L, 1), position = luaL_optinteger(L, 2, size);
    unsigned steps = 0;
    if (position != size)
        luaL_argcheck(L, (lua_Unsigned)position - 1u <= (lua_Unsigned)size, 1, "position out of bounds");
    lua_geti(L, 1, position);
    for (; position < size; position++) {
        stoppable_step(L, &steps);
        lua_geti(L, 1, position + 1);
        lua_seti(L, 1, position);
    }
    lua_pushnil(L);
    lua_seti(L, 1, position);
    return 1;
}

int stoppable_move(lua_State *L) {
    lua_Integer first = luaL_checkinteger(L, 2), end = luaL_checkinteger(L, 3), to = luaL_checkinteger(L, 4);
    int target = lua_isnoneornil(L, 5) ? 1 : 5;
    unsigned steps = 0;
    if (!lua_isuserdata(L, 1)) luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isuserdata(L, target)) luaL_checktype(L, target, LUA_TTABLE);
    if (end >= first) {
        luaL_argcheck(L, first > 0 || end < LUA_MAXINTEGER + first, 3, "too many elements to move");
        lua_Integer count = end - first + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
        bool forwards = to > end || to <= first || (target != 1 && !lua_compare(L, 1, target, LUA_OPEQ));
        for (lua_Integer k = 0; k < count; k++) {
            lua_Integer i = forwards ? k : count - 1 - k;
            stoppable_step(L, &steps);
            lua_geti(L, 1, first + i);
            lua_seti(L, target, to + i);
        }
    }
    lua_pushvalue(L, target);
    return 1;
}

int stoppable_concat(lua_State *L) {
    lua_Integer last = length_of(L, 1);
    size_t separator_length;
    const char *separator = luaL_optlstring(L, 2, "", &separator_length);
    lua_Integer i = luaL_optinteger(L, 3, 1);
    last = luaL_optinteger(L, 4, last);
    unsigned steps = 0;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (; i <= last; i++) {
        stoppable_step(L, &steps);
        lua_geti(L, 1, i);
        if (!lua_isstring(L, -1))
            luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1), (LUAI_UACINT)i);
        luaL_addvalue(&b);
        if (i == last) break;  // before it overflows
        luaL_addlstring(&b, separator, separator_length);
    }
    luaL_pushresult(&b);
    return 1;
}

int stoppable_unpack(lua_State *L) {
    lua_Integer i = luaL_optinteger(L, 2, 1), end = lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
    if (i > end) return 0;
    lua_Unsigned count = (lua_Unsigned)end - (lua_Unsigned)i;
    unsigned steps = 0;
    if (count >= 1000000 || !lua_checkstack(L, (int)++count)) return luaL_error(L, "too many results to unpack");
    if (is_plain(L, 1)) {
        for (lua_Unsigned k = 0; k < count; k++) lua_rawgeti(L, 1, (lua_Integer)((lua_Unsigned)i + k));
        return (int)count;
    }
    for (lua_Unsigned k = 0; k < count; k++) {
        stoppable_step(L, &steps);
        lua_geti(L, 1, (lua_Integer)((lua_Unsigned)i + k));
    }
    return (int)count;
}

// ---- sort: a heap sort, which ends after n log n steps for every comparison

static bool is_less(lua_State *L, int a, int b, unsigned *steps) {
    stoppable_step(L, steps);
    if (lua_isnil(L, 2)) return lua_compare(L, a, b, LUA_OPLT);
    a = lua_absindex(L, a);
    b = lua_absindex(L, b);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_call(L, 2, 1);
    bool result = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return result;
}

// Moves the value on top down from `hole` in a heap of `count` elements.
static void sift(lua_State *L, lua_Integer hole, lua_Integer count, unsigned *steps) {
    while (2 * hole <= count) {
        lua_Integer child = 2 * hole;
        lua_geti(L, 1, child);
        if (child < count) {
            lua_geti(L, 1, child + 1);
            if (is_less(L, -2, -1, steps)) {
                child++;
                lua_remove(L, -2);
            } else {
                lua_pop(L, 1);
            }
        }
        if (!is_less(L, -2, -1, steps)) {
            lua_pop(L, 1);
            break;
        }
        lua_seti(L, 1, hole);
        hole = child;
    }
    lua_seti(L, 1, hole);
}

int stoppable_sort(lua_State *L) {
    lua_Integer count = length_of(L, 1);
    unsigned steps = 0;
    if (count < 2) return 0;
    luaL_argcheck(L, count < INT32_MAX, 1, "array too big");
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    for (lua_Integer i = count / 2; i >= 1; i--) {
        lua_geti(L, 1, i);
        sift(L, i, count, &steps);
    }
    for (lua_Integer last = count; last > 1; last--) {
        lua_geti(L, 1, last);
        lua_geti(L, 1, 1);
        lua_seti(L, 1, last);
        sift(L, 1, last - 1, &steps);
    }
    return 0;
}
