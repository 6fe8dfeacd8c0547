// Iteration by each(): upvalue 1 is the iteration, upvalue 2 the metatable of its objects.
#include "class.h"

static const uint64_t walk_magic = 0x6d6f6f6e77616c6b;
enum { BATCH = 256 };
typedef struct {
    uint64_t magic;
    shim_class *cls;
    uint32_t generation;
    const void *source;
    shim_keys keys;
    int64_t position;
    int32_t count, next;
    int64_t batch[BATCH];
} walk;

static walk *check_walk(lua_State *L, int i) {
    walk *w = lua_rawlen(L, i) == sizeof(walk) ? lua_touserdata(L, i) : NULL;
    return w && w->magic == walk_magic ? w : NULL;
}

static void end_walk(lua_State *L, walk *w) {
    const void *source = w->source;
    if (!source) return;
    w->source = NULL;
    host *h = host_of(L);
    passage p = passage_to_swift(h, L);
    h->calls.release(source);
    passage_back(h, p);
}

static int step(lua_State *L) {
    walk *w = check_walk(L, lua_upvalueindex(1));
    if (!w) return not_ours(L, "continue");
    if (w->next == w->count) {
        if (!w->source) return 0;
        host *h = host_of(L);
        passage p = passage_to_swift(h, L);
        int32_t n = w->keys(w->source, L, w->position, w->batch, BATCH);
        passage_back(h, p);
        w->next = w->count = 0;
        if (n < 0) return raise_error(L);
        if (n == 0) {
            end_walk(L, w);
            return 0;
        }
        w->count = n;
        w->position += n;
    }
    int64_t key = w->batch[w->next++];
    shim_class *c = w->cls;
    if (c && c->generation != w->generation) return not_ours(L, "continue");
    if (!c || c->kind == SHIM_CLASS_FROZEN || !lua_istable(L, lua_upvalueindex(2))) {
        shim_push_object(L, c, key);
        return 1;
    }
    object *o = lua_newuserdatauv(L, sizeof *o, 0);
    *o = (object){ live_magic, c->generation, key, c };
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setmetatable(L, -2);
    return 1;
}

static int collect_walk(lua_State *L) {
    walk *w = check_walk(L, 1);
    if (w) end_walk(L, w);
    return 0;
}

void shim_push_walk(lua_State *L, shim_class *c, const void *source, shim_keys keys) {
    walk *w = lua_newuserdatauv(L, sizeof *w, 1);
    w->magic = walk_magic;
    w->cls = c;
    w->generation = c ? c->generation : 0;
    w->source = source;
    w->keys = keys;
    w->position = 0;
    w->count = w->next = 0;
    set_metatable(L, host_of(L)->walk_metatable);
    if (c && c->kind == SHIM_CLASS_FROZEN && shim_push_anchor(L, c)) lua_setiuservalue(L, -2, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, c ? c->metatable : LUA_NOREF);  // the metatable or the anchor keeps the class
    lua_pushcclosure(L, step, 2);
}

void each_setup(lua_State *L, host *h) { h->walk_metatable = metatable_with_gc(L, collect_walk); }
