#pragma once
// The only access to liblua. `lua.h` is not included, so importers of this header cannot call a function that may raise
// (longjmp). Every function below either cannot raise or runs its body under `lua_pcall`.
//
// "Cannot raise" for a function that allocates depends on one rule of the allocator: it refuses memory only while Lua
// code runs (see shim_call), never in a host call. If malloc itself fails in a host call, the process ends.
//
// Stack effects are written as in the Lua manual: [-popped, +pushed].
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lua_State lua_State;
typedef struct shim_class shim_class;
typedef struct shim_interrupt shim_interrupt;

enum { SHIM_OK, SHIM_RUNTIME, SHIM_MEMORY, SHIM_HANDLER, SHIM_SYNTAX, SHIM_STOPPED, SHIM_OVERFLOW };
// The special return value of a Swift function: raise the value on top.
enum { SHIM_RAISE = -1 };
enum { SHIM_TNIL = 0, SHIM_TBOOLEAN = 1, SHIM_TLIGHT = 2, SHIM_TNUMBER = 3, SHIM_TSTRING = 4, SHIM_TTABLE = 5,
       SHIM_TFUNCTION = 6, SHIM_TUSERDATA = 7, SHIM_TTHREAD = 8, SHIM_TNONE = -1 };

// A value passed between Lua and a class. `bytes` is borrowed: valid until the call that carried it returns.
enum { SHIM_NIL, SHIM_BOOL, SHIM_INT, SHIM_NUM, SHIM_STR, SHIM_OBJECT, SHIM_BOX, SHIM_OTHER, SHIM_PUSHED };
typedef struct {
    int32_t tag;
    int32_t slot;  // property slot, or the stack index of a SHIM_OTHER; for a field of a table, u.i is the index
    union { int64_t i; double d; bool b; const char *bytes; } u;
    union { size_t length; shim_class *cls; } x;
} shim_value;

// ---- lifetime of a state
// How memory is charged: the account may refuse it, may not refuse it, or may refuse it only if the limit is exceeded
// by more than a little.
enum { SHIM_CHARGE, SHIM_CHARGE_FORCED, SHIM_CHARGE_OVERDRAFT };
// The action before a host call: nothing; collect garbage; refuse the call.
// What a host call has to do first: nothing; collect garbage; collect, and fail without memory; fail.
enum { SHIM_PRESSURE_NONE, SHIM_PRESSURE_COLLECT, SHIM_PRESSURE_EXHAUSTED, SHIM_PRESSURE_REFUSE };
typedef struct {
    void (*release)(const void *object);
    void (*warn)(const void *owner, const char *text, size_t length);
    void (*main_returned)(const void *owner);
    void (*will_collect)(const void *owner);  // the script has called collectgarbage
    // The memory account: charges bytes, and returns false if it refuses them; releases bytes; returns the action
    // before a host call, whose memory cannot be refused; is notified after a garbage collection.
    bool (*charge_memory)(const void *owner, size_t size, int32_t manner);
    void (*release_memory)(const void *owner, size_t size);
    int32_t (*memory_pressure)(const void *owner);  // SHIM_PRESSURE_…
    void (*did_collect)(const void *owner);
} shim_host_calls;
// `limit`: the limit of the memory account, 0 without one. Returns NULL if there is no memory.
lua_State *shim_open(const void *owner, const shim_host_calls *calls, size_t limit);
const char *shim_program_word(int32_t index);  // of the process's command line, from 0; NULL after the last word
int32_t shim_close(lua_State *L);  // runs finalizers, as a separate run; returns the reason if they were stopped, or -1
const char *shim_copyright(void);
const void *shim_owner(lua_State *L);
// Calls `main_returned` once, when the outermost Lua function returns, while its locals are alive. False if that cannot
// be detected.
bool shim_watch_main_return(lua_State *L);
lua_State *shim_current(lua_State *L);  // the stack of the innermost host call
void shim_open_libraries(lua_State *L, uint32_t set, bool no_environment);  // bits in luaL_openlibs' order; [-0, +0]
void shim_confine(lua_State *L);  // removes what a confined script may not use; [-0, +0]
void shim_warnings(lua_State *L, bool on);

