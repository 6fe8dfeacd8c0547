// string.find, match and gmatch that a stop can interrupt.
#include "stoppable_pattern.h"

size_t stoppable_start_of(lua_Integer position, size_t length) {
    if (position > 0) return (size_t)position;
    if (position == 0 || position < -(lua_Integer)length) return 1;
    return length + (size_t)position + 1;
}

static const char *find_plain(stoppable_matcher *m, const char *s, const char *wanted, size_t length) {
    if (length == 0) return s;
    while ((size_t)(m->text_end - s) >= length) {
        const char *first = memchr(s, *wanted, (size_t)(m->text_end - s) - length + 1);
        if (!first) return NULL;
        m->steps += (unsigned)length;
        stoppable_step(m->L, &m->steps);
        if (memcmp(first, wanted, length) == 0) return first;
        s = first + 1;
    }
    return NULL;
}

static bool is_plain(const char *pattern, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (pattern[i] && strchr("^$*+?.([%-", pattern[i])) return false;
    return true;
}

static int find_or_match(lua_State *L, bool finds) {
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length), *p = luaL_checklstring(L, 2, &pattern_length);
    size_t start = stoppable_start_of(luaL_optinteger(L, 3, 1), length) - 1;
    if (start > length) {
        luaL_pushfail(L);
        return 1;
    }
    stoppable_matcher m;
    stoppable_prepare(&m, L, text, length, p + pattern_length);
    if (finds && (lua_toboolean(L, 4) || is_plain(p, pattern_length))) {
        const char *found = find_plain(&m, text + start, p, pattern_length);
        if (!found) {
            luaL_pushfail(L);
            return 1;
        }
        lua_pushinteger(L, found - text + 1);
        lua_pushinteger(L, found - text + (ptrdiff_t)pattern_length);
        return 2;
    }
    bool is_anchored = pattern_length && *p == '^';
    if (is_anchored) p++;
    for (const char *s = text + start; s <= m.text_end; s++) {
        const char *end = stoppable_try_at(&m, s, p);
        if (end) {
            if (!finds) return stoppable_push_captures(&m, s, end);
            lua_pushinteger(L, s - text + 1);
            lua_pushinteger(L, end - text);
            return stoppable_push_captures(&m, NULL, NULL) + 2;
        }
        if (is_anchored) break;
    }
    luaL_pushfail(L);
    return 1;
}

int stoppable_find(lua_State *L) { return find_or_match(L, true); }
int stoppable_match(lua_State *L) { return find_or_match(L, false); }

// The state of an iteration. The texts that it points into are upvalues of the iterator.
typedef struct {
    stoppable_matcher m;
    const char *pattern, *start, *last;  // `last`: the end of the last match
} iteration;

// Upvalues: text, pattern, iteration.
static int next_match(lua_State *L) {
    iteration *i = lua_touserdata(L, lua_upvalueindex(3));
    i->m.L = L;
    for (const char *s = i->start; s <= i->m.text_end; s++) {
        const char *end = stoppable_try_at(&i->m, s, i->pattern);
        if (!end || end == i->last) continue;
        i->start = i->last = end;
        return stoppable_push_captures(&i->m, s, end);
    }
    return 0;
}

int stoppable_gmatch(lua_State *L) {
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length), *pattern = luaL_checklstring(L, 2, &pattern_length);
    size_t start = stoppable_start_of(luaL_optinteger(L, 3, 1), length) - 1;
    lua_settop(L, 2);
    iteration *i = lua_newuserdatauv(L, sizeof *i, 0);
    stoppable_prepare(&i->m, L, text, length, pattern + pattern_length);
    i->pattern = pattern;
    i->start = text + (start > length ? length + 1 : start);
    i->last = NULL;
    lua_pushcclosure(L, next_match, 3);
    return 1;
}
