import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The calls of inotify(7) that report events of files.
///
/// A user can have only a few instances (often 128), but many watches in each, so share an instance. Linux only: on
/// other systems no instance can be opened. A negative result is the negated error code.
package enum FileEvents {
    /// What is reported of a file.
    package enum Kind {
        /// Reading and closing.
        case accesses
        /// Changes of its content with system calls, of its attributes and of its names.
        ///
        /// A change through a map, or of a folder on the path, is not reported.
        case changes
    }

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
    package static func watch(_ path: String, for kind: Kind, in descriptor: Int32) -> Int32 {
        #if canImport(Glibc)
            let events =
                switch kind {
                case .accesses: IN_ACCESS | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE
                case .changes: IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF
                }
            let number = inotify_add_watch(descriptor, path, UInt32(events))
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
            withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
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
                let file = FileEvents.open(isBlocking: true)
                guard file >= 0 else { return nil }
                guard DetachedThread.start({ [self] in read(file) }) == 0 else {
                    close(file)
                    return nil
                }
                state.file = file
            }
            let descriptor = FileEvents.watch(path, for: .accesses, in: state.file)
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
            FileEvents.unwatch(entry.descriptor, in: state.file)
        }
    }

    private func read(_ file: Int32) {
        ThreadIdentity.nameCurrent("moonpool-watch")
        var touched: Set<Int32> = []
        var hasLostEvents = false
        while FileEvents.read(
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

/// Reports whether an open file has changed, without looking up its path.
///
/// All watches share one instance of inotify(7). Releasing the last reference ends the watch.
package final class ChangeWatch: Sendable {
    private struct State {
        var instance: Int32?
        /// The watches of each file that share a number, and the count of the file's changes.
        var files: [Int32: (watches: Int, changes: UInt64)] = [:]

        mutating func read() {
            guard let instance else { return }
            while FileEvents.read(
                from: instance,
                { number in
                    if let number {
                        files[number]?.changes += 1
                    } else {
                        for number in files.keys { files[number]?.changes += 1 }
                    }
                })
            {}
        }
    }

    private static let state = Mutex(State())
    private let number: Int32
    /// The count of changes at the last call.
    private let seen: Atomic<UInt64>

    /// Begins to watch an open file; nil if the system has no watches left.
    package init?(of descriptor: Int32) {
        let watch = Self.state.withLock { state -> (number: Int32, changes: UInt64)? in
            let instance = state.instance ?? FileEvents.open(isBlocking: false)
            guard instance >= 0 else { return nil }
            state.instance = instance
            let path = "/proc/self/fd/\(descriptor)"
            let number = FileEvents.watch(path, for: .changes, in: instance)
            guard number >= 0 else { return nil }
            state.files[number, default: (0, 0)].watches += 1
            return (number, state.files[number]?.changes ?? 0)
        }
        guard let watch else { return nil }
        number = watch.number
        seen = Atomic(watch.changes)
    }

    deinit {
        Self.state.withLock { state in
            guard let file = state.files[number], let instance = state.instance else { return }
            assert(file.watches > 0, "a watch ends once")
            state.files[number]?.watches -= 1
            if file.watches == 1 {
                state.files[number] = nil
                FileEvents.unwatch(number, in: instance)
            }
        }
    }

    /// Returns whether the file has changed since the last call.
    ///
    /// A change is known as soon as its system call returns, in any process. The removal of the last name is the last
    /// change. Takes one system call.
    package func takeChange() -> Bool {
        let changes = Self.state.withLock { state in
            state.read()
            return state.files[number]?.changes ?? 0
        }
        return seen.exchange(changes, ordering: .relaxed) != changes
    }
}
