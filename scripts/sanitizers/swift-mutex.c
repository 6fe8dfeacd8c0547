/* Reports the locking of Swift's `Mutex` to the thread sanitizer.
 *
 * On Linux an uncontended Mutex is locked and unlocked by instructions in our own code, which the sanitizer sees. A
 * waiting thread gets the lock from the kernel, inside libswiftSynchronization, which is built without the sanitizer:
 * accesses that the lock orders then look like races. This file, loaded before that library, reports the order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

typedef SWIFT void lock_function(uint32_t thread, SELF void *mutex);
typedef SWIFT void unlock_function(SELF void *mutex);

/* Nothing in programs without the sanitizer. */
void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));

lock_function lock_slow __asm__(LOCK);
unlock_function unlock_slow __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
    static lock_function *swift;
    if (!swift) swift = (lock_function *)dlsym(RTLD_NEXT, LOCK);
    swift(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
    static unlock_function *swift;
    if (!swift) swift = (unlock_function *)dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(mutex);
    swift(mutex);
}
