import CUV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A number that tells threads apart.
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

/// Names the calling thread as far as the kernel lets: 15 bytes on Linux, cut at a character.
func nameCurrentThread(_ name: String) {
    var short = name
    while short.utf8.count > 15 { short.removeLast() }
    _ = shim_name_current_thread(short)
}

/// What the kernel calls the calling thread.
func kernelNameOfCurrentThread() -> String {
    var buffer = [CChar](repeating: 0, count: 64)
    _ = shim_current_thread_name(&buffer, buffer.count)
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Calls the body with the signals that belong to the main thread blocked, so that a thread started in it inherits that.
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

/// Lets the signal through that stops a running script, whatever the starting thread's mask was.
func unblockInterruptSignal() { unblockSignal(SIGURG) }

func detach(_ thread: pthread_t) { pthread_detach(thread) }

func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

/// Writes all of the bytes, waiting where the descriptor takes no more for now; 0, or what the system says.
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

/// Lets a signal through on the calling thread.
func unblockSignal(_ signal: Int32) {
    var unblocked = sigset_t()
    sigemptyset(&unblocked)
    sigaddset(&unblocked, signal)
    pthread_sigmask(SIG_UNBLOCK, &unblocked, nil)
}

/// Lets SIGINT through on the calling thread; returns the mask from before.
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
