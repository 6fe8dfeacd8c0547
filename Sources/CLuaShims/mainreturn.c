// Notifies the host when a script's main chunk returns, while its locals are still on the stack.
//
// Uses a return hook, installed only while the host has values to keep, so other code has no overhead.
// Lua has one hook per state; a script that sets another one ends the watch.
#include "host.h"

static void on_return(lua_State *L, lua_Debug *ar);

// The number of levels of the stack. Each lua_getstack counts from the top, so this takes as few as possible.
static int levels(lua_State *L) {
    lua_Debug ar;
    int count = 0, beyond = 1;
    while (lua_getstack(L, beyond - 1, &ar)) {
        count = beyond;
        beyond *= 2;
    }
    while (beyond - count > 1) {
        int middle = count + (beyond - count) / 2;
        if (lua_getstack(L, middle - 1, &ar)) count = middle; else beyond = middle;
    }
    return count;
}

bool shim_watch_main_return(lua_State *L) {
    host *h = host_of(L);
    lua_State *M = h->main;
    if (lua_gethook(M)) return lua_gethook(M) == on_return;
    lua_Debug ar;
    int count = levels(M);
    for (int level = count - 1; level >= 0; level--) {
        if (!lua_getstack(M, level, &ar) || !lua_getinfo(M, "S", &ar) || ar.what[0] == 'C') continue;
        h->main_levels = count - level;
        lua_sethook(M, on_return, LUA_MASKRET, 0);
        return true;
    }
    return false;
}

// Values between the chunk's locals and its results are leftovers of expressions, which no code can reach.
static void clear_leftovers(lua_State *L, lua_Debug *ar) {
    int first = ar->ftransfer, end = first + ar->ntransfer;
    const char *name;
    for (int n = 1; (name = lua_getlocal(L, ar, n)); n++) {
        bool is_leftover = strcmp(name, "(temporary)") == 0 && (n < first || n >= end);
        lua_pop(L, 1);
        if (!is_leftover) continue;
        lua_pushnil(L);
        if (!lua_setlocal(L, ar, n)) lua_pop(L, 1);
    }
}

static void on_return(lua_State *L, lua_Debug *ar) {
    host *h = host_of(L);
    if (L != h->main) {  // a coroutine inherited the hook
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    lua_Debug deeper;
    if (lua_getstack(L, h->main_levels, &deeper)) return;
    lua_sethook(L, NULL, 0, 0);
    if (!lua_getinfo(L, "rSt", ar)) return;
    // After a tail call the chunk's locals no longer exist, and a collection would have no effect.
    if (ar->istailcall || ar->what[0] == 'C') return;
    clear_leftovers(L, ar);
    passage p = passage_to_swift(h, L);
    h->calls.main_returned(h->owner);
    passage_back(h, p);
}
