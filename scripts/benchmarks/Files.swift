import Glibc

/// The few file operations that the workloads need.
enum Files {
    /// Returns the names of the regular files in a folder.
    static func names(in folder: String) throws -> [String] {
        guard let directory = opendir(folder) else { throw failure("opendir", folder) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    /// Creates an empty folder, and removes an existing one.
    static func makeEmpty(_ folder: String) throws {
        remove(folder)
        guard mkdir(folder, 0o755) == 0 else { throw failure("mkdir", folder) }
    }

    /// Removes a folder of files and its subfolders, if it exists.
    static func remove(_ folder: String) {
        for name in (try? names(in: folder)) ?? [] {
            let path = "\(folder)/\(name)"
            if unlink(path) != 0 { remove(path) }
        }
        rmdir(folder)
    }

    /// Copies a folder of files and flushes the copies to the device, so that the next step does not pay for them.
    static func copy(_ source: String, to target: String) throws {
        try makeEmpty(target)
        for name in try names(in: source) {
            let from = Glibc.open("\(source)/\(name)", O_RDONLY)
            let into = Glibc.open("\(target)/\(name)", O_WRONLY | O_CREAT, 0o644)
            guard from >= 0, into >= 0 else { throw failure("open", "\(target)/\(name)") }
            defer {
                Glibc.close(from)
                Glibc.close(into)
            }
            var done = 1
            while done > 0 { done = sendfile(into, from, nil, 1 << 30) }
            guard done == 0, fdatasync(into) == 0 else {
                throw failure("sendfile", "\(target)/\(name)")
            }
        }
    }

    /// Returns the size of the largest file in a folder: the data, without locks and logs.
    static func dataSize(_ folder: String) throws -> Int {
        var largest = 0
        for name in try names(in: folder) {
            var status = stat()
            if stat("\(folder)/\(name)", &status) == 0 {
                largest = max(largest, Int(status.st_size))
            }
        }
        return largest
    }

    private static func failure(_ call: String, _ path: String) -> BenchmarkError {
        BenchmarkError("\(call) \(path): \(String(cString: strerror(errno)))")
    }
}
