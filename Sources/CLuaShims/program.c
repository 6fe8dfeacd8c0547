// The command line of the process, as `main` of lua.c receives it. Swift's `CommandLine` reads the command line from
// /proc, and is empty if /proc is not mounted.
#include "CLuaShims.h"

static int count;
static char **words;

__attribute__((constructor)) static void keep(int argc, char **argv) {
    count = argc;
    words = argv;
}

const char *shim_program_word(int32_t index) { return index >= 0 && index < count ? words[index] : NULL; }
