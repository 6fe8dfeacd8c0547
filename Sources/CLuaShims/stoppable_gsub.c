// string.gsub that a stop can interrupt.
#include <ctype.h>
#include "stoppable_pattern.h"

static void add_template(stoppable_matcher *m, luaL_Buffer *b, const char *s, const char *end) {
    size_t length;
    const char *p = lua_tolstring(m->L, 3, &length), *template_end = p + length;
    m->steps += (unsigned)(length / 16);
    for (const char *percent; (percent = memchr(p, '%', (size_t)(template_end - p))); p = percent + 2) {
        stoppable_step(m->L, &m->steps);
        luaL_addlstring(b, p, (size_t)(percent - p));
        char c = percent + 1 < template_end ? percent[1] : 0;
        if (c == '%') {
            luaL_addchar(b, '%');
        } else if (c == '0') {
            luaL_addlstring(b, s, (size_t)(end - s));
        } else if (isdigit((unsigned char)c)) {
            const char *text;
            ptrdiff_t count = stoppable_capture(m, c - '1', s, end, &text);
            if (count == STOPPABLE_POSITION) luaL_addvalue(b);
            else luaL_addlstring(b, text, (size_t)count);
        } else {
            luaL_error(m->L, "invalid use of '%c' in replacement string", '%');
        }
    }
    luaL_addlstring(b, p, (size_t)(template_end - p));
}

static bool add_replacement(stoppable_matcher *m, luaL_Buffer *b, const char *s, const char *end, int type) {
    lua_State *L = m->L;
    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, stoppable_push_captures(m, s, end), 1);
    } else if (type == LUA_TTABLE) {
        stoppable_push_capture(m, 0, s, end);
        lua_gettable(L, 3);
    } else {
        add_template(m, b, s, end);
        return true;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(b, s, (size_t)(end - s));
        return false;
    }
    if (!lua_isstring(L, -1))
        return luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    luaL_addvalue(b);
    return true;
}

int stoppable_gsub(lua_State *L) {
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length), *p = luaL_checklstring(L, 2, &pattern_length);
    int type = lua_type(L, 3);
    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TFUNCTION && type != LUA_TTABLE)
        luaL_typeerror(L, 3, "string/function/table");
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)length + 1), count = 0;
    const char *pattern_end = p + pattern_length, *last = NULL, *s = text;
    bool is_anchored = pattern_length && *p == '^', has_changed = false;
    if (is_anchored) p++;
    stoppable_matcher m;
    stoppable_prepare(&m, L, text, length, pattern_end);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    while (count < most) {
        const char *end = stoppable_try_at(&m, s, p);
        if (end && end != last) {
            count++;
            has_changed = add_replacement(&m, &b, s, end, type) | has_changed;
            s = last = end;
        } else if (s < m.text_end) {
            luaL_addchar(&b, *s++);
        } else {
            break;
        }
        if (is_anchored) break;
    }
    if (!has_changed) {
        lua_pushvalue(L, 1);
    } else {
        luaL_addlstring(&b, s, (size_t)(m.text_end - s));
        luaL_pushresult(&b);
    }
    lua_pushinteger(L, count);
    return 2;
}
