// The release of classes. An anchor is a userdata whose finalizer ends its classes. The anchor of frozen classes, which are
// those of one version, is held by each of their objects; that of a released live class is held by the metatable, and
// so by its objects too.
#include "class.h"

typedef struct { uint64_t magic; shim_class *first; } class_anchor;
static const uint64_t anchor_magic = 0x6d6f6f6e616e6368;

static class_anchor *check_anchor(lua_State *L, int i) {
    if (lua_type(L, i) != LUA_TUSERDATA || lua_rawlen(L, i) != sizeof(class_anchor)) return NULL;
    class_anchor *a = lua_touserdata(L, i);
    return a->magic == anchor_magic ? a : NULL;
}

static class_anchor *new_anchor(lua_State *L, shim_class *c, int uservalues) {
    class_anchor *a = lua_newuserdatauv(L, sizeof *a, uservalues);
    *a = (class_anchor){ anchor_magic, c };
    set_metatable(L, host_of(L)->anchor_metatable);
    return a;
}

static void unreference(lua_State *L, shim_class *c) {
    luaL_unref(L, LUA_REGISTRYINDEX, c->metatable);
    luaL_unref(L, LUA_REGISTRYINDEX, c->methods);
    c->metatable = c->methods = LUA_NOREF;
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
        unreference(L, c);
        c->names = LUA_NOREF;
        free(c->shape.entries);
        free(c->shape.order);
        c->shape = (shape){ 0 };
        c->generation++;
        c->context = NULL;
        c->sibling = NULL;
        c->spare = true;
        h->spare_classes++;
        passage p = passage_to_swift(h, L);
        h->calls.release(context);
        passage_back(h, p);
    }
    return 0;
}

void shim_class_release(lua_State *L, shim_class *c) {
    if (lua_rawgeti(L, LUA_REGISTRYINDEX, c->metatable) == LUA_TTABLE) {
        new_anchor(L, c, 1);
        lua_rawgeti(L, LUA_REGISTRYINDEX, c->names);
        lua_setiuservalue(L, -2, 1);
        lua_rawseti(L, -2, 1);
        luaL_unref(L, LUA_REGISTRYINDEX, c->names);
        c->names = LUA_NOREF;
        unreference(L, c);
    }
    lua_pop(L, 1);
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
    // The live class may be released first.
    lua_rawgeti(L, LUA_REGISTRYINDEX, live->metatable);
    c->metatable = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_rawgeti(L, LUA_REGISTRYINDEX, live->methods);
    c->methods = luaL_ref(L, LUA_REGISTRYINDEX);
    c->name = live->name;
    c->shape = live->shape;
    c->shape.order = NULL;
    c->shape.ordered = 0;
    if (live->shape.entries) {
        size_t bytes = (live->shape.mask + 1) * sizeof(entry);
        c->shape.entries = malloc(bytes);
        if (!c->shape.entries) abort();  // a host call cannot continue without memory
        memcpy(c->shape.entries, live->shape.entries, bytes);  // the metatable keeps the names alive
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
    new_anchor(L, c, 0);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, 1);
    lua_insert(L, -2);
    c->names = luaL_ref(L, LUA_REGISTRYINDEX);
    return c;
}

void release_setup(lua_State *L, host *h) { h->anchor_metatable = metatable_with_gc(L, collect_anchor); }
