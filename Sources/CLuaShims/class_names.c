// The names of a class: a hash from the address of the interned name to a slot.
#include "class.h"

int32_t find_long_name(const shape *s, const char *name, size_t length) {
    if (!s->entries) return NONE;
    for (uint32_t i = 0; i <= s->mask; i++) {
        const entry *e = &s->entries[i];
        if (e->identity && e->length == length && !memcmp(e->name, name, length)) return e->slot;
    }
    return NONE;
}

static void insert(shape *s, anchored own, size_t length, int32_t slot) {
    uint32_t i = name_hash(own.identity) >> 7 & s->mask;
    while (s->entries[i].identity) {
        entry *e = &s->entries[i];
        if (e->length == length && !memcmp(e->name, own.bytes, length)) {
            if (slot >= 0) e->slot = slot;  // a property takes precedence over a method
            return;
        }
        i = (i + 1) & s->mask;
    }
    s->entries[i] = (entry){ own.identity, own.bytes, length, slot };
    s->count++;
}

static void reserve(shape *s, uint32_t more) {
    uint32_t size = 16, wanted = 3 * (s->count + more);
    while (size < wanted) size *= 2;
    if (s->entries && size <= s->mask + 1) return;
    shape grown = *s;
    grown.entries = calloc(size, sizeof(entry));
    grown.mask = size - 1;
    grown.count = 0;
    if (!grown.entries) abort();  // a host call cannot continue without memory
    if (s->entries)
        for (uint32_t i = 0; i <= s->mask; i++) {
            const entry *e = &s->entries[i];
            if (e->identity) insert(&grown, (anchored){ e->name, e->identity }, e->length, e->slot);
        }
    free(s->entries);
    *s = grown;
}

static anchored at_top(lua_State *L) { return (anchored){ lua_tostring(L, -1), lua_topointer(L, -1) }; }

// Returns the bytes and address of the Lua string itself, which the class keeps alive. Called in host mode.
anchored anchor(lua_State *L, shim_class *c, const char *name, size_t length) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->names);
    lua_pushlstring(L, name, length);
    anchored own = at_top(L);
    if (lua_istable(L, -2)) {
        // A long string is a new object each time; keep the first.
        lua_pushvalue(L, -1);
        if (lua_rawget(L, -3) == LUA_TSTRING) {
            own = at_top(L);
        } else {
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -3);
            lua_rawset(L, -5);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return own;
}

void shim_class_add_method(lua_State *L, shim_class *c, const char *name, size_t n) {
    reserve(&c->shape, 1);
    anchored own = anchor(L, c, name, n);
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->methods);
    lua_insert(L, -2);
    int32_t number = ++c->shape.methods;
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, number);
    lua_pushlstring(L, name, n);
    lua_insert(L, -2);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    insert(&c->shape, own, n, -1 - number);
}

void shim_class_set_properties(lua_State *L, shim_class *c, const char *const *names, const size_t *lengths,
                               const int32_t *slots, int32_t count) {
    // Entries are rebuilt rather than removed, because a removed property may have hidden a method.
    shape old = c->shape;
    c->shape = (shape){ .order = malloc((size_t)count * sizeof *slots), .ordered = count };
    if (!c->shape.order) abort();  // a host call cannot continue without memory
    memcpy(c->shape.order, slots, (size_t)count * sizeof *slots);
    reserve(&c->shape, old.count + (uint32_t)count);
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->methods);
    c->shape.methods = old.methods;
    for (int32_t number = 1; lua_istable(L, -1) && number <= old.methods; number++) {
        // The table holds number -> function and name -> function; find the name by the function.
        lua_rawgeti(L, -1, number);
        lua_pushnil(L);
        while (lua_next(L, -3)) {
            if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, -3)) {
                size_t n;
                const char *name = lua_tolstring(L, -2, &n);
                insert(&c->shape, anchor(L, c, name, n), n, -1 - number);
            }
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    for (int32_t i = 0; i < count; i++)
        insert(&c->shape, anchor(L, c, names[i], lengths[i]), lengths[i], slots[i]);
    free(old.entries);
    free(old.order);
}
