// Declaration of classes, and creation of their userdata.
#include "class.h"

void shim_push_object(lua_State *L, shim_class *c, int64_t key) {
    if (!c) {
        lua_pushnil(L);
        return;
    }
    bool frozen = c->kind == SHIM_CLASS_FROZEN;
    object *o = lua_newuserdatauv(L, sizeof *o, frozen);
    *o = (object){ live_magic, c->generation, key, c };
    if (frozen && shim_push_anchor(L, c)) lua_setiuservalue(L, -2, 1);
    set_metatable(L, c->metatable);
}

void shim_push_box(lua_State *L, shim_class *c, const void *p) {
    memory_reserve_object(&host_of(L)->mem, MEMORY_OF_OBJECT);
    object *o = lua_newuserdatauv(L, sizeof *o, 0);
    *o = (object){ box_magic, c->generation, (int64_t)(intptr_t)p, c };
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
    memory_release_object(&h->mem, MEMORY_OF_OBJECT);
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
    if (!c || !o || o->magic != box_magic || c->kind != SHIM_CLASS_LIVE) return false;
    lua_pushvalue(L, i);
    empty(L, o);
    *o = (object){ live_magic, c->generation, key, c };
    set_metatable(L, c->metatable);
    lua_pop(L, 1);
    return true;
}

// ---- values

void shim_put(lua_State *L, const shim_value *v) { put_value(L, v); }

int64_t shim_live_array(lua_State *L, int32_t i, shim_class **c, int64_t *keys, int64_t capacity) {
    if (lua_type(L, i) != LUA_TTABLE || !lua_checkstack(L, 3)) return -1;
    i = lua_absindex(L, i);
    int64_t count = (int64_t)lua_rawlen(L, i), seen = 0;
    *c = NULL;
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        // Arrays are traversed in order; the overflow part is not. There the key gives the element's index.
        int64_t place = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        object *o = lua_type(L, -1) == LUA_TUSERDATA ? check(L, -1) : NULL;
        if (place < 1 || place > count || !o || o->magic != live_magic || (*c && *c != o->cls)) {
            lua_pop(L, 2);
            return -1;
        }
        *c = o->cls;
        if (place <= capacity) keys[place - 1] = o->payload;
        seen++;
    }
    return seen == count && count > 0 ? count : -1;
}

int64_t shim_array(lua_State *L, int32_t i, shim_value *values, int64_t capacity) {
    if (lua_type(L, i) != LUA_TTABLE || !lua_checkstack(L, 3)) return -1;
    if (lua_getmetatable(L, i)) {
        lua_pop(L, 1);
        return -1;
    }
    int64_t count = (int64_t)lua_rawlen(L, i), seen = 0;
    if (count > capacity) return -1;
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        int64_t place = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        if (place < 1 || place > count) {
            lua_pop(L, 2);
            return -1;
        }
        take_value(L, -1, &values[place - 1]);
        seen++;
    }
    return seen == count ? count : -1;
}

int64_t shim_entries(lua_State *L, int32_t i, shim_value *keys, shim_value *values, int64_t capacity) {
    if (lua_type(L, i) != LUA_TTABLE || !lua_checkstack(L, 3)) return -1;
    if (lua_getmetatable(L, i)) {
        lua_pop(L, 1);
        return -1;
    }
    int64_t count = 0;
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        if (count == capacity || lua_type(L, -2) != LUA_TSTRING) {
            lua_pop(L, 2);
            return -1;
        }
        take_value(L, -2, &keys[count]);
        take_value(L, -1, &values[count]);
        count++;
    }
    return count;
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
    for (shim_class *c = h->spare_classes ? h->classes : NULL; c; c = c->next)
        if (c->spare) {
            c->spare = false;
            h->spare_classes--;
            return c;
        }
    shim_class *c = calloc(1, sizeof *c);
    if (!c) abort();  // a host call cannot continue without memory
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
    if (kind == SHIM_CLASS_FROZEN) return c;  // shim_class_freeze completes it
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
    c->name = anchor(L, c, name, strlen(name)).bytes;
    c->metatable = luaL_ref(L, LUA_REGISTRYINDEX);
    return c;
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

int metatable_with_gc(lua_State *L, lua_CFunction collect) {
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

void class_setup(lua_State *L, host *h) {
    each_setup(L, h);
    release_setup(L, h);
}

// Runs after lua_close: boxes are freed, and only classes still reference Swift objects.
void class_teardown(host *h) {
    for (shim_class *c = h->classes, *next; c; c = next) {
        next = c->next;
        if (c->context) h->calls.release(c->context);
        free(c->shape.entries);
        free(c->shape.order);
        free(c);
    }
    h->classes = NULL;
}
