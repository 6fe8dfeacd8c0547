// Classes of userdata. A live object is {magic, key, class} without __gc: making one costs an allocation and no more.
// A box is the same block with a retained Swift object in the key's place, and a finalizer. Access trusts the block
// (type, exact size, magic), never the metatable, so it survives debug.setmetatable.
//
// Names are Lua strings: short ones are interned, so their address is the name. Classes are kept in a hash from that
// address to a slot; names beyond the interning limit are compared as text. The names are anchored by the class.
#include "host.h"

static const uint64_t live_magic = 0x6d6f6f6e6c697665, box_magic = 0x6d6f6f6e626f7800;
static const uint64_t walk_magic = 0x6d6f6f6e77616c6b;
enum { INTERNED = 40 };  // LUAI_MAXSHORTLEN of 5.4: longer strings have an address of their own each time

typedef struct { uint64_t magic; int64_t payload; shim_class *cls; } object;
typedef struct { object base; uint64_t generation; } frozen_object;  // its class may go before it

typedef struct { const char *name; size_t length; int32_t slot; } entry;  // slot <= -2: method number -2 - slot
typedef struct { entry *entries; uint32_t mask, count; int32_t methods; } shape;

struct shim_class {
    const void *context;
    shim_class_calls calls;
    host *host;
    shape shape;
    int32_t kind;
    int metatable, methods;  // registry slots
    int names;               // what anchors the strings; in a frozen class the weak table that holds its anchor
    const char *name;
    uint64_t generation;
    shim_class *next;   // all classes of the state
    shim_class *sibling;  // frozen classes of the same version
    bool spare;           // a frozen class that is free again
};
enum { NONE = -1 };

static int class_index(lua_State *L);
static int class_new_index(lua_State *L);

// ---- names

static inline uint32_t hash(const char *s) { return (uint32_t)((uintptr_t)s >> 4) * 0x9E3779B1u; }

static inline int32_t find(const shape *s, const char *name, size_t length) {
    if (!s->entries) return NONE;
    if (length <= INTERNED) {
        for (uint32_t i = hash(name) >> 7 & s->mask;; i = (i + 1) & s->mask) {
            const entry *e = &s->entries[i];
            if (e->name == name) return e->slot;
            if (!e->name) return NONE;
        }
    }
    for (uint32_t i = 0; i <= s->mask; i++) {
        const entry *e = &s->entries[i];
        if (e->name && e->length == length && !memcmp(e->name, name, length)) return e->slot;
    }
    return NONE;
}

static void insert(shape *s, const char *name, size_t length, int32_t slot) {
    uint32_t i = hash(name) >> 7 & s->mask;
    while (s->entries[i].name) {
        entry *e = &s->entries[i];
        if (e->length == length && !memcmp(e->name, name, length)) {
            if (slot >= 0) e->slot = slot;  // a property wins over a method
            return;
        }
        i = (i + 1) & s->mask;
    }
    s->entries[i] = (entry){ name, length, slot };
    s->count++;
}

static void reserve(shape *s, uint32_t more) {
    uint32_t size = 16, wanted = 3 * (s->count + more);
    while (size < wanted) size *= 2;
    if (s->entries && size <= s->mask + 1) return;
    shape grown = { calloc(size, sizeof(entry)), size - 1, 0, s->methods };
    if (!grown.entries) abort();  // because a host call cannot go on without memory
    if (s->entries)
        for (uint32_t i = 0; i <= s->mask; i++)
            if (s->entries[i].name) insert(&grown, s->entries[i].name, s->entries[i].length, s->entries[i].slot);
    free(s->entries);
    *s = grown;
}

