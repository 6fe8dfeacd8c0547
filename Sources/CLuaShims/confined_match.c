// Pattern matching for confined scripts, as the manual (6.4.1) defines it, by a matcher that looks for a stop while it
// works. Lua's own cannot be stopped: a hostile pattern on a text of a few hundred letters runs for ever.
#include <ctype.h>
#include "confined.h"

enum { UNFINISHED = -1, POSITION = -2, DEEPEST = 200, MOST_CAPTURES = 32 };

typedef struct {
    lua_State *L;
    const char *text, *text_end, *pattern_end;
    int depth, level;
    unsigned steps;
    struct { const char *begin; ptrdiff_t length; } captures[MOST_CAPTURES];
} matcher;

static const char *match(matcher *m, const char *s, const char *p);

// ---- single characters

static const char *class_end(matcher *m, const char *p) {
    if (*p++ == '%') {
        if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (p[-1] != '[') return p;
    if (*p == '^') p++;
    do {  // a ']' in the first place stands for itself
        if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (missing ']')");
        if (*p++ == '%' && p < m->pattern_end) p++;
    } while (p == m->pattern_end || *p != ']');
    return p + 1;
}

static bool is_in_class(int c, int class) {
    bool found;
    switch (tolower(class)) {
    case 'a': found = isalpha(c); break;
    case 'c': found = iscntrl(c); break;
    case 'd': found = isdigit(c); break;
    case 'g': found = isgraph(c); break;
    case 'l': found = islower(c); break;
    case 'p': found = ispunct(c); break;
    case 's': found = isspace(c); break;
    case 'u': found = isupper(c); break;
    case 'w': found = isalnum(c); break;
    case 'x': found = isxdigit(c); break;
    case 'z': found = c == 0; break;
    default: return class == c;
    }
    return isupper(class) ? !found : found;
}

// `p` is at the '[', `end` at the ']'.
static bool is_in_set(int c, const char *p, const char *end) {
    bool wanted = true;
    if (p[1] == '^') {
        wanted = false;
        p++;
    }
    while (++p < end) {
        if (*p == '%') {
            p++;
            if (is_in_class(c, (unsigned char)*p)) return wanted;
        } else if (p[1] == '-' && p + 2 < end) {
            p += 2;
            if ((unsigned char)p[-2] <= c && c <= (unsigned char)*p) return wanted;
        } else if ((unsigned char)*p == c) {
            return wanted;
        }
    }
    return !wanted;
}

static bool is_single(matcher *m, const char *s, const char *p, const char *end) {
    confined_step(m->L, &m->steps);
    if (s >= m->text_end) return false;
    int c = (unsigned char)*s;
    switch (*p) {
    case '.': return true;
    case '%': return is_in_class(c, (unsigned char)p[1]);
    case '[': return is_in_set(c, p, end - 1);
    default: return (unsigned char)*p == c;
    }
}

// ---- items

static const char *balance(matcher *m, const char *s, const char *p) {
    if (p >= m->pattern_end - 1) luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->text_end || *s != *p) return NULL;
    int open = 1;
    while (++s < m->text_end) {
        confined_step(m->L, &m->steps);
        if (*s == p[1]) {
            if (--open == 0) return s + 1;
        } else if (*s == *p) {
            open++;
        }
    }
    return NULL;
}

static const char *longest(matcher *m, const char *s, const char *p, const char *end) {
    ptrdiff_t count = 0;
    while (is_single(m, s + count, p, end)) count++;
    for (; count >= 0; count--) {
        const char *found = match(m, s + count, end + 1);
        if (found) return found;
    }
    return NULL;
}

static const char *shortest(matcher *m, const char *s, const char *p, const char *end) {
    while (true) {
        const char *found = match(m, s, end + 1);
        if (found) return found;
        if (!is_single(m, s, p, end)) return NULL;
        s++;
    }
}

static const char *open_capture(matcher *m, const char *s, const char *p, int kind) {
    if (m->level >= MOST_CAPTURES) luaL_error(m->L, "too many captures");
    m->captures[m->level].begin = s;
    m->captures[m->level].length = kind;
    m->level++;
    const char *found = match(m, s, p);
    if (!found) m->level--;
    return found;
}

