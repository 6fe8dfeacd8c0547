import Synchronization

/// The files that the process has mapped into its memory, and shares with the system's cache.
///
/// Pages of such a file stay in the memory of the process after they were used, until the system needs the memory.
/// Releasing them loses no data: the next use finds them in the cache of the system, or reads the file again.
package enum MappedFiles {
    private struct State {
        var last = 0
        var files: [Int: @Sendable () -> Void] = [:]
    }

    private static let state = Mutex(State())

    /// Adds a file; `release` releases its pages, on any thread.
    ///
    /// Returns a number for ``remove(_:)``, to be called before the file is unmapped.
    package static func add(release: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            state.files[state.last] = release
            return state.last
        }
    }

    /// Removes a file; its pages are not released afterward.
    package static func remove(_ file: Int) { state.withLock { $0.files[file] = nil } }

    /// Releases the pages of all files.
    ///
    /// Takes about a microsecond for each resident megabyte.
    static func releasePages() {
        // The lock ensures that no file is unmapped meanwhile.
        state.withLock { state in for release in state.files.values { release() } }
    }
}
