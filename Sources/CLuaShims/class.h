#pragma once
// Classes of userdata. A live object is a key and its class, without __gc, so creating one costs only an allocation. A
// box is the same block with a retained Swift object instead of the key, and a finalizer. Access checks the block
// (type, exact size, magic, generation), never the metatable, so it works after debug.setmetatable.
//
// A class that is no longer needed for new objects is released with its last object, and its memory is used for another
// class with the next generation. A finalizer can keep an object beyond that; the object is then refused.
//
//     class.c          declaration, and creation of userdata
//     class_names.c    names and slots
//     class_access.c   x.name, x.name = v, x[i], ==
//     class_create.c   creation from a table
//     class_each.c     iteration by each()
//     class_release.c  the end of classes, and classes of one version
#include "host.h"

static const uint32_t live_magic = 0x6c697665, box_magic = 0x626f786e;

typedef struct { uint32_t magic, generation; int64_t payload; shim_class *cls; } object;

// Names are Lua strings. Short ones are interned, so the address of the string object identifies the name. Names beyond
// the interning limit are compared as text. The class keeps all of them alive.
enum { INTERNED = 40 };  // LUAI_MAXSHORTLEN of 5.4: each longer string has its own address
enum { NONE = -1 };
typedef struct { const void *identity; const char *name; size_t length; int32_t slot; } entry;
typedef struct {
    entry *entries;
    uint32_t mask, count;
    int32_t methods;  // slot <= -2: method number -2 - slot
    int32_t *order;   // the slots of the properties in the order of the class; NULL in classes of one version
    int32_t ordered;
} shape;

struct shim_class {
    const void *context;
    shim_class_calls calls;
    host *host;
    shape shape;
    int32_t kind;
    int metatable, methods;  // registry slots; LUA_NOREF after the release
    int names;               // keeps the strings alive; in a frozen class, the weak table that holds its anchor
    const char *name;
    uint32_t generation;
    bool spare;           // without objects, so that it can be reused
    shim_class *next;     // all classes of the state
    shim_class *sibling;  // classes with the same anchor
};

// ---- names

static inline uint32_t name_hash(const void *identity) { return (uint32_t)((uintptr_t)identity >> 4) * 0x9E3779B1u; }

// Returns the slot of a name by the address of its string object. Returns NONE for names that are unknown or long, and
// for values other than strings.
static inline int32_t find_name(const shape *s, const void *identity) {
    if (!s->entries || !identity) return NONE;
    for (uint32_t i = name_hash(identity) >> 7 & s->mask;; i = (i + 1) & s->mask) {
        const entry *e = &s->entries[i];
        if (e->identity == identity) return e->slot;
        if (!e->identity) return NONE;
    }
}

int32_t find_long_name(const shape *s, const char *name, size_t length);
// Returns the slot of the key at a stack index; NONE if the class has no such name.
static inline int32_t find_key(lua_State *L, int i, const shape *s) {
    int32_t slot = find_name(s, lua_topointer(L, i));
    if (slot != NONE || lua_type(L, i) != LUA_TSTRING) return slot;
    size_t n;
    const char *name = lua_tolstring(L, i, &n);
    return n > INTERNED ? find_long_name(s, name, n) : NONE;
}
typedef struct { const char *bytes; const void *identity; } anchored;
anchored anchor(lua_State *L, shim_class *c, const char *name, size_t length);

// ---- userdata

static inline object *check(lua_State *L, int i) {
    if (lua_rawlen(L, i) != sizeof(object)) return NULL;
    // Strings and tables of that length are not userdata, and light userdata has no length.
    object *o = lua_touserdata(L, i);
    if (!o || (o->magic != live_magic && o->magic != box_magic)) return NULL;
    return o->generation == o->cls->generation ? o : NULL;
}
static inline void set_metatable(lua_State *L, int slot) {
    if (lua_rawgeti(L, LUA_REGISTRYINDEX, slot) == LUA_TTABLE) lua_setmetatable(L, -2); else lua_pop(L, 1);
}
static inline int not_ours(lua_State *L, const char *what) {
    return luaL_error(L, "cannot %s: this is not a value of moonpool, or it is already closed", what);
}
int class_index(lua_State *L);      // upvalue 1 is the table of methods
int class_new_index(lua_State *L);
int class_equal(lua_State *L);
int metatable_with_gc(lua_State *L, lua_CFunction collect);
void each_setup(lua_State *L, host *h);
void release_setup(lua_State *L, host *h);

// ---- values

static inline void take_value(lua_State *L, int i, shim_value *v) {
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
    v->u.i = 0;  // creation keeps the tables of fields on the stack, and stores their indexes
}

static inline int put_value(lua_State *L, const shim_value *v) {
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
