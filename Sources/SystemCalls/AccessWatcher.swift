import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
