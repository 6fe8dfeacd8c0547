import CUV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Returns a number that identifies the calling thread.
func currentThreadIdentity() -> UInt {
    #if canImport(Glibc)
        UInt(pthread_self())
    #else
        UInt(bitPattern: pthread_self())
    #endif
}

func yieldThread() { sched_yield() }

func monotonicTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// Sets the name of the calling thread.
///
/// On Linux the name is truncated to 15 bytes, at a character boundary.
func nameCurrentThread(_ name: String) {
    var short = name
    while short.utf8.count > 15 { short.removeLast() }
    _ = shim_name_current_thread(short)
}

/// Returns the kernel's name of the calling thread.
func kernelNameOfCurrentThread() -> String {
    var buffer = [CChar](repeating: 0, count: 64)
    _ = shim_current_thread_name(&buffer, buffer.count)
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Calls the body with the signals of the main thread blocked, so that threads that it starts inherit this mask.
func withMainThreadSignalsBlocked<Result>(_ body: () -> Result) -> Result {
    var blocked = sigset_t()
    var before = sigset_t()
    sigemptyset(&blocked)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGQUIT] {
        sigaddset(&blocked, signal)
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return body()
}

/// Unblocks the signal that stops a running script, regardless of the inherited mask.
func unblockInterruptSignal() { unblockSignal(SIGURG) }

func detach(_ thread: pthread_t) { pthread_detach(thread) }

func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

/// Writes all bytes, and waits while the descriptor is not writable.
///
/// Returns 0 or an `errno`.
func systemWriteAll(_ descriptor: Int32, _ bytes: [UInt8]) -> Int32 {
    bytes.withUnsafeBytes { bytes in
        var done = 0
        while done < bytes.count {
            let count = write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count > 0 {
                done += count
            } else if errno == EAGAIN {
                var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&state, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}

func systemClose(_ descriptor: Int32) { close(descriptor) }

/// Unblocks a signal on the calling thread.
func unblockSignal(_ signal: Int32) {
    var unblocked = sigset_t()
    sigemptyset(&unblocked)
    sigaddset(&unblocked, signal)
    pthread_sigmask(SIG_UNBLOCK, &unblocked, nil)
}

/// Unblocks SIGINT on the calling thread.
///
/// Returns the previous mask.
func unblockTerminalInterrupt() -> sigset_t {
    var unblocked = sigset_t()
    var before = sigset_t()
    sigemptyset(&unblocked)
    sigaddset(&unblocked, SIGINT)
    pthread_sigmask(SIG_UNBLOCK, &unblocked, &before)
    return before
}

func restore(_ mask: sigset_t) {
    var mask = mask
    pthread_sigmask(SIG_SETMASK, &mask, nil)
}
