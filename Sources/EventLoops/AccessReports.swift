import CUV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Delivers the events of inotify(7) to a loop.
///
/// All watches of a loop share one instance: a user may have few instances (often 128) and many watches in each. It is
/// released with the last watch. Use it on the loop's thread.
final class AccessReports {
    private weak var loop: EventLoop?
    private let descriptor: Int32
    private let handle: UnsafeMutablePointer<uv_poll_t>
    /// The wake-up for each watch number.
    ///
    /// Watches of the same file share a number.
    private var watchers: [(number: Int32, wakeup: LoopWakeup)] = []

    /// Returns the instance of a loop, and creates it if there is none.
    static func of(_ loop: EventLoop) throws(LoopError) -> AccessReports {
        if let known = loop.accessReports { return known }
        let made = try AccessReports(loop)
        loop.accessReports = made
        return made
    }

    private init(_ loop: EventLoop) throws(LoopError) {
        let descriptor = Self.open()
        try LoopError.check(descriptor, "inotify_init1")
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let status = uv_poll_init(loop.handle, handle, descriptor)
        if status != 0 {
            handle.deallocate()
            systemClose(descriptor)
        }
        try LoopError.check(status, "uv_poll_init")
        loop.own(handle)
        self.loop = loop
        self.descriptor = descriptor
        self.handle = handle
        // Because: closing, which must precede the deinitialization, clears the field.
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        let started = uv_poll_start(
            handle, Int32(UV_READABLE.rawValue),
            { handle, _, _ in
                guard let data = handle?.pointee.data else { return }
                Unmanaged<AccessReports>.fromOpaque(data).takeUnretainedValue().take()
            })
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).unreference()
        try LoopError.check(started, "uv_poll_start")
    }

    deinit {
        loop?.closeHandle(handle)
        systemClose(descriptor)
    }

    /// Adds a wake-up for every access of a file.
    func add(_ wakeup: LoopWakeup, _ path: String) throws(LoopError) {
        let number = Self.watch(path, descriptor)
        try LoopError.check(number, "inotify_add_watch", path: path)
        watchers.append((number, wakeup))
    }

    /// Removes a wake-up; does nothing the second time.
    func remove(_ wakeup: LoopWakeup) {
        guard let place = watchers.firstIndex(where: { $0.wakeup === wakeup }) else { return }
        let number = watchers.remove(at: place).number
        if !watchers.contains(where: { $0.number == number }) { Self.unwatch(number, descriptor) }
    }

    /// Reads the pending events and marks the watches they belong to, or all watches if events were lost.
    private func take() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            let count = systemRead(descriptor, buffer.baseAddress, buffer.count)
            var offset = 0
            while offset + Report.size <= count {
                let report = Report(UnsafeRawBufferPointer(buffer), at: offset)
                for watcher in watchers where report.concerns(watcher.number) {
                    watcher.wakeup.note()
                }
                offset += Report.size + report.nameSize
            }
        }
    }
}

#if canImport(Glibc)
    extension AccessReports {
        private static func open() -> Int32 {
            let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            return descriptor < 0 ? -errno : descriptor
        }

        private static func watch(_ path: String, _ descriptor: Int32) -> Int32 {
            let accesses = UInt32(IN_ACCESS | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)
            let number = inotify_add_watch(descriptor, path, accesses)
            return number < 0 ? -errno : number
        }

        private static func unwatch(_ number: Int32, _ descriptor: Int32) {
            inotify_rm_watch(descriptor, number)
        }

        private struct Report {
            static let size = MemoryLayout<inotify_event>.size
            private let event: inotify_event

            init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
                event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            }

            /// The length of the name that follows, in bytes.
            var nameSize: Int { Int(event.len) }

            func concerns(_ number: Int32) -> Bool {
                event.wd == number || event.mask & UInt32(IN_Q_OVERFLOW) != 0
            }
        }
    }
#else
    extension AccessReports {
        private static func open() -> Int32 { -ENOSYS }
        private static func watch(_ path: String, _ descriptor: Int32) -> Int32 { -ENOSYS }
        private static func unwatch(_ number: Int32, _ descriptor: Int32) {}

        private struct Report {
            static let size = 1
            init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {}
            var nameSize: Int { 0 }
            func concerns(_ number: Int32) -> Bool { false }
        }
    }
#endif
