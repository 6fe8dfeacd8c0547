// Libraries that are loaded at run time: programs build and run without them until they use them.

#pragma once

#include <stdbool.h>
#include <stddef.h>

/// A function of a library, and the pointer that it is stored into.
typedef struct {
    const char *name;
    void *target;
} OptionalFunction;

/// Loads the first library of a list of file names that ends with NULL, and fills in its functions.
///
/// The library stays loaded. Returns false if none is installed or it lacks a function.
bool optional_library_load(const char *const *names, const OptionalFunction *functions, size_t count);
