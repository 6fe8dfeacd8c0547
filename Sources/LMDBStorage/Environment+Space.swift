import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A version that another process has pinned.
package struct ForeignReader: Hashable, Sendable {
    package let process: Int32
    package let version: UInt64
}

// The space of the file, and the versions that prevent its reuse.
extension Environment {
    /// The size of a page in bytes.
    package var pageSize: Int {
        var statistics = MDB_stat()
        mdb_env_stat(pointer, &statistics)
        return Int(statistics.ms_psize)
    }

    /// Returns the size of the file without the space reserved while it is open, and the bytes that the newest version
    /// uses.
    ///
    /// Reads the list of free pages.
    package func space() throws(StorageError) -> (total: Int, used: Int) {
        let free = try freedBytes(after: [0])[0]
        let content = size().used
        let used = max(0, content - free)
        // The rest of the file is only reserved while it is open.
        if openWrite.reservation != nil { return (content, used) }
        var descriptor: mdb_filehandle_t = -1
        try check(mdb_env_get_fd(pointer, &descriptor), "mdb_env_get_fd", path)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        return (max(min(content, Int(status.st_size)), Platform.takenBytes(status)), used)
    }

    /// Removes the pages that a failed write has added to the file, which returns their space to a full device.
    ///
    /// Only the thread that holds the write lock can call it. The write may still be open: LMDB does not access those
    /// pages when it aborts.
    func removeUnusedPages() {
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(pointer, &descriptor)
        let used = Self.usedBytes(pointer)
        var status = stat()
        if fstat(descriptor, &status) == 0, used < Int(status.st_size) {
            // because: without this, the file only remains larger.
            _ = ftruncate(descriptor, off_t(used))
        }
    }

    /// Returns for each version the bytes that later commits have freed, which cannot be reused while the version is in
    /// use.
    package func freedBytes(after versions: [UInt64]) throws(StorageError) -> [Int] {
        var transaction: OpaquePointer?
        try check(
            mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction), "mdb_txn_begin", path)
        defer { mdb_txn_abort(transaction) }
        var opened: OpaquePointer?
        // The list of free pages is the table with the number 0: its keys are the numbers of transactions, and its
        // values are lists of the pages that these transactions freed.
        try check(mdb_cursor_open(transaction, 0, &opened), "mdb_cursor_open", path)
        // because: mdb_cursor_open succeeded.
        let cursor = Cursor(opened!, Unmanaged.passUnretained(self), 0)
        let newest = FileVersion.newestNumber(pointer)
        let offset = newest - FileVersion.of(number: newest)
        let limits = versions.map { $0 == 0 ? 0 : offset + $0 }
        var pages = [Int](repeating: 0, count: versions.count)
        var entry = try cursor.first()
        while let found = entry {
            if found.value.count >= 8 {
                let count = Int(clamping: found.value.loadUnaligned(as: UInt64.self))
                for (index, limit) in limits.enumerated() where found.integerKey > limit {
                    pages[index] = pages[index].addingReportingOverflow(count).partialValue
                }
            }
            entry = try cursor.next()
        }
        let pageSize = pageSize
        return pages.map { $0.multipliedReportingOverflow(by: pageSize).partialValue }
    }

    /// Returns the versions that other processes have pinned.
    package func foreignReaders() throws(StorageError) -> [ForeignReader] {
        try clearStaleReaders()
        let text = TextBox()
        let code = mdb_reader_list(
            pointer,
            { line, context in
                if let line, let context {
                    Unmanaged<TextBox>.fromOpaque(context)._withUnsafeGuaranteedRef {
                        $0.text += String(cString: line)
                    }
                }
                return 0
            }, Unmanaged.passUnretained(text).toOpaque())
        if code < 0 { throw StorageError(rawCode: code, call: "mdb_reader_list", file: path) }
        // A line has the process, the thread and the version, or `-` for an idle slot. A process that only pins the
        // log's version is not a reader.
        var pins = log?.pinnedVersions() ?? []
        return text.text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let process = Int32(words[0]), let number = UInt64(words[2]),
                process != getpid()
            else { return nil }
            let reader = ForeignReader(process: process, version: FileVersion.of(number: number))
            return pins.remove(reader) == nil ? reader : nil
        }
    }
}

private final class TextBox {
    var text = ""
}