static const char *close_capture(matcher *m, const char *s, const char *p) {
    int level = m->level - 1;
    while (level >= 0 && m->captures[level].length != UNFINISHED) level--;
    if (level < 0) luaL_error(m->L, "invalid pattern capture");
    m->captures[level].length = s - m->captures[level].begin;
    const char *found = match(m, s, p);
    if (!found) m->captures[level].length = UNFINISHED;
    return found;
}

static const char *same_as_capture(matcher *m, const char *s, int digit) {
    int level = digit - '1';
    if (level < 0 || level >= m->level || m->captures[level].length == UNFINISHED)
        luaL_error(m->L, "invalid capture index %%%d", level + 1);
    ptrdiff_t length = m->captures[level].length;
    if (length < 0) return NULL;  // of a position, as long as no text ever is
    m->steps += (unsigned)length;
    confined_step(m->L, &m->steps);
    if (m->text_end - s < length || memcmp(m->captures[level].begin, s, (size_t)length) != 0) return NULL;
    return s + length;
}

static bool is_frontier(matcher *m, const char *s, const char *p, const char *end) {
    int before = s == m->text ? 0 : (unsigned char)s[-1], here = s < m->text_end ? (unsigned char)*s : 0;
    return !is_in_set(before, p, end - 1) && is_in_set(here, p, end - 1);
}

static const char *match(matcher *m, const char *s, const char *p) {
    if (m->depth-- == 0) luaL_error(m->L, "pattern too complex");
    while (s && p != m->pattern_end) {
        confined_step(m->L, &m->steps);
        if (*p == '(') {
            s = p[1] == ')' ? open_capture(m, s, p + 2, POSITION) : open_capture(m, s, p + 1, UNFINISHED);
            break;
        }
        if (*p == ')') {
            s = close_capture(m, s, p + 1);
            break;
        }
        if (*p == '$' && p + 1 == m->pattern_end) {
            if (s != m->text_end) s = NULL;
            break;
        }
        if (*p == '%' && p[1] == 'b') {
            s = balance(m, s, p + 2);
            p += 4;
            continue;
        }
        if (*p == '%' && p[1] == 'f') {
            p += 2;
            if (*p != '[') luaL_error(m->L, "missing '[' after '%%f' in pattern");
            const char *end = class_end(m, p);
            if (!is_frontier(m, s, p, end)) s = NULL;
            p = end;
            continue;
        }
        if (*p == '%' && isdigit((unsigned char)p[1])) {
            s = same_as_capture(m, s, (unsigned char)p[1]);
            p += 2;
            continue;
        }
        const char *end = class_end(m, p);
        if (*end == '*') {
            s = longest(m, s, p, end);
            break;
        }
        if (*end == '-') {
            s = shortest(m, s, p, end);
            break;
        }
        if (*end == '?') {
            if (is_single(m, s, p, end)) {
                const char *found = match(m, s + 1, end + 1);
                if (found) {
                    s = found;
                    break;
                }
            }
            p = end + 1;
            continue;
        }
        if (!is_single(m, s, p, end)) {
            s = NULL;
        } else if (*end == '+') {
            s = longest(m, s + 1, p, end);
            break;
        } else {
            s++;
            p = end;
        }
    }
    m->depth++;
    return s;
}

// ---- what came of it

static void push_capture(matcher *m, int level, const char *begin, const char *end) {
    if (level >= m->level) {
        if (level != 0) luaL_error(m->L, "invalid capture index %%%d", level + 1);
        lua_pushlstring(m->L, begin, (size_t)(end - begin));  // without captures, the whole match
        return;
    }
    ptrdiff_t length = m->captures[level].length;
    if (length == UNFINISHED) luaL_error(m->L, "unfinished capture");
    if (length == POSITION) lua_pushinteger(m->L, m->captures[level].begin - m->text + 1);
    else lua_pushlstring(m->L, m->captures[level].begin, (size_t)length);
}

static int push_captures(matcher *m, const char *begin, const char *end) {
    int count = m->level == 0 && begin ? 1 : m->level;
    luaL_checkstack(m->L, count, "too many captures");
    for (int level = 0; level < count; level++) push_capture(m, level, begin, end);
    return count;
}

static void prepare(matcher *m, lua_State *L, const char *text, size_t length, const char *pattern_end) {
    m->L = L;
    m->text = text;
    m->text_end = text + length;
    m->pattern_end = pattern_end;
    m->depth = DEEPEST;
    m->level = 0;
    m->steps = 0;
}

static const char *try_at(matcher *m, const char *s, const char *p) {
    m->level = 0;
    m->depth = DEEPEST;
    return match(m, s, p);
}

