#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the systems spell differently.
enum Platform {
    /// A number for the calling thread, never 0.
    static var currentThread: UInt {
        #if canImport(Darwin)
            UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }

    /// The system's `open`, under a name that no method hides.
    static func openDescriptor(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
        open(path, flags, mode)
    }

    /// The system's `fcntl` for locks.
    static func controlLock(_ descriptor: Int32, _ command: Int32, _ range: inout flock) -> Int32 {
        withUnsafeMutablePointer(to: &range) { fcntl(descriptor, command, $0) }
    }

    /// The folder that a path lies in.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Whether a file has just about reached the end of its device, or the largest size that the system allows this
    /// process: what a write that was cut short is tested for.
    static func hasNoRoom(_ path: String) -> Bool {
        let slack = 1 << 20
        var limit = rlimit()
        var status = stat()
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #else
            let kind = RLIMIT_FSIZE
        #endif
        if getrlimit(kind, &limit) == 0, stat(path, &status) == 0,
            UInt64(status.st_size) + UInt64(slack) >= UInt64(limit.rlim_cur)
        {
            return true
        }
        var device = statvfs()
        guard statvfs(path, &device) == 0 else { return false }
        return UInt64(device.f_bavail) * UInt64(device.f_frsize) < UInt64(slack)
    }
}
