#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Checks that an event loop can open its file descriptors.
enum DescriptorReserve {
    /// The number of descriptors to check, which is higher than the number that the first loop of a process opens.
    private static let count = 6

    /// Throws if the process cannot open these descriptors, because libuv aborts the process if its first loop cannot
    /// open them.
    static func require() throws(LoopError) {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = dup(STDERR_FILENO)
            guard descriptor >= 0 else {
                // Standard error is closed, so this check is impossible; the loop reports the error itself.
                if errno == EBADF { return }
                throw LoopError(number: errno, call: "cannot start an event loop", path: nil)
            }
            opened.append(descriptor)
        }
    }
}
