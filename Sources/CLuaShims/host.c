// Creation and destruction of a state: memory, panic, warnings, libraries.
#include <stdio.h>
#include "host.h"

static int panic(lua_State *L) {
    // Reached only through a bug in these shims: a call that may raise ran unprotected.
    size_t n = 0;
    const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &n) : "(error object is not a string)";
    fprintf(stderr, "moonpool: unprotected error in call to Lua: %s\n", message);
    host_of(L)->mem.enforce = 0;
    luaL_traceback(L, L, NULL, 0);
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
}

static void warn(void *ud, const char *text, int continues) {
    host *h = ud;
    if (!h->warning_continues && !continues && text[0] == '@') {  // a control message (manual, warn)
        if (!strcmp(text, "@on")) h->warnings_on = 1;
        if (!strcmp(text, "@off")) h->warnings_on = 0;
        return;
    }
    h->warning_continues = continues;
    if (!h->warnings_on) return;
    size_t n = strlen(text);
    char *joined = realloc(h->warning, h->warning_length + n + 1);
    if (!joined) return;
    memcpy(joined + h->warning_length, text, n + 1);
    h->warning = joined;
    h->warning_length += n;
    if (continues) return;
    int enforce = h->mem.enforce;
    quota_set(h, 0);
    if (h->calls.warn) h->calls.warn(h->owner, h->warning, h->warning_length);
    quota_set(h, enforce);
    h->warning_length = 0;
}

static int prepare(lua_State *L) {
    host *h = host_of(L);
    interrupt_setup(L, h);
    function_setup(L, h);
    class_setup(L, h);
    return 0;
}

lua_State *shim_open(const void *owner, const shim_host_calls *calls, size_t limit) {
    host *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->owner = owner;
    h->calls = *calls;
    memory_prepare(&h->mem, limit);
    lua_State *L = lua_newstate(host_allocate, &h->mem);
    if (!L) {
        free(h);
        return NULL;
    }
    *(host **)lua_getextraspace(L) = h;
    h->main = h->current = L;
    lua_atpanic(L, panic);
    lua_setwarnf(L, warn, h);
    lua_pushcfunction(L, prepare);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
        shim_close(L);
        return NULL;
    }
    return L;
}

int32_t shim_close(lua_State *L) {
    host *h = host_of(L);
    L = h->main;
    int entered = frame_enter(h, L);  // finalizers are Lua code
    h->mem.enforce = h->mem.charge != NULL;  // closing itself allocates nothing
    h->has_finalizers = false;
    h->current = L;
    // A stop may still find the frame while the frame is removed, and then reads the state.
    h->mem.kept = lua_getextraspace(L);  // the start of the block of a main state
    lua_close(L);
    int32_t reason = entered && h->raised && stop_asked(h) ? atomic_load(&h->reason) : -1;
    frames_end(h);  // `os.exit(code, true)` closes below the frames of the code that called it
    host_free_kept(&h->mem);
    class_teardown(h);
    interrupt_teardown(h);
    host_free_memory(&h->mem);
    free(h->traceback);
    free(h->kept);
    free(h->warning);
    free((void *)h->frames);
    free(h);
    return reason;
}

const char *shim_copyright(void) { return LUA_COPYRIGHT; }
const void *shim_owner(lua_State *L) { return host_of(L)->owner; }
lua_State *shim_current(lua_State *L) { return host_of(L)->current; }
void shim_warnings(lua_State *L, bool on) { host_of(L)->warnings_on = on; }

static const luaL_Reg libraries[] = {
    { LUA_GNAME, luaopen_base },       { LUA_LOADLIBNAME, luaopen_package }, { LUA_COLIBNAME, luaopen_coroutine },
    { LUA_TABLIBNAME, luaopen_table }, { LUA_IOLIBNAME, luaopen_io },        { LUA_OSLIBNAME, luaopen_os },
    { LUA_STRLIBNAME, luaopen_string }, { LUA_MATHLIBNAME, luaopen_math },   { LUA_UTF8LIBNAME, luaopen_utf8 },
    { LUA_DBLIBNAME, luaopen_debug },
};

static int open_libraries(lua_State *L) {
    uint32_t set = (uint32_t)lua_tointeger(L, 1);
    if (lua_toboolean(L, 2)) {  // as lua.c does for -E; read by luaopen_package
        lua_pushboolean(L, 1);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    }
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (!(set & (1u << i))) continue;
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
        lua_pop(L, 1);
    }
    if (host_of(L)->mem.maps) protected_setup(L);
    coroutine_setup(L);
    stoppable_setup(L);
    debug_setup(L);
    collect_setup(L, host_of(L));
    return 0;
}

void shim_open_libraries(lua_State *L, uint32_t set, bool no_environment) {
    lua_pushcfunction(L, open_libraries);
    lua_pushinteger(L, set);
    lua_pushboolean(L, no_environment);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK) lua_pop(L, 1);
}