static size_t start_of(lua_Integer position, size_t length) {
    if (position > 0) return (size_t)position;
    if (position == 0 || position < -(lua_Integer)length) return 1;
    return length + (size_t)position + 1;
}

static const char *find_plain(matcher *m, const char *s, const char *wanted, size_t length) {
    if (length == 0) return s;
    while ((size_t)(m->text_end - s) >= length) {
        const char *first = memchr(s, *wanted, (size_t)(m->text_end - s) - length + 1);
        if (!first) return NULL;
        m->steps += (unsigned)length;
        confined_step(m->L, &m->steps);
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
    size_t start = start_of(luaL_optinteger(L, 3, 1), length) - 1;
    if (start > length) {
        luaL_pushfail(L);
        return 1;
    }
    matcher m;
    prepare(&m, L, text, length, p + pattern_length);
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
        const char *end = try_at(&m, s, p);
        if (end) {
            if (!finds) return push_captures(&m, s, end);
            lua_pushinteger(L, s - text + 1);
            lua_pushinteger(L, end - text);
            return push_captures(&m, NULL, NULL) + 2;
        }
        if (is_anchored) break;
    }
    luaL_pushfail(L);
    return 1;
}

int confined_find(lua_State *L) { return find_or_match(L, true); }
int confined_match(lua_State *L) { return find_or_match(L, false); }

// Upvalues: text, pattern, where to begin, where the last match ended (offsets; -1: nowhere yet).
static int next_match(lua_State *L) {
    size_t length, pattern_length;
    const char *text = lua_tolstring(L, lua_upvalueindex(1), &length);
    const char *p = lua_tolstring(L, lua_upvalueindex(2), &pattern_length);
    lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
    matcher m;
    prepare(&m, L, text, length, p + pattern_length);
    for (size_t at = (size_t)lua_tointeger(L, lua_upvalueindex(3)); at <= length; at++) {
        const char *end = try_at(&m, text + at, p);
        if (!end || end - text == last) continue;
        lua_pushinteger(L, end - text);
        lua_copy(L, -1, lua_upvalueindex(3));
        lua_replace(L, lua_upvalueindex(4));
        return push_captures(&m, text + at, end);
    }
    return 0;
}

int confined_gmatch(lua_State *L) {
    size_t length;
    luaL_checklstring(L, 1, &length);
    luaL_checkstring(L, 2);
    size_t start = start_of(luaL_optinteger(L, 3, 1), length) - 1;
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer)(start > length ? length + 1 : start));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, next_match, 4);
    return 1;
}

static void add_template(matcher *m, luaL_Buffer *b, const char *s, const char *end) {
    size_t length;
    const char *news = lua_tolstring(m->L, 3, &length);
    for (const char *p = news, *news_end = news + length; p < news_end; p++) {
        confined_step(m->L, &m->steps);
        if (*p != '%') {
            luaL_addchar(b, *p);
            continue;
        }
        p++;
        if (p < news_end && *p == '%') {
            luaL_addchar(b, '%');
        } else if (p < news_end && *p == '0') {
            luaL_addlstring(b, s, (size_t)(end - s));
        } else if (p < news_end && isdigit((unsigned char)*p)) {
            push_capture(m, *p - '1', s, end);
            luaL_tolstring(m->L, -1, NULL);
            lua_remove(m->L, -2);
            luaL_addvalue(b);
        } else {
            luaL_error(m->L, "invalid use of '%c' in replacement string", '%');
        }
    }
}

static bool add_replacement(matcher *m, luaL_Buffer *b, const char *s, const char *end, int type) {
    lua_State *L = m->L;
    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, end), 1);
    } else if (type == LUA_TTABLE) {
        push_capture(m, 0, s, end);
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

int confined_gsub(lua_State *L) {
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length), *p = luaL_checklstring(L, 2, &pattern_length);
    int type = lua_type(L, 3);
    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TFUNCTION && type != LUA_TTABLE)
        luaL_typeerror(L, 3, "string/function/table");
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)length + 1), count = 0;
    const char *pattern_end = p + pattern_length, *last = NULL, *s = text;
    bool is_anchored = pattern_length && *p == '^', has_changed = false;
    if (is_anchored) p++;
    matcher m;
    prepare(&m, L, text, length, pattern_end);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    while (count < most) {
        const char *end = try_at(&m, s, p);
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
