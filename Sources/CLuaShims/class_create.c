// Creation from a table: reads its values in one pass and calls Swift once. Values that are tables stay on the stack, so
// that Swift can read their elements. Anything unusual goes to the general function in upvalue 1 with the arguments
// unchanged.
#include "class.h"

enum { MOST_FIELDS = 64, MOST_TABLES = 8 };  // the stack has space for so many tables

// Returns the slot of the property at a position, if the key at a stack index is the position after it.
static int32_t slot_at(lua_State *L, int i, int32_t position, const shape *s) {
    bool is_next = lua_isinteger(L, i) && lua_tointeger(L, i) == position + 1;
    return is_next && position < s->ordered ? s->order[position] : NONE;
}

int class_create_function(lua_State *L) {
    int top = lua_gettop(L);
    host *h = host_of(L);
    relieve_memory(L, h);  // finalizers can run here
    object *o = check(L, 1);
    if (top == 3 && o && o->magic == box_magic && o->payload && o->cls->calls.resolve &&
        lua_type(L, 2) == LUA_TSTRING && lua_istable(L, 3)) {
        size_t length;
        const char *name = lua_tolstring(L, 2, &length);
        passage p = passage_to_swift(h, L);
        shim_class *c = o->cls->calls.resolve(o->cls->context, L, o->payload, name, length);
        passage_back(h, p);
        shim_value values[MOST_FIELDS];
        int32_t n = 0, tables = 0;
        if (c) {
            // The values are either all named or all in the order of the properties, without gaps.
            bool listed = lua_rawlen(L, 3) > 0;
            lua_pushnil(L);
            while (lua_next(L, 3)) {
                shim_value *v = &values[n];
                int32_t slot = listed ? slot_at(L, -2, n, &c->shape) : find_key(L, -2, &c->shape);
                if (slot < 0 || n == MOST_FIELDS - 1) break;
                take_value(L, -1, v);
                v->slot = slot;
                if (v->tag == SHIM_OTHER) {
                    if (!lua_istable(L, -1) || tables == MOST_TABLES) break;
                    v->u.i = lua_gettop(L) - 1;
                    lua_insert(L, -2);  // below the key
                    tables++;
                } else {
                    lua_pop(L, 1);
                }
                n++;
            }
            if (lua_gettop(L) == 3 + tables) {
                int64_t key = 0;
                p = passage_to_swift(h, L);
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

void shim_class_use_fast_create(lua_State *L) { lua_pushcclosure(L, class_create_function, 1); }
