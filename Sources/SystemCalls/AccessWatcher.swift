import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// Reports each access to a file: one thread of the process watches all files.
package final class AccessWatcher: Sendable {
    /// The watcher of the process.
    package static let shared = AccessWatcher()

    /// A watch of one file.
    ///
    /// It ends with its last reference.
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
    /// Returns nil if the system has no watches or threads left. The caller then has to check the file from time to time.
    package func watch(_ path: String, _ handler: @escaping @Sendable () -> Void) -> Watch? {
        #if canImport(Glibc)
            let number: Int? = state.withLock { state in
                if state.file < 0 {
                    let file = inotify_init1(Int32(IN_CLOEXEC))
                    guard file >= 0 else { return nil }
                    guard DetachedThread.start({ [self] in read(file) }) == 0 else {
                        close(file)
                        return nil
                    }
                    state.file = file
                }
                let mask = UInt32(IN_ACCESS | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)
                let descriptor = inotify_add_watch(state.file, path, mask)
                guard descriptor >= 0 else { return nil }
                state.lastNumber += 1
                state.entries[state.lastNumber] = Entry(descriptor: descriptor, handler: handler)
                return state.lastNumber
            }
            return number.map { Watch($0, self) }
        #else
            return nil
        #endif
    }

    private func remove(_ number: Int) {
        #if canImport(Glibc)
            state.withLock { state in
                guard let entry = state.entries.removeValue(forKey: number),
                    !state.entries.values.contains(where: { $0.descriptor == entry.descriptor })
                else { return }
                inotify_rm_watch(state.file, entry.descriptor)
            }
        #endif
    }

    #if canImport(Glibc)
        private func read(_ file: Int32) {
            ThreadIdentity.nameCurrent("moonpool-watch")
            let capacity = 16_384
            let buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
            defer { buffer.deallocate() }
            while true {
                let count = Glibc.read(file, buffer, capacity)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                var touched: Set<Int32> = []
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = buffer.loadUnaligned(
                        fromByteOffset: offset, as: inotify_event.self)
                    touched.insert(event.wd)
                    offset += MemoryLayout<inotify_event>.size + Int(event.len)
                }
                let handlers = state.withLock { state in
                    // -1 reports that events were lost.
                    state.entries.values
                        .filter { touched.contains($0.descriptor) || touched.contains(-1) }
                        .map(\.handler)
                }
                for handler in handlers { handler() }
            }
        }
    #endif
}