// The Lua string's own bytes, kept alive by the class. Called in host mode.
static const char *anchor(lua_State *L, shim_class *c, const char *name, size_t length) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->names);
    lua_pushlstring(L, name, length);
    const char *own = lua_tostring(L, -1);
    if (lua_istable(L, -2)) {
        // A long string is a new object each time: keep the first.
        lua_pushvalue(L, -1);
        if (lua_rawget(L, -3) == LUA_TSTRING) {
            own = lua_tostring(L, -1);
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

// ---- userdata

static inline object *check(lua_State *L, int i) {
    if (lua_type(L, i) != LUA_TUSERDATA) return NULL;
    size_t n = lua_rawlen(L, i);
    if (n == sizeof(object)) {
        object *o = lua_touserdata(L, i);
        return o->magic == live_magic || o->magic == box_magic ? o : NULL;
    }
    if (n == sizeof(frozen_object)) {
        frozen_object *o = lua_touserdata(L, i);
        return o->base.magic == live_magic && o->base.cls->generation == o->generation ? &o->base : NULL;
    }
    return NULL;
}

static void set_metatable(lua_State *L, int slot) {
    if (lua_rawgeti(L, LUA_REGISTRYINDEX, slot) == LUA_TTABLE) lua_setmetatable(L, -2); else lua_pop(L, 1);
}

void shim_push_object(lua_State *L, shim_class *c, int64_t key) {
    if (c->kind != SHIM_CLASS_FROZEN) {
        object *o = lua_newuserdatauv(L, sizeof *o, 0);
        *o = (object){ live_magic, key, c };
        set_metatable(L, c->metatable);
        return;
    }
    frozen_object *o = lua_newuserdatauv(L, sizeof *o, 1);
    *o = (frozen_object){ { live_magic, key, c }, c->generation };
    if (shim_push_anchor(L, c)) lua_setiuservalue(L, -2, 1);
    set_metatable(L, c->metatable);
}

void shim_push_box(lua_State *L, shim_class *c, const void *p) {
    object *o = lua_newuserdatauv(L, sizeof *o, 0);
    *o = (object){ box_magic, (int64_t)(intptr_t)p, c };
    set_metatable(L, c->metatable);
}

bool shim_to_object(lua_State *L, int32_t i, shim_class **c, int64_t *key) {
    object *o = check(L, i);
    if (!o || o->magic != live_magic) return false;
    *c = o->cls;
    *key = o->payload;
    return true;
}

const void *shim_to_box(lua_State *L, int32_t i, shim_class **c) {
    object *o = check(L, i);
    if (!o || o->magic != box_magic) return NULL;
    *c = o->cls;
    return (const void *)(intptr_t)o->payload;
}

static void empty(lua_State *L, object *o) {
    const void *p = (const void *)(intptr_t)o->payload;
    if (!p) return;
    o->payload = 0;
    host *h = host_of(L);
    passage passed = passage_to_swift(h, L);
    h->calls.release(p);
    passage_back(h, passed);
}
void shim_empty_box(lua_State *L, int32_t i) {
    object *o = check(L, i);
    if (o && o->magic == box_magic) empty(L, o);
}
static int collect_box(lua_State *L) {
    shim_empty_box(L, 1);
    return 0;
}

bool shim_box_becomes_object(lua_State *L, int32_t i, shim_class *c, int64_t key) {
    object *o = check(L, i);
    if (!o || o->magic != box_magic || c->kind != SHIM_CLASS_LIVE) return false;
    lua_pushvalue(L, i);
    empty(L, o);
    *o = (object){ live_magic, key, c };
    set_metatable(L, c->metatable);
    lua_pop(L, 1);
    return true;
}

// ---- values

static inline void take(lua_State *L, int i, shim_value *v) {
    switch (lua_type(L, i)) {
    case LUA_TNIL: case LUA_TNONE: v->tag = SHIM_NIL; return;
    case LUA_TBOOLEAN: v->tag = SHIM_BOOL; v->u.b = lua_toboolean(L, i); return;
    case LUA_TNUMBER:
        if (lua_isinteger(L, i)) {
            v->tag = SHIM_INT;
            v->u.i = lua_tointeger(L, i);
        } else {
            v->tag = SHIM_NUM;
            v->u.d = lua_tonumber(L, i);
        }
        return;
    case LUA_TSTRING: v->tag = SHIM_STR; v->u.bytes = lua_tolstring(L, i, &v->x.length); return;
    case LUA_TUSERDATA: {
        object *o = check(L, i);
        if (o && (o->magic == live_magic || o->payload)) {
            v->tag = o->magic == live_magic ? SHIM_OBJECT : SHIM_BOX;
            v->u.i = o->payload;
            v->x.cls = o->cls;
            return;
        }
    }
    }
    v->tag = SHIM_OTHER;
    v->slot = lua_absindex(L, i);
}
void shim_take(lua_State *L, int32_t i, shim_value *v) { take(L, i, v); }

static inline int put(lua_State *L, const shim_value *v) {
    switch (v->tag) {
    case SHIM_BOOL: lua_pushboolean(L, v->u.b); break;
    case SHIM_INT: lua_pushinteger(L, v->u.i); break;
    case SHIM_NUM: lua_pushnumber(L, v->u.d); break;
    case SHIM_STR: lua_pushlstring(L, v->x.length ? v->u.bytes : "", v->x.length); break;
    case SHIM_OBJECT: shim_push_object(L, v->x.cls, v->u.i); break;
    case SHIM_PUSHED: break;
    default: lua_pushnil(L);
    }
    return 1;
}
void shim_put(lua_State *L, const shim_value *v) { put(L, v); }

static int not_ours(lua_State *L, const char *what) {
    return luaL_error(L, "cannot %s: this is not a value of moonpool, or it is already closed", what);
}

// ---- access; upvalue 1 is the table of methods

static int class_index(lua_State *L) {
    object *o = check(L, 1);
    if (!o) return not_ours(L, "read it");
    const shim_class *c = o->cls;
    shim_value v;
    v.tag = SHIM_NIL;
    host *h = c->host;
    int32_t failed;
    int type = lua_type(L, 2);
    if (type == LUA_TSTRING) {
        size_t n;
        const char *name = lua_tolstring(L, 2, &n);
        int32_t slot = find(&c->shape, name, n);
        if (slot <= -2) {
            if (!lua_istable(L, lua_upvalueindex(1))) return not_ours(L, "call its methods");
            lua_rawgeti(L, lua_upvalueindex(1), -1 - slot);
            return 1;
        }
        if (o->magic == box_magic && !o->payload) return not_ours(L, "read it");
        passage p = passage_to_swift(h, L);
        failed = c->calls.get(c->context, L, o->payload, slot, &v);
        passage_back(h, p);
    } else {
        int exact = 0;
        lua_Integer i = type == LUA_TNUMBER ? lua_tointegerx(L, 2, &exact) : 0;
        if (o->magic == box_magic && !o->payload) return not_ours(L, "read it");
        passage p = passage_to_swift(h, L);
        failed = exact && c->calls.index ? c->calls.index(c->context, L, o->payload, i, &v)
                                         : c->calls.get(c->context, L, o->payload, NONE, &v);
        passage_back(h, p);
    }
    if (failed) return lua_error(L);
    return put(L, &v);
}

static int class_new_index(lua_State *L) {
    object *o = check(L, 1);
    if (!o || (o->magic == box_magic && !o->payload)) return not_ours(L, "change it");
    const shim_class *c = o->cls;
    shim_value v;
    take(L, 3, &v);
    host *h = c->host;
    int32_t failed;
    int type = lua_type(L, 2), exact = 0;
    if (type == LUA_TNUMBER && c->calls.set_index) {
        lua_Integer i = lua_tointegerx(L, 2, &exact);
        if (exact) {
            passage p = passage_to_swift(h, L);
            failed = c->calls.set_index(c->context, L, o->payload, i, &v);
            passage_back(h, p);
            return failed ? lua_error(L) : 0;
        }
    }
    int32_t slot = NONE;
    if (type == LUA_TSTRING) {
        size_t n;
        const char *name = lua_tolstring(L, 2, &n);
        slot = find(&c->shape, name, n);
    }
    passage p = passage_to_swift(h, L);
    failed = c->calls.set(c->context, L, o->payload, slot, &v);
    passage_back(h, p);
    return failed ? lua_error(L) : 0;
}

static int class_equal(lua_State *L) {
    object *a = check(L, 1), *b = check(L, 2);
    lua_pushboolean(L, a && b && a->magic == b->magic && a->payload == b->payload &&
                           (a->magic == box_magic || a->cls == b->cls));
    return 1;
}

// ---- creation from a table: its values in one pass, one call into Swift. Anything unusual goes to the general
// function in upvalue 1 with the arguments untouched.

enum { MOST_FIELDS = 64 };

static int create(lua_State *L) {
    int top = lua_gettop(L);
    object *o = check(L, 1);
    if (top == 3 && o && o->magic == box_magic && o->payload && o->cls->calls.resolve &&
        lua_type(L, 2) == LUA_TSTRING && lua_istable(L, 3)) {
        host *h = o->cls->host;
        size_t length;
        const char *name = lua_tolstring(L, 2, &length);
        shim_class *c = o->cls->calls.resolve(o->cls->context, L, o->payload, name, length);
        shim_value values[MOST_FIELDS];
        int32_t n = 0;
        if (c) {
            lua_pushnil(L);
            while (lua_next(L, 3)) {
                shim_value *v = &values[n];
                const char *field = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &length) : NULL;
                int32_t slot = field ? find(&c->shape, field, length) : NONE;
                if (slot < 0 || n == MOST_FIELDS - 1) break;
                take(L, -1, v);
                if (v->tag == SHIM_OTHER) break;
                v->slot = slot;
                n++;
                lua_pop(L, 1);
            }
            if (lua_gettop(L) == 3) {
                int64_t key = 0;
                passage p = passage_to_swift(h, L);
                int32_t failed = c->calls.create(c->context, L, values, n, &key);
                passage_back(h, p);
                if (failed == 1) return lua_error(L);
                if (!failed) {
                    shim_push_object(L, c, key);
                    return 1;
                }
            }
            lua_settop(L, 3);
        }
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, top, LUA_MULTRET);
    return lua_gettop(L);
}

void shim_class_use_fast_create(lua_State *L) { lua_pushcclosure(L, create, 1); }

// ---- each(): upvalue 1 the walk, upvalue 2 the metatable of its objects

enum { BATCH = 256 };
typedef struct {
    uint64_t magic;
    shim_class *cls;
    const void *source;
    shim_keys keys;
    int64_t position;
    int32_t count, next;
    int64_t batch[BATCH];
} walk;

static walk *check_walk(lua_State *L, int i) {
    if (lua_type(L, i) != LUA_TUSERDATA || lua_rawlen(L, i) != sizeof(walk)) return NULL;
    walk *w = lua_touserdata(L, i);
    return w->magic == walk_magic ? w : NULL;
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
    if (!w) return not_ours(L, "go on");
    if (w->next == w->count) {
        if (!w->source) return 0;
        host *h = host_of(L);
        passage p = passage_to_swift(h, L);
        int32_t n = w->keys(w->source, L, w->position, w->batch, BATCH);
        passage_back(h, p);
        w->next = w->count = 0;
        if (n < 0) return lua_error(L);
        if (n == 0) {
            end_walk(L, w);
            return 0;
        }
        w->count = n;
        w->position += n;
    }
    int64_t key = w->batch[w->next++];
    shim_class *c = w->cls;
    if (c->kind == SHIM_CLASS_FROZEN || !lua_istable(L, lua_upvalueindex(2))) {
        shim_push_object(L, c, key);
        return 1;
    }
    object *o = lua_newuserdatauv(L, sizeof *o, 0);
    *o = (object){ live_magic, key, c };
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
    w->source = source;
    w->keys = keys;
    w->position = 0;
    w->count = w->next = 0;
    set_metatable(L, host_of(L)->walk_metatable);
    if (c->kind == SHIM_CLASS_FROZEN && shim_push_anchor(L, c)) lua_setiuservalue(L, -2, 1);  // it outlasts the walk
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->metatable);
    lua_pushcclosure(L, step, 2);
}

