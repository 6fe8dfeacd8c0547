import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

#if DEBUG
    import Synchronization

    /// A hook with which tests observe flushes or make them fail.
    struct FlushProbe: Sendable {
        static let installed = Mutex<FlushProbe?>(nil)

        /// Called before a file is flushed; if it returns false, the flush fails.
        var before: @Sendable (Int32) -> Bool
        /// Called after a file was flushed.
        var after: @Sendable (Int32) -> Void
    }

    /// A hook with which tests simulate a full device.
    struct SpaceProbe: Sendable {
        static let installed = Mutex<SpaceProbe?>(nil)

        /// Called with a file's path and the required size; false simulates a full device.
        var before: @Sendable (String, Int) -> Bool
    }
#endif

/// The functions that differ between operating systems.
enum Platform {
    /// Returns the process that a thread of any process belongs to; nil if it is not known.
    static func process(ofThread thread: Int32) -> Int32? {
        let group = lines(of: "/proc/\(thread)/status").first { $0.hasPrefix("Tgid:") }
        return group.flatMap { Int32($0.filter(\.isNumber)) }
    }

    /// Returns the name of a process's program; nil if it is not known.
    static func program(of process: Int32) -> String? { lines(of: "/proc/\(process)/comm").first }

    /// Returns the lines of a file in `/proc`; none if it cannot be read.
    static func lines(of path: String) -> [String] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = fread(&buffer, 1, buffer.count, file)
        return buffer[..<count].split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Calls the system's `open`, under a name that no method hides.
    static func openDescriptor(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
        open(path, flags, mode)
    }

    /// Calls the system's `fcntl` for locks.
    static func controlLock(_ descriptor: Int32, _ command: Int32, _ range: inout flock) -> Int32 {
        withUnsafeMutablePointer(to: &range) { fcntl(descriptor, command, $0) }
    }

    /// Calls the system's `fcntl` for a lock that belongs to the open descriptor instead of the process, without waiting.
    ///
    /// Returns the system's error code, or 0.
    static func lockDescriptor(_ descriptor: Int32, _ range: flock) -> Int32 {
        #if canImport(Glibc)
            // F_OFD_SETLK, which the module of the C library does not export.
            let command: Int32 = 37
        #else
            let command = F_OFD_SETLK
        #endif
        var range = range
        return controlLock(descriptor, command, &range) == 0 ? 0 : errno
    }

