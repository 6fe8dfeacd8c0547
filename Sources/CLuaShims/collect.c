// `collectgarbage` for scripts: it also collects values that only a dropped Swift reference still holds.
#include "host.h"

static int collect_garbage(lua_State *L) {
    host *h = host_of(L);
    passage p = passage_to_swift(h, L);
    h->calls.will_collect(h->owner);
    passage_back(h, p);
    return h->collectgarbage(L);  // in this frame, so that its errors name the function
}

void collect_setup(lua_State *L, host *h) {
    lua_getglobal(L, "collectgarbage");
    lua_CFunction own = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    if (!own || own == collect_garbage) return;
    h->collectgarbage = own;
    lua_pushcfunction(L, collect_garbage);
    lua_setglobal(L, "collectgarbage");
}