// ---- declaration

static int locked(lua_State *L, const char *name) {  // hides the metatable from scripts without the debug library
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    return 0;
}

static shim_class *allocate(host *h) {
    for (shim_class *c = h->classes; c; c = c->next)
        if (c->kind == SHIM_CLASS_FROZEN && c->spare) {
            c->spare = false;
            return c;
        }
    shim_class *c = calloc(1, sizeof *c);
    if (!c) abort();  // because a host call cannot go on without memory
    c->next = h->classes;
    h->classes = c;
    return c;
}

shim_class *shim_class_new(lua_State *L, int32_t kind, const char *name, const void *context,
                           const shim_class_calls *calls) {
    host *h = host_of(L);
    shim_class *c = allocate(h);
    c->host = h;
    c->context = context;
    c->calls = *calls;
    c->kind = kind;
    if (kind == SHIM_CLASS_FROZEN) return c;  // its maker does the rest
    lua_createtable(L, 0, 16);
    c->names = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_createtable(L, 16, 0);
    lua_pushvalue(L, -1);
    c->methods = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_createtable(L, 0, 12);
    lua_insert(L, -2);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, class_index, 1);
    lua_setfield(L, -3, "__index");
    lua_pushcclosure(L, class_new_index, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, class_equal);
    lua_setfield(L, -2, "__eq");
    if (kind == SHIM_CLASS_BOX) {
        lua_pushcfunction(L, collect_box);
        lua_setfield(L, -2, "__gc");
    }
    locked(L, name);
    c->name = anchor(L, c, name, strlen(name));
    c->metatable = luaL_ref(L, LUA_REGISTRYINDEX);
    return c;
}

