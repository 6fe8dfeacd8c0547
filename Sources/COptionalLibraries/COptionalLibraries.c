#include "COptionalLibraries.h"

#include <dlfcn.h>

static void *open_first(const char *const *names) {
    for (; *names != NULL; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) return library;
    }
    return NULL;
}

bool optional_library_load(const char *const *names, const OptionalFunction *functions, size_t count) {
    void *library = open_first(names);
    if (library == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (symbol == NULL) {
            dlclose(library);
            return false;
        }
        *(void **)functions[i].target = symbol;
    }
    return true;
}