    /// Reads bytes of an open file; nil if the file ends before the last one.
    ///
    /// Throws the system's error with the path of the file.
    static func read(
        _ descriptor: Int32, _ count: Int, at offset: Int
    ) throws(StorageError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let read = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress! + done, count - done, off_t(offset + done))
            }
            if read < 0 {
                let code = errno
                if code == EINTR { continue }
                throw StorageError(rawCode: code, call: "pread", file: path(of: descriptor))
            }
            if read == 0 { return nil }
            done += read
        }
        return bytes
    }

    /// Returns the path of an open file for an error.
    static func path(of descriptor: Int32) -> String {
        FileLocation.target(of: "/proc/self/fd/\(descriptor)") ?? "a file"
    }

    /// Waits until all written data of a file is on the device.
    static func flush(_ descriptor: Int32) -> Bool {
        probed(descriptor) {
            #if canImport(Darwin)
                fcntl(descriptor, F_FULLFSYNC) == 0
            #else
                fdatasync(descriptor) == 0
            #endif
        }
    }

    /// Waits until the names in an open folder are on the device.
    static func flushFolder(_ descriptor: Int32) -> Bool {
        probed(descriptor) { fsync(descriptor) == 0 }
    }

    /// Runs a flush, which tests can observe and fail in debug builds.
    @inline(__always)
    private static func probed(_ descriptor: Int32, _ flush: () -> Bool) -> Bool {
        #if DEBUG
            let probe = FlushProbe.installed.withLock { $0 }
            if let probe, !probe.before(descriptor) {
                errno = EIO
                return false
            }
            defer { probe?.after(descriptor) }
        #endif
        return flush()
    }

    /// Allocates bytes of an open file on its device, and makes the file at least that large unless it keeps its own
    /// size.
    ///
    /// Returns the system's error code, or 0.
    static func allocate(
        _ descriptor: Int32, _ path: String, keepsSize: Bool = false, from start: Int, to end: Int
    ) -> Int32 {
        #if DEBUG
            let probe = SpaceProbe.installed.withLock { $0 }
            if let probe, !probe.before(path, end) { return ENOSPC }
        #endif
        return shim_allocate(descriptor, keepsSize ? 1 : 0, off_t(start), off_t(end - start))
    }

    /// The bytes from which on the memory of an ended write is returned to the system.
    static let largeWriteBytes = 16 << 20

    /// Returns the free memory of the process's heap to the system.
    static func returnFreedMemory() { shim_return_memory() }

    /// Acquires the system's lock on a whole open file; returns false if that fails.
    static func lockFile(_ descriptor: Int32, _ operation: Int32) -> Bool {
        while flock(descriptor, operation) != 0 { if errno != EINTR { return false } }
        return true
    }

    /// Returns the folder that contains a path.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Raises the limit of open files to the allowed maximum; returns false if the limit is already the maximum.
    ///
    /// The default limit is low because of programs that use `select`.
    static func allowMoreDescriptors() -> Bool {
        var limit = rlimit()
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let kind = RLIMIT_NOFILE
        #endif
        guard getrlimit(kind, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return false }
        limit.rlim_cur = min(limit.rlim_max, limit.rlim_cur &* 2)
        return setrlimit(kind, &limit) == 0
    }

    /// Returns whether the device of an open file is read-only.
    static func isReadOnlyDevice(_ descriptor: Int32) -> Bool {
        var device = statvfs()
        return fstatvfs(descriptor, &device) == 0 && device.f_flag & UInt(ST_RDONLY) != 0
    }

    /// Returns the number of bytes of an open file that the system would have to read from the device.
    ///
    /// Stops when there are more than `limit`. Returns `Int.max` if the system call fails.
    static func absentBytes(_ descriptor: Int32, _ size: Int, atMost limit: Int) -> Int {
        let pageSize = sysconf(Int32(_SC_PAGESIZE))
        let step = 1 << 28
        var absent = 0
        var states = [UInt8](repeating: 0, count: (min(step, size) - 1) / pageSize + 1)
        for start in stride(from: 0, to: size, by: step) where absent <= limit {
            let length = min(step, size - start)
            let mapped = mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, off_t(start))
            guard let mapped, mapped != MAP_FAILED else { return .max }
            defer { munmap(mapped, length) }
            guard mincore(mapped, length, &states) == 0 else { return .max }
            let count = (length - 1) / pageSize + 1
            absent += states[..<count].count { $0 & 1 == 0 } * pageSize
        }
        return absent
    }

    /// Returns the size of the file at a path; 0 if it is not known.
    static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Returns the size of a file, but at most the bytes allocated on the device.
    ///
    /// While a process writes a file through its map, the file may seem very large for a moment.
    static func takenBytes(_ status: stat) -> Int {
        min(Int(status.st_size), Int(status.st_blocks) * 512)
    }

    /// The maximum size of a file that the system allows this process; nil if there is no limit.
    static var largestFile: UInt64? {
        var limit = rlimit()
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #else
            let kind = RLIMIT_FSIZE
        #endif
        guard getrlimit(kind, &limit) == 0, limit.rlim_cur != rlim_t.max else { return nil }
        return UInt64(limit.rlim_cur)
    }

    /// Returns the probable cause of an error code of LMDB, which reports a short write as an input/output error.
    ///
    /// This is `EFBIG` if the file nearly has the maximum size that the system allows this process, and `ENOSPC` if it
    /// has nearly filled its device; otherwise the code itself.
    static func cause(of code: Int32, writing path: String) -> Int32 {
        guard code == EIO else { return code }
        let slack = 1 << 20
        if let largest = largestFile, UInt64(size(of: path) + slack) >= largest { return EFBIG }
        var device = statvfs()
        guard statvfs(path, &device) == 0,
            UInt64(device.f_bavail) * UInt64(device.f_frsize) < UInt64(slack)
        else { return code }
        return ENOSPC
    }
}
