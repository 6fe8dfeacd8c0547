// The standard streams of `io` as streams whose contents go to the host.
#define _GNU_SOURCE
#include <stdio.h>
#include "host.h"

typedef struct {
    shim_write_function write;
    const void *context;
} sink;

static ssize_t give(void *cookie, const char *bytes, size_t count) {
    sink *s = cookie;
    s->write(s->context, bytes, count);
    return (ssize_t)count;
}

static int end(void *cookie) {
    free(cookie);
    return 0;
}

void *shim_open_stream(shim_write_function write, const void *context) {
    sink *s = malloc(sizeof *s);
    if (!s) return NULL;
    *s = (sink){ write, context };
    FILE *file = fopencookie(s, "w", (cookie_io_functions_t){ .write = give, .close = end });
    if (!file) free(s);
    else setvbuf(file, NULL, _IONBF, 0);  // the host divides the output into lines
    return file;
}

void shim_close_stream(void *stream) { fclose(stream); }

// Like Lua's standard files, a script cannot close them.
static int keep_open(lua_State *L) {
    luaL_Stream *stream = luaL_checkudata(L, 1, LUA_FILEHANDLE);
    stream->closef = keep_open;
    luaL_pushfail(L);
    lua_pushliteral(L, "cannot close standard file");
    return 2;
}

// Arguments: the stream, its name in `io`, and the registry's key of the default file that it replaces, or nil.
static int use_stream(lua_State *L) {
    luaL_Stream *stream = lua_newuserdatauv(L, sizeof *stream, 0);
    stream->closef = NULL;
    luaL_setmetatable(L, LUA_FILEHANDLE);
    stream->f = lua_touserdata(L, 1);
    stream->closef = keep_open;
    if (!lua_isnil(L, 3)) {
        lua_pushvalue(L, 3);
        lua_pushvalue(L, -2);
        lua_rawset(L, LUA_REGISTRYINDEX);
    }
    if (lua_getglobal(L, LUA_IOLIBNAME) != LUA_TTABLE) return 0;
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    return 0;
}

bool shim_use_stream(lua_State *L, void *stream, bool is_error) {
    lua_pushcfunction(L, use_stream);
    lua_pushlightuserdata(L, stream);
    lua_pushstring(L, is_error ? "stderr" : "stdout");
    if (is_error) lua_pushnil(L);
    else lua_pushliteral(L, "_IO_output");  // IO_OUTPUT of liolib.c
    if (lua_pcall(L, 3, 0, 0) == LUA_OK) return true;
    lua_pop(L, 1);
    return false;
}
