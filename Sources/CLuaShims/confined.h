#pragma once
// Versions of Lua's library functions that a stop can interrupt while they work, for confined scripts.
#include "host.h"

void confined_look(lua_State *L, unsigned steps);

// Counts a step of a native function. Every so often it checks whether the run has to stop, and raises in that case.
static inline void confined_step(lua_State *L, unsigned *steps) {
    if (++*steps >= 1024) {
        confined_look(L, *steps);
        *steps = 0;
    }
}

int confined_find(lua_State *L);
int confined_match(lua_State *L);
int confined_gmatch(lua_State *L);
int confined_gsub(lua_State *L);
int confined_insert(lua_State *L);
int confined_remove(lua_State *L);
int confined_move(lua_State *L);
int confined_concat(lua_State *L);
int confined_unpack(lua_State *L);
int confined_sort(lua_State *L);
