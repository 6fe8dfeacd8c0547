// Functions written in Swift. The closure's one upvalue holds the Swift object and the entry point. Swift returns the
// number of results or a sentinel; C then raises, with no Swift frame left on the stack.
#include "host.h"

static const uint64_t function_magic = 0x6d6f6f6e66756e63;
typedef struct {
    uint64_t magic;
    const void *object;
    shim_function call;
    uint64_t padding;
} function_box;

static function_box *check(lua_State *L, int i) {  // debug.setupvalue may have stored anything there
    if (lua_type(L, i) != LUA_TUSERDATA || lua_rawlen(L, i) != sizeof(function_box)) return NULL;
    function_box *b = lua_touserdata(L, i);
    return b->magic == function_magic && b->object ? b : NULL;
}

static int call_swift(lua_State *L) {
    host *h = host_of(L);
    relieve_memory(L, h);  // finalizers can run here
    function_box *b = check(L, lua_upvalueindex(1));
    if (!b) return luaL_error(L, "this function has been released");
    passage p = passage_to_swift(h, L);
    int n = b->call(b->object, L);  // the callee keeps the object alive
    passage_back(h, p);
    return n == SHIM_RAISE ? raise_error(L) : n;
}

static int collect(lua_State *L) {
    function_box *b = check(L, 1);
    if (!b) return 0;
    host *h = host_of(L);
    const void *object = b->object;
    b->object = NULL;
    memory_release_object(&h->mem, MEMORY_OF_OBJECT);
    passage p = passage_to_swift(h, L);
    h->calls.release(object);
    passage_back(h, p);
    return 0;
}

void function_setup(lua_State *L, host *h) {
    lua_createtable(L, 0, 3);
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    h->function_metatable = luaL_ref(L, LUA_REGISTRYINDEX);
}

void shim_push_function(lua_State *L, const void *object, shim_function f) {
    host *h = host_of(L);
    memory_reserve_object(&h->mem, MEMORY_OF_OBJECT);
    function_box *b = lua_newuserdatauv(L, sizeof *b, 0);
    *b = (function_box){ function_magic, object, f, 0 };
    if (lua_rawgeti(L, LUA_REGISTRYINDEX, h->function_metatable) == LUA_TTABLE) lua_setmetatable(L, -2);
    else lua_pop(L, 1);  // the script has changed the registry: the object is never released
    lua_pushcclosure(L, call_swift, 1);
}