void shim_class_add_method(lua_State *L, shim_class *c, const char *name, size_t n) {
    reserve(&c->shape, 1);
    const char *own = anchor(L, c, name, n);
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

void shim_class_add_metamethod(lua_State *L, shim_class *c, const char *name) {
    if (lua_rawgeti(L, LUA_REGISTRYINDEX, c->metatable) == LUA_TTABLE) {
        lua_insert(L, -2);
        lua_pushstring(L, name);
        lua_insert(L, -2);
        lua_rawset(L, -3);
        lua_pop(L, 1);
    } else {
        lua_pop(L, 2);
    }
}

void shim_class_set_properties(lua_State *L, shim_class *c, const char *const *names, const size_t *lengths,
                               const int32_t *slots, int32_t count) {
    // Entries are rebuilt rather than removed: a property may have hidden a method, which comes back with it gone.
    shape old = c->shape;
    c->shape = (shape){ NULL, 0, 0, 0 };
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
                const char *own = anchor(L, c, name, n);
                insert(&c->shape, own, n, -1 - number);
            }
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    for (int32_t i = 0; i < count; i++)
        insert(&c->shape, anchor(L, c, names[i], lengths[i]), lengths[i], slots[i]);
    free(old.entries);
}

bool shim_class_push_method(lua_State *L, const shim_class *c, const char *name, size_t n) {
    if (lua_rawgeti(L, LUA_REGISTRYINDEX, c->methods) == LUA_TTABLE) {
        lua_pushlstring(L, name, n);
        lua_rawget(L, -2);
        lua_remove(L, -2);
        if (lua_isfunction(L, -1)) return true;
    }
    lua_pop(L, 1);
    return false;
}

