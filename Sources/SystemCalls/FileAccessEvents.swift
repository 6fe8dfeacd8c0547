#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The calls of inotify(7) that report accesses to files: reading and closing.
///
/// A user can have only a few instances (often 128), but many watches in each, so share an instance. Linux only: on
/// other systems no instance can be opened. A negative result is the negated error code.
package enum FileAccessEvents {
    /// Opens an instance.
    ///
    /// Its descriptor is readable while events are pending.
    package static func open(isBlocking: Bool) -> Int32 {
        #if canImport(Glibc)
            let descriptor = inotify_init1(Int32(IN_CLOEXEC | (isBlocking ? 0 : IN_NONBLOCK)))
            return descriptor < 0 ? -errno : descriptor
        #else
            return -ENOSYS
        #endif
    }

    /// Adds a watch of a file to an instance.
    ///
    /// Returns the number of the watch. Watches of the same file have the same number.
    package static func watch(_ path: String, in descriptor: Int32) -> Int32 {
        #if canImport(Glibc)
            let accesses = UInt32(IN_ACCESS | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)
            let number = inotify_add_watch(descriptor, path, accesses)
            return number < 0 ? -errno : number
        #else
            return -ENOSYS
        #endif
    }

    /// Removes a watch from an instance.
    package static func unwatch(_ number: Int32, in descriptor: Int32) {
        #if canImport(Glibc)
            inotify_rm_watch(descriptor, number)
        #endif
    }

    /// Reads pending events and calls `body` for each, with the number of the watch, or nil if events were lost.
    ///
    /// Waits for an event if the instance is blocking. Returns false if no event is pending or reading failed.
    package static func read(from descriptor: Int32, _ body: (Int32?) -> Void) -> Bool {
        #if canImport(Glibc)
            withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 8) { buffer in
                var count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                while count < 0, errno == EINTR {
                    count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                }
                guard count > 0 else { return false }
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = UnsafeRawBufferPointer(buffer).loadUnaligned(
                        fromByteOffset: offset, as: inotify_event.self)
                    body(event.mask & UInt32(IN_Q_OVERFLOW) != 0 ? nil : event.wd)
                    // A name of `len` bytes follows.
                    offset += MemoryLayout<inotify_event>.size + Int(event.len)
                }
                return true
            }
        #else
            return false
        #endif
    }
}
