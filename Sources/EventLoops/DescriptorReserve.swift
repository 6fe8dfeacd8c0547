#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The descriptors that an event loop opens when it is created.
enum DescriptorReserve {
    /// More than the first loop of a process opens.
    private static let count = 6

    /// Throws if the process cannot open them: libuv ends the process where its first loop finds none.
    static func require() throws(LoopError) {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = dup(STDERR_FILENO)
            guard descriptor >= 0 else {
                // Without standard error, only the loop can find out.
                if errno == EBADF { return }
                throw LoopError(number: errno, call: "cannot start an event loop", path: nil)
            }
            opened.append(descriptor)
        }
    }
}