const void *shim_class_context(const shim_class *c) { return c->context; }
const char *shim_class_name(const shim_class *c) { return c->name; }

// ---- frozen classes: as many as there are versions in use, so they go when their last object goes. Each object
// holds the anchor; the anchor's finalizer gives the class back. An object that a finalizer resurrects finds another
// generation and is refused.

typedef struct { uint64_t magic; shim_class *first; } class_anchor;
static const uint64_t anchor_magic = 0x6d6f6f6e616e6368;

static class_anchor *check_anchor(lua_State *L, int i) {
    if (lua_type(L, i) != LUA_TUSERDATA || lua_rawlen(L, i) != sizeof(class_anchor)) return NULL;
    class_anchor *a = lua_touserdata(L, i);
    return a->magic == anchor_magic ? a : NULL;
}

static int collect_anchor(lua_State *L) {
    class_anchor *a = check_anchor(L, 1);
    if (!a || !a->first) return 0;
    shim_class *first = a->first;
    a->first = NULL;
    host *h = first->host;
    luaL_unref(L, LUA_REGISTRYINDEX, first->names);
    for (shim_class *c = first, *next; c; c = next) {
        next = c->sibling;
        const void *context = c->context;
        free(c->shape.entries);
        c->shape = (shape){ NULL, 0, 0, 0 };
        c->generation++;
        c->context = NULL;
        c->sibling = NULL;
        c->spare = true;
        passage p = passage_to_swift(h, L);
        h->calls.release(context);
        passage_back(h, p);
    }
    return 0;
}

bool shim_push_anchor(lua_State *L, const shim_class *c) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->names);
    if (lua_istable(L, -1)) lua_rawgeti(L, -1, 1); else lua_pushnil(L);
    lua_remove(L, -2);
    if (check_anchor(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}

shim_class *shim_class_freeze(lua_State *L, const shim_class *live, const void *context,
                              const shim_class_calls *calls, shim_class *sibling) {
    shim_class *c = shim_class_new(L, SHIM_CLASS_FROZEN, live->name, context, calls);
    c->metatable = live->metatable;
    c->methods = live->methods;
    c->name = live->name;
    c->shape = live->shape;
    if (live->shape.entries) {
        size_t bytes = (live->shape.mask + 1) * sizeof(entry);
        c->shape.entries = malloc(bytes);
        if (!c->shape.entries) abort();  // because a host call cannot go on without memory
        memcpy(c->shape.entries, live->shape.entries, bytes);  // its names stay anchored by the live class
    }
    if (sibling && shim_push_anchor(L, sibling)) {
        class_anchor *a = lua_touserdata(L, -1);
        c->names = sibling->names;
        c->sibling = a->first;
        a->first = c;
        return c;
    }
    lua_createtable(L, 1, 0);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    class_anchor *a = lua_newuserdatauv(L, sizeof *a, 0);
    *a = (class_anchor){ anchor_magic, c };
    set_metatable(L, host_of(L)->anchor_metatable);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, 1);
    lua_insert(L, -2);
    c->names = luaL_ref(L, LUA_REGISTRYINDEX);
    return c;
}

static int metatable_with_gc(lua_State *L, lua_CFunction collect) {
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

void class_setup(lua_State *L, host *h) {
    h->walk_metatable = metatable_with_gc(L, collect_walk);
    h->anchor_metatable = metatable_with_gc(L, collect_anchor);
}

// After lua_close: boxes are gone, classes are the last to hold Swift objects.
void class_teardown(host *h) {
    for (shim_class *c = h->classes, *next; c; c = next) {
        next = c->next;
        if (c->context) h->calls.release(c->context);
        free(c->shape.entries);
        free(c);
    }
    h->classes = NULL;
}
