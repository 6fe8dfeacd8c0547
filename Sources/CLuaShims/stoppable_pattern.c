// Pattern matching as the manual (6.4.1) defines it. This matcher checks for a stop while it works.
#include <ctype.h>
#include "stoppable_pattern.h"

enum { UNFINISHED = -1 };

// ---- single characters

static const char *class_end(stoppable_matcher *m, const char *p) {
    if (*p++ == '%') {
        if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (p[-1] != '[') return p;
    if (*p == '^') p++;
    do {  // a ']' in first position is a literal
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

static bool is_single(stoppable_matcher *m, const char *s, const char *p, const char *end) {
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

static const char *balance(stoppable_matcher *m, const char *s, const char *p) {
    if (p >= m->pattern_end - 1) luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->text_end || *s != *p) return NULL;
    int open = 1;
    while (++s < m->text_end) {
        stoppable_step(m->L, &m->steps);
        if (*s == p[1]) {
            if (--open == 0) return s + 1;
        } else if (*s == *p) {
            open++;
        }
    }
    return NULL;
}

static const char *longest(stoppable_matcher *m, const char *s, const char *p, const char *end) {
    ptrdiff_t count = 0;
    while (is_single(m, s + count, p, end)) count++;
    m->steps += (unsigned)count;
    for (; count >= 0; count--) {
        const char *found = stoppable_match_at(m, s + count, end + 1);
        if (found) return found;
    }
    return NULL;
}

static const char *shortest(stoppable_matcher *m, const char *s, const char *p, const char *end) {
    while (true) {
        const char *found = stoppable_match_at(m, s, end + 1);
        if (found) return found;
        if (!is_single(m, s, p, end)) return NULL;
        s++;
    }
}

static const char *open_capture(stoppable_matcher *m, const char *s, const char *p, int kind) {
    if (m->level >= STOPPABLE_MOST_CAPTURES) luaL_error(m->L, "too many captures");
    m->captures[m->level].begin = s;
    m->captures[m->level].length = kind;
    m->level++;
    const char *found = stoppable_match_at(m, s, p);
    if (!found) m->level--;
    return found;
}

static const char *close_capture(stoppable_matcher *m, const char *s, const char *p) {
    int level = m->level - 1;
    while (level >= 0 && m->captures[level].length != UNFINISHED) level--;
    if (level < 0) luaL_error(m->L, "invalid pattern capture");
    m->captures[level].length = s - m->captures[level].begin;
    const char *found = stoppable_match_at(m, s, p);
    if (!found) m->captures[level].length = UNFINISHED;
    return found;
}

static const char *same_as_capture(stoppable_matcher *m, const char *s, int digit) {
    int level = digit - '1';
    if (level < 0 || level >= m->level || m->captures[level].length == UNFINISHED)
        luaL_error(m->L, "invalid capture index %%%d", level + 1);
    ptrdiff_t length = m->captures[level].length;
    if (length < 0) return NULL;  // the length of a position capture, which no text has
    m->steps += (unsigned)length;
    stoppable_step(m->L, &m->steps);
    if (m->text_end - s < length || memcmp(m->captures[level].begin, s, (size_t)length) != 0) return NULL;
    return s + length;
}

static bool is_frontier(stoppable_matcher *m, const char *s, const char *p, const char *end) {
    int before = s == m->text ? 0 : (unsigned char)s[-1], here = s < m->text_end ? (unsigned char)*s : 0;
    return !is_in_set(before, p, end - 1) && is_in_set(here, p, end - 1);
}

const char *stoppable_match_at(stoppable_matcher *m, const char *s, const char *p) {
    if (m->depth-- == 0) luaL_error(m->L, "pattern too complex");
    while (s && p != m->pattern_end) {
        stoppable_step(m->L, &m->steps);
        switch (*p) {
        case '(':
            s = p[1] == ')' ? open_capture(m, s, p + 2, STOPPABLE_POSITION) : open_capture(m, s, p + 1, UNFINISHED);
            goto done;
        case ')':
            s = close_capture(m, s, p + 1);
            goto done;
        case '$':
            if (p + 1 != m->pattern_end) break;
            if (s != m->text_end) s = NULL;
            goto done;
        case '%':
            if (p[1] == 'b') {
                s = balance(m, s, p + 2);
                p += 4;
                continue;
            }
            if (p[1] == 'f') {
                p += 2;
                if (*p != '[') luaL_error(m->L, "missing '[' after '%%f' in pattern");
                const char *end = class_end(m, p);
                if (!is_frontier(m, s, p, end)) s = NULL;
                p = end;
                continue;
            }
            if (isdigit((unsigned char)p[1])) {
                s = same_as_capture(m, s, (unsigned char)p[1]);
                p += 2;
                continue;
            }
        }
        const char *end = class_end(m, p);
        switch (*end) {
        case '*': s = longest(m, s, p, end); goto done;
        case '-': s = shortest(m, s, p, end); goto done;
        case '?':
            if (is_single(m, s, p, end)) {
                const char *found = stoppable_match_at(m, s + 1, end + 1);
                if (found) {
                    s = found;
                    goto done;
                }
            }
            p = end + 1;
            continue;
        case '+':
            s = is_single(m, s, p, end) ? longest(m, s + 1, p, end) : NULL;
            goto done;
        default:
            s = is_single(m, s, p, end) ? s + 1 : NULL;
            p = end;
        }
    }
done:
    m->depth++;
    return s;
}

// ---- results

ptrdiff_t stoppable_capture(stoppable_matcher *m, int level, const char *begin, const char *end, const char **text) {
    if (level >= m->level) {
        if (level != 0) luaL_error(m->L, "invalid capture index %%%d", level + 1);
        *text = begin;  // without captures, the whole match
        return end - begin;
    }
    ptrdiff_t length = m->captures[level].length;
    *text = m->captures[level].begin;
    if (length == UNFINISHED) luaL_error(m->L, "unfinished capture");
    if (length == STOPPABLE_POSITION) lua_pushinteger(m->L, *text - m->text + 1);
    return length;
}

void stoppable_push_capture(stoppable_matcher *m, int level, const char *begin, const char *end) {
    const char *text;
    ptrdiff_t length = stoppable_capture(m, level, begin, end, &text);
    if (length != STOPPABLE_POSITION) lua_pushlstring(m->L, text, (size_t)length);
}

int stoppable_push_captures(stoppable_matcher *m, const char *begin, const char *end) {
    int count = m->level == 0 && begin ? 1 : m->level;
    luaL_checkstack(m->L, count, "too many captures");
    for (int level = 0; level < count; level++) stoppable_push_capture(m, level, begin, end);
    return count;
}

void stoppable_prepare(stoppable_matcher *m, lua_State *L, const char *text, size_t length, const char *pattern_end) {
    m->L = L;
    m->text = text;
    m->text_end = text + length;
    m->pattern_end = pattern_end;
    m->depth = STOPPABLE_DEEPEST;
    m->level = 0;
    m->steps = 0;
}
