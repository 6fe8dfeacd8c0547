#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The identity of a running thread of the process.
///
/// The system reuses the identity of a thread that has ended.
package struct ThreadIdentity: Hashable, Sendable {
    /// The system's number of the thread, which is not 0.
    package let number: UInt

    /// The identity of the calling thread.
    ///
    /// Costs a few nanoseconds.
    package static var current: ThreadIdentity {
        #if canImport(Glibc)
            ThreadIdentity(number: UInt(pthread_self()))
        #else
            ThreadIdentity(number: UInt(bitPattern: pthread_self()))
        #endif
    }

    /// Sets the name of the calling thread for the system's tools.
    ///
    /// On Linux the name is truncated to 15 bytes, at a character boundary.
    package static func nameCurrent(_ name: String) {
        var short = name
        while short.utf8.count > 15 { short.removeLast() }
        #if canImport(Glibc)
            guard let file = fopen(nameFile, "w") else { return }
            fputs(short, file)
            fclose(file)
        #else
            pthread_setname_np(short)
        #endif
    }

    /// The name of the calling thread in the system's tools; nil if it is unknown.
    package static var nameOfCurrent: String? {
        ProcessServices.read(nameFile, limit: 64).map {
            String(decoding: $0.dropLast(), as: UTF8.self)
        }
    }

    private static let nameFile = "/proc/thread-self/comm"
}

/// Starts threads that are not joined.
package enum DetachedThread {
    /// Runs a function on a new thread, whose stack has the system's usual size or `stackSize` bytes.
    ///
    /// Returns 0 if the thread has started, otherwise the error code of the system.
    package static func start(
        stackSize: Int? = nil, _ run: @escaping @Sendable () -> Void
    ) -> Int32 {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
        let body = Unmanaged.passRetained(Body(run))
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        let code = pthread_create(&thread, &attributes, main, body.toOpaque())
        guard code == 0 else {
            body.release()
            return code
        }
        #if canImport(Glibc)
            pthread_detach(thread)
        #else
            if let thread { pthread_detach(thread) }
        #endif
        return 0
    }

    #if canImport(Glibc)
        private static let main:
            @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
                if let argument = $0 {
                    Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                }
                return nil
            }
    #else
        private static let main:
            @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = {
                Unmanaged<Body>.fromOpaque($0).takeRetainedValue().run()
                return nil
            }
    #endif

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
