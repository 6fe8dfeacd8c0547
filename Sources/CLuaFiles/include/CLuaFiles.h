#pragma once
// The Lua files of this program: those in `lua`, which become part of the binary when files.S is assembled.
#include <stddef.h>
#include <string.h>

typedef struct { const char *name, *text; } lua_file;

// Ends with an entry without a name.
extern const lua_file lua_files[];

// Returns the name of a file by its index, in the order of files.S; NULL after the last.
static inline const char *lua_file_name(int index) { return lua_files[index].name; }

// Returns the text of a file, such as "migrate.lua"; NULL if there is none.
static inline const char *lua_file_text(const char *name) {
    for (const lua_file *file = lua_files; file->name; file++) {
        if (strcmp(file->name, name) == 0) return file->text;
    }
    return NULL;
}
