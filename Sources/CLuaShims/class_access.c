// Access: x.name, x.name = v, x[i], ==.
#include "class.h"

// Upvalue 1 is the table of methods.
int class_index(lua_State *L) {
    object *o = check(L, 1);
    if (!o) return not_ours(L, "read it");
    const shim_class *c = o->cls;
    host *h = c->host;
    int32_t slot = find_key(L, 2, &c->shape);
    if (slot <= -2) {
        if (!lua_istable(L, lua_upvalueindex(1))) return not_ours(L, "call its methods");
        lua_rawgeti(L, lua_upvalueindex(1), -1 - slot);
        return 1;
    }
    if (o->magic == box_magic && !o->payload) return not_ours(L, "read it");
    int exact = 0;
    lua_Integer i = 0;
    if (slot == NONE && c->calls.index && lua_type(L, 2) == LUA_TNUMBER) i = lua_tointegerx(L, 2, &exact);
    shim_value v;
    v.tag = SHIM_NIL;
    passage p = passage_to_swift(h, L);
    int32_t failed = exact ? c->calls.index(c->context, L, o->payload, i, &v)
                           : c->calls.get(c->context, L, o->payload, slot, &v);
    passage_back(h, p);
    if (failed) return lua_error(L);
    return put_value(L, &v);
}

int class_new_index(lua_State *L) {
    object *o = check(L, 1);
    if (!o || (o->magic == box_magic && !o->payload)) return not_ours(L, "change it");
    const shim_class *c = o->cls;
    host *h = c->host;
    shim_value v;
    take_value(L, 3, &v);
    int32_t slot = find_key(L, 2, &c->shape);
    int exact = 0;
    lua_Integer i = 0;
    if (slot == NONE && c->calls.set_index && lua_type(L, 2) == LUA_TNUMBER) i = lua_tointegerx(L, 2, &exact);
    passage p = passage_to_swift(h, L);
    int32_t failed = exact ? c->calls.set_index(c->context, L, o->payload, i, &v)
                           : c->calls.set(c->context, L, o->payload, slot, &v);
    passage_back(h, p);
    return failed ? lua_error(L) : 0;
}

int class_equal(lua_State *L) {
    object *a = check(L, 1), *b = check(L, 2);
    lua_pushboolean(L, a && b && a->magic == b->magic && a->payload == b->payload &&
                           (a->magic == box_magic || a->cls == b->cls));
    return 1;
}