// ---- the program's own Lua files
void shim_capture_standard(lua_State *L);  // copies the standard functions for them, before a script can change these
void shim_push_standard(lua_State *L);     // the table of these copies; [-0, +1]
// Compiles such a file; its globals are the copies, and what it sets stays its own. [-0, +1]
int32_t shim_load_runtime(lua_State *L, const char *text, const char *name);

// ---- the module luv, if a script has it
bool shim_adopt_luv(lua_State *L);          // takes over its callbacks; false if the table on top is not luv
void shim_silence_luv(lua_State *L);        // its callbacks are no longer called
void shim_take_luv_failures(lua_State *L);  // a list of { error, traceback }, or nil; [-0, +1]

// ---- standard streams of `io` that write to the host
typedef void (*shim_write_function)(const void *context, const char *bytes, size_t count);
void *shim_open_stream(shim_write_function write, const void *context);  // NULL if there is no memory
void shim_close_stream(void *stream);                                   // after the state
// Replaces io.stdout, which io.write uses, or io.stderr; false if the state refuses. [-0, +0]
bool shim_use_stream(lua_State *L, void *stream, bool is_error);

// ---- memory
typedef struct { size_t used, peak; } shim_memory;
shim_memory shim_memory_figures(lua_State *L);

// Makes malloc map blocks of 256 KB or more, which take no memory until they are used, and none after they are freed.
void shim_map_large_blocks(void);

// Returns free memory of malloc to the system.
void shim_trim_heap(void);

void shim_count_memory(lua_State *L);        // charges the account from now on; it can refuse while Lua code runs
void shim_set_memory_error(lua_State *L);    // [-1, +0] the value raised when the account refuses memory
void shim_collect(lua_State *L);
void shim_collect_now(lua_State *L);         // also returns memory to the system; for an account that is almost full

// ---- the stack; none of these can raise or run Lua code
int32_t shim_top(lua_State *L);
void shim_settop(lua_State *L, int32_t top);
bool shim_reserve(lua_State *L, int32_t slots);
int32_t shim_type(lua_State *L, int32_t index);
const char *shim_type_name(lua_State *L, int32_t index);  // honors a string __name
bool shim_is_integer(lua_State *L, int32_t index);
bool shim_boolean(lua_State *L, int32_t index);
int64_t shim_integer(lua_State *L, int32_t index);
double shim_number(lua_State *L, int32_t index);
bool shim_exact_integer(lua_State *L, int32_t index, int64_t *out);  // 3 and 3.0, not "3"
const char *shim_bytes(lua_State *L, int32_t index, size_t *length);  // NULL unless a string
bool shim_starts_with(lua_State *L, int32_t index, const void *prefix, size_t length);  // false unless a string
const void *shim_pointer(lua_State *L, int32_t index);
size_t shim_rawlen(lua_State *L, int32_t index);
void shim_push_nil(lua_State *L);
void shim_push_boolean(lua_State *L, bool v);
void shim_push_integer(lua_State *L, int64_t v);
void shim_push_number(lua_State *L, double v);
void shim_push_bytes(lua_State *L, const void *p, size_t n);
void shim_push_copy(lua_State *L, int32_t index);
void shim_push_globals(lua_State *L);
void shim_push_registry(lua_State *L);
void shim_push_table(lua_State *L, int32_t array, int32_t fields);
void shim_rawget(lua_State *L, int32_t table);                        // [-1, +1] nil unless a table
bool shim_rawset(lua_State *L, int32_t table);                        // [-2, +0] false: nil or NaN key, or not a table
void shim_rawseti(lua_State *L, int32_t table, int64_t i);            // [-1, +0]
bool shim_rawnext(lua_State *L, int32_t table);                       // [-1, +2|0]; protected: a bad key ends the walk
bool shim_get_metatable(lua_State *L, int32_t index);                 // [-0, +1|0]
void shim_set_metatable(lua_State *L, int32_t index);                 // [-1, +0] a table or nil on top
int32_t shim_reference(lua_State *L);                                 // [-1, +0]
void shim_push_reference(lua_State *L, int32_t slot);                 // [-0, +1]
void shim_unreference(lua_State *L, int32_t slot);

