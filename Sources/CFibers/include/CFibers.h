#pragma once
// Stacks on which code can stop in the middle and continue later, on the same thread.
#include <stdbool.h>
#include <stddef.h>

typedef struct fiber fiber;

// Reserves a stack; the system provides memory only for the part that is used. Returns NULL if the system has no memory
// or address space left, or does not support fibers.
fiber *fiber_create(size_t stack_size);
// Releases the stack. Call it only when no body runs or is parked on the stack.
void fiber_destroy(fiber *f);

// Calls the body on the stack of the fiber, until it returns or parks. Returns whether it has returned.
bool fiber_start(fiber *f, void (*body)(void *), void *argument);
// Continues a parked body, until it returns or parks again. Returns whether it has returned.
bool fiber_resume(fiber *f);
// Called by the body, on the stack of the fiber. Returns to the caller of `fiber_start` or `fiber_resume`; the next
// `fiber_resume` continues the body after this call.
void fiber_park(fiber *f);
