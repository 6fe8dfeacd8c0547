// Iteration by each(): upvalue 1 is the iteration, upvalue 2 the metatable of its objects. Iteration by values(): upvalue
// 1 is the iteration, whose user value is a table with the values that are not numbers or booleans.
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

// ---- values()

static const uint64_t rows_magic = 0x6d6f6f6e726f7773;
enum { CELLS = 1024 };
typedef struct {
    uint64_t magic;
    const void *source;
    shim_rows fill;
    uint64_t passages;  // of the host, when the rows were read
    int32_t columns, capacity, size, count, next;
    shim_value cells[];
} rows;

static rows *check_rows(lua_State *L, int i) {
    rows *r = lua_rawlen(L, i) >= sizeof(rows) ? lua_touserdata(L, i) : NULL;
    return r && r->magic == rows_magic ? r : NULL;
}

static void end_rows(lua_State *L, rows *r) {
    const void *source = r->source;
    if (!source) return;
    r->source = NULL;
    host *h = host_of(L);
    passage p = passage_to_swift(h, L);
    h->calls.release(source);
    passage_back(h, p);
}

// Reads further rows, and returns whether there are any. The loop has consumed those before `next`.
static bool read_rows(lua_State *L, rows *r, bool stale) {
    lua_getiuservalue(L, lua_upvalueindex(1), 1);
    if (!r->source || lua_type(L, -1) != LUA_TTABLE) return false;
    host *h = host_of(L);
    int32_t size = stale ? 1 : 2 * r->size;
    r->size = size > r->capacity ? r->capacity : size;
    int32_t consumed = r->next;
    r->next = r->count = 0;
    passage p = passage_to_swift(h, L);
    int32_t n = r->fill(r->source, L, lua_gettop(L), consumed, r->cells, r->size);
    passage_back(h, p);
    if (n < 0) raise_error(L);
    if (n == 0) end_rows(L, r);
    r->count = n;
    r->passages = h->passages;
    return n > 0;
}

static int step_rows(lua_State *L) {
    rows *r = check_rows(L, lua_upvalueindex(1));
    if (!r) return not_ours(L, "continue");
    // Only Swift changes the store, so rows that were read ahead are out of date after a call of Swift. A loop that
    // always calls Swift reads ahead one row.
    bool stale = r->next < r->count && r->passages != host_of(L)->passages;
    if ((stale || r->next == r->count) && !read_rows(L, r, stale)) return 0;
    if (r->columns > LUA_MINSTACK / 2) luaL_checkstack(L, r->columns + LUA_MINSTACK, "too many values");
    int32_t first = r->next++ * r->columns;
    for (int32_t i = 0; i < r->columns; i++) {
        const shim_value *cell = &r->cells[first + i];
        if (cell->tag != SHIM_PUSHED) {
            put_value(L, cell);
        } else if (lua_getiuservalue(L, lua_upvalueindex(1), 1) == LUA_TTABLE) {
            lua_rawgeti(L, -1, first + i + 1);
            lua_remove(L, -2);
        }
    }
    return r->columns;
}

void shim_push_rows(lua_State *L, int32_t columns, const void *source, shim_rows fill) {
    int32_t capacity = columns < CELLS ? CELLS / columns : 1;
    size_t size = sizeof(rows) + (size_t)capacity * (size_t)columns * sizeof(shim_value);
    rows *r = lua_newuserdatauv(L, size, 1);
    *r = (rows){ rows_magic, source, fill, 0, columns, capacity, 1, 0, 0 };
    set_metatable(L, host_of(L)->walk_metatable);
    lua_createtable(L, capacity * columns, 0);
    lua_setiuservalue(L, -2, 1);
    lua_pushcclosure(L, step_rows, 1);
}

void shim_keep_cell(lua_State *L, int32_t table, int32_t index, shim_value *v) {
    if (v->tag == SHIM_NIL || v->tag == SHIM_BOOL || v->tag == SHIM_INT || v->tag == SHIM_NUM) return;
    put_value(L, v);
    v->tag = lua_isnil(L, -1) ? SHIM_NIL : SHIM_PUSHED;
    lua_rawseti(L, table, index + 1);
}

static int collect_walk(lua_State *L) {
    walk *w = check_walk(L, 1);
    if (w) end_walk(L, w);
    rows *r = check_rows(L, 1);
    if (r) end_rows(L, r);
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