// ---- protected: may run Lua code. On anything but SHIM_OK the stack has the error value on top instead of the
// results.
int32_t shim_call(lua_State *L, int32_t arguments, int32_t results);  // -1 = all; [-(args+1), +results]
int32_t shim_call_described(lua_State *L, int32_t arguments, int32_t results);  // errors as lua.c describes them
int32_t shim_get(lua_State *L);                                       // [-2, +1] table, key
int32_t shim_set(lua_State *L);                                       // [-3, +0] table, key, value
int32_t shim_length(lua_State *L);                                    // [-1, +1]
int32_t shim_tostring(lua_State *L);                                  // [-1, +1] a string
int32_t shim_load(lua_State *L, const void *p, size_t n, const char *name, const char *mode);  // [-0, +1]
int32_t shim_dump(lua_State *L, bool strip);                          // [-1, +1] a Lua function to its binary form
void shim_traceback(lua_State *L, lua_State *of, const char *message, int32_t level);         // [-0, +1]
void shim_where(lua_State *L, int32_t level);                         // [-0, +1] "file:line: " or ""
const char *shim_last_traceback(lua_State *L);                        // of the newest failed shim_call, or NULL
void shim_set_error_observer(lua_State *L);                           // [-1, +0] a function, called at each raise
void shim_keep_traceback(lua_State *L, const char *text);             // for the value on top, about to be raised again

// Frames for error reports and help: one call of lua_getinfo. False if there is no such level.
typedef struct { char source[60]; int32_t line; int32_t defined; char name[64]; bool is_lua; } shim_frame;
bool shim_stack_frame(lua_State *L, int32_t level, shim_frame *out);
// Local `n` of the function at `level` or upvalue `n` of the function on top. [-0, +1|0]; NULL without one.
const char *shim_push_upvalue(lua_State *L, int32_t function, int32_t n);
bool shim_set_upvalue(lua_State *L, int32_t function, int32_t n);  // [-1, +0]; false without one

// ---- coroutines
lua_State *shim_to_thread(lua_State *L, int32_t index);
int32_t shim_thread_status(lua_State *L, lua_State *co);              // 0 suspended, 1 running, 2 normal, 3 dead

// ---- functions written in Swift
typedef int32_t (*shim_function)(const void *object, lua_State *L);
void shim_push_function(lua_State *L, const void *object, shim_function f);  // takes over one reference to object

// ---- classes: userdata {magic, payload, class}. The payload of a live object is a key; that of a box is a retained
// Swift object.
typedef struct {
    int32_t (*get)(const void *context, lua_State *L, int64_t payload, int32_t slot, shim_value *out);
    int32_t (*set)(const void *context, lua_State *L, int64_t payload, int32_t slot, const shim_value *in);
    int32_t (*index)(const void *context, lua_State *L, int64_t payload, int64_t i, shim_value *out);
    int32_t (*set_index)(const void *context, lua_State *L, int64_t payload, int64_t i, const shim_value *in);
    int32_t (*create)(const void *context, lua_State *L, const shim_value *values, int32_t n, int64_t *key);
    // The class of this name in the store behind payload; NULL: use the slow path.
    shim_class *(*resolve)(const void *context, lua_State *L, int64_t payload, const char *name, size_t length);
} shim_class_calls;
enum { SHIM_CLASS_LIVE, SHIM_CLASS_BOX, SHIM_CLASS_FROZEN };
shim_class *shim_class_new(lua_State *L, int32_t kind, const char *name, const void *context,
                           const shim_class_calls *calls);             // takes over one reference to context
void shim_class_add_method(lua_State *L, shim_class *c, const char *name, size_t n);  // [-1, +0]
void shim_class_add_metamethod(lua_State *L, shim_class *c, const char *name);        // [-1, +0]
void shim_class_set_properties(lua_State *L, shim_class *c, const char *const *names, const size_t *lengths,
                               const int32_t *slots, int32_t count);
bool shim_class_push_method(lua_State *L, const shim_class *c, const char *name, size_t n);  // [-0, +1|0]
const void *shim_class_context(const shim_class *c);
const char *shim_class_name(const shim_class *c);  // the Lua string's own bytes
void shim_class_use_fast_create(lua_State *L);  // [-1, +1] wraps the general create function on top
// Releases a live class when its last object is collected. No new objects of it may be pushed: pass NULL instead, which pushes nil.
void shim_class_release(lua_State *L, shim_class *c);
// A class of objects at one version. It lives while its anchor is referenced: by each of its objects and, until there
// is one, by its creator. Classes of one version share the anchor. [-0, +1] the anchor
shim_class *shim_class_freeze(lua_State *L, const shim_class *live, const void *context,
                              const shim_class_calls *calls, shim_class *sibling);
