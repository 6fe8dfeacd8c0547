#pragma once
// The pattern matcher, and the definitions that its callers share.
#include <stddef.h>
#include "stoppable.h"

enum { STOPPABLE_DEEPEST = 200, STOPPABLE_MOST_CAPTURES = 32, STOPPABLE_POSITION = -2 };

// A search in one text. For the `length` of a capture, see stoppable_capture.
typedef struct {
    lua_State *L;
    const char *text, *text_end, *pattern_end;
    int depth, level;
    unsigned steps;
    struct { const char *begin; ptrdiff_t length; } captures[STOPPABLE_MOST_CAPTURES];
} stoppable_matcher;

void stoppable_prepare(stoppable_matcher *m, lua_State *L, const char *text, size_t length, const char *pattern_end);

// Continues a match at `s` with the rest of the pattern; returns the end of the match, or NULL.
const char *stoppable_match_at(stoppable_matcher *m, const char *s, const char *p);

// Returns the end of a match of the pattern `p` that begins at `s`, or NULL.
static inline const char *stoppable_try_at(stoppable_matcher *m, const char *s, const char *p) {
    m->level = 0;
    m->depth = STOPPABLE_DEEPEST;
    return stoppable_match_at(m, s, p);
}

// Returns the length of a capture and its text; without captures, number 0 is the whole match. A position capture is
// pushed as a number, and the length is STOPPABLE_POSITION.
ptrdiff_t stoppable_capture(stoppable_matcher *m, int level, const char *begin, const char *end, const char **text);

// Pushes a capture of a match, as stoppable_capture returns it.
void stoppable_push_capture(stoppable_matcher *m, int level, const char *begin, const char *end);

// Pushes all captures, or the whole match if there are none and `begin` is given. Returns the number pushed.
int stoppable_push_captures(stoppable_matcher *m, const char *begin, const char *end);

// Converts the position argument of a search to its start: 1 or more.
size_t stoppable_start_of(lua_Integer position, size_t length);
