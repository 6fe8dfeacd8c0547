#pragma once
// Versions of Lua's library functions that a stop can interrupt while they work.
#include "host.h"

void stoppable_look(lua_State *L, unsigned steps);

// Counts a step of a native function. Regularly checks whether the run has to stop, and raises an error in that case.
static inline void stoppable_step(lua_State *L, unsigned *steps) {
    if (++*steps >= 1024) {
        stoppable_look(L, *steps);
        *steps = 0;
    }
}

int stoppable_find(lua_State *L);
int stoppable_match(lua_State *L);
int stoppable_gmatch(lua_State *L);
int stoppable_gsub(lua_State *L);
int stoppable_insert(lua_State *L);
int stoppable_remove(lua_State *L);
int stoppable_move(lua_State *L);
int stoppable_concat(lua_State *L);
int stoppable_unpack(lua_State *L);
int stoppable_sort(lua_State *L);
