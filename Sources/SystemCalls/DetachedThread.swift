#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Starts threads that are not joined.
package enum DetachedThread {
    /// Runs a function on a new thread.
    ///
    /// Returns 0 if the thread has started, otherwise the error code of the system.
    package static func start(_ run: @escaping @Sendable () -> Void) -> Int32 {
        let body = Unmanaged.passRetained(Body(run))
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        let code = pthread_create(&thread, nil, main, body.toOpaque())
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
