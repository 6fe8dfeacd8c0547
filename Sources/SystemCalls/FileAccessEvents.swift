import Synchronization

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
                let count = Descriptor.read(
                    descriptor, into: buffer.baseAddress, buffer.count)
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

/// Reports each access to watched files; one thread of the process watches all files.
package final class AccessWatcher: Sendable {
    /// The watcher of the process.
    package static let shared = AccessWatcher()

    /// A watch of one file.
    ///
    /// Releasing the last reference ends the watch.
    package final class Watch: Sendable {
        fileprivate let number: Int
        private let watcher: AccessWatcher

        fileprivate init(_ number: Int, _ watcher: AccessWatcher) {
            self.number = number
            self.watcher = watcher
        }

        deinit { watcher.remove(number) }
    }

    private struct Entry {
        let descriptor: Int32
        let handler: @Sendable () -> Void
    }

    private struct State {
        var file: Int32 = -1
        var entries: [Int: Entry] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    private init() {}

    /// Calls `handler` on the watcher's thread after each access to a file by any process.
    ///
    /// Returns nil if the system has no watches or threads left. The caller must then check the file periodically.
    package func watch(_ path: String, _ handler: @escaping @Sendable () -> Void) -> Watch? {
        let number: Int? = state.withLock { state in
            if state.file < 0 {
                let file = FileAccessEvents.open(isBlocking: true)
                guard file >= 0 else { return nil }
                guard DetachedThread.start({ [self] in read(file) }) == 0 else {
                    close(file)
                    return nil
                }
                state.file = file
            }
            let descriptor = FileAccessEvents.watch(path, in: state.file)
            guard descriptor >= 0 else { return nil }
            state.lastNumber += 1
            state.entries[state.lastNumber] = Entry(descriptor: descriptor, handler: handler)
            return state.lastNumber
        }
        return number.map { Watch($0, self) }
    }

    private func remove(_ number: Int) {
        state.withLock { state in
            assert(state.entries[number] != nil, "a watch ends once")
            guard let entry = state.entries.removeValue(forKey: number),
                !state.entries.values.contains(where: { $0.descriptor == entry.descriptor })
            else { return }
            FileAccessEvents.unwatch(entry.descriptor, in: state.file)
        }
    }

    private func read(_ file: Int32) {
        ThreadIdentity.nameCurrent("moonpool-watch")
        var touched: Set<Int32> = []
        var hasLostEvents = false
        while FileAccessEvents.read(
            from: file,
            { number in if let number { touched.insert(number) } else { hasLostEvents = true } })
        {
            let handlers = state.withLock { state in
                state.entries.values.filter { hasLostEvents || touched.contains($0.descriptor) }
                    .map(\.handler)
            }
            for handler in handlers { handler() }
            touched.removeAll()
            hasLostEvents = false
        }
    }
}