bool shim_push_anchor(lua_State *L, const shim_class *frozen);         // [-0, +1|0] false: it was freed
void shim_push_object(lua_State *L, shim_class *c, int64_t key);
void shim_push_box(lua_State *L, shim_class *c, const void *object);   // takes over one reference to object
bool shim_to_object(lua_State *L, int32_t index, shim_class **c, int64_t *key);
const void *shim_to_box(lua_State *L, int32_t index, shim_class **c);  // NULL: not one, or already collected
// Turns the box into the object, for all references to it. [-0, +0] false: not a box, or the class is frozen
bool shim_box_becomes_object(lua_State *L, int32_t index, shim_class *c, int64_t key);
void shim_empty_box(lua_State *L, int32_t index);                      // releases the Swift object now
void shim_put(lua_State *L, const shim_value *v);                      // [-0, +1]
// each(): an iterator closure over keys that are fetched 256 at a time. Takes over one reference to source.
typedef int32_t (*shim_keys)(const void *source, lua_State *L, int64_t position, int64_t *out, int32_t capacity);
// Returns the number of keys of an array that holds only live objects of one class, and writes at most capacity of
// them; -1 for any other value. Cannot raise.
int64_t shim_live_array(lua_State *L, int32_t index, shim_class **c, int64_t *keys, int64_t capacity);
// Returns the number of elements of an array without a metatable, and writes them; -1 for any other value, for gaps, and
// for more elements than capacity. Strings are valid as long as the table. The index is absolute. Cannot raise.
int64_t shim_array(lua_State *L, int32_t index, shim_value *values, int64_t capacity);
// The same for the entries of a table whose keys are all strings.
int64_t shim_entries(lua_State *L, int32_t index, shim_value *keys, shim_value *values, int64_t capacity);
void shim_push_walk(lua_State *L, shim_class *c, const void *source, shim_keys keys);
// values(): an iterator closure over rows of values. `fill` drops the rows of its last call that the loop has consumed,
// and writes at most `capacity` rows of cells; it returns their number, or -1 for an error on top of the stack. Takes
// over one reference to source. A cell that is not nil, a boolean or a number is kept in the table at a stack index.
typedef int32_t (*shim_rows)(const void *source, lua_State *L, int32_t table, int32_t consumed, shim_value *cells, int32_t capacity);
void shim_push_rows(lua_State *L, int32_t columns, const void *source, shim_rows fill);       // [-0, +1]
void shim_keep_cell(lua_State *L, int32_t table, int32_t index, shim_value *cell);  // [-0|1, +0] after each written cell

// ---- stopping
shim_interrupt *shim_interrupt_retain(lua_State *L);
void shim_interrupt_release(shim_interrupt *i);
// Any thread; false: nothing is running. A catchable stop raises once; the code then has 200 ms to end by itself.
enum { SHIM_STOP_INTERRUPT, SHIM_STOP_TIME, SHIM_STOP_INSTRUCTIONS, SHIM_STOP_TOTAL_TIME, SHIM_STOP_REASONS };
bool shim_interrupt_request(shim_interrupt *i, bool catchable, int32_t reason);
bool shim_interrupt_pending(shim_interrupt *i);  // a request for the current run
bool shim_interrupt_due(shim_interrupt *i);  // state's thread: the same; false while the code cleans up
bool shim_is_running(lua_State *L);
// For a thread that switches between stacks: the states that have code on the current one. Returns the previous value.
void *shim_exchange_running(void *states);
int64_t shim_time_left(lua_State *L);  // nanoseconds until the deadline of the current run; INT64_MAX: it has none
bool shim_stop_asked(lua_State *L);              // a stop of the current run was requested
bool shim_stop_due(lua_State *L);                // the next instruction of the run raises the stop
int32_t shim_stop_reason(lua_State *L);          // the reason of the requested stop, if there is one
void shim_set_stop_value(lua_State *L, int32_t reason);  // [-1, +0] what a stop raises

// ---- limits of each outermost run, which none of its code can outlast; 0 = none
bool shim_time_limit(lua_State *L, int64_t nanoseconds);  // false: the system cannot create a thread
void shim_instruction_limit(lua_State *L, int64_t count);  // counted in thousands; slows code down
int64_t shim_instructions(lua_State *L);  // of the current or last run; 0 without a limit
