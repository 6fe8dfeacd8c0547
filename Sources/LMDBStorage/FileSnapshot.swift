#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Copies the newest version of a file byte by byte, without LMDB and without a lock, while other processes may write.
struct FileSnapshot {
    let data: Int32
    let path: String

    /// Writes the copy into an empty open file.
    ///
    /// Writers do not overwrite pages of the newest version. The copy is therefore valid if the newest version is still
    /// the same at the end. Throws `inUse` if other processes commit continuously, `diskFull`, and `damaged`.
    func write(to copy: Int32) throws(StorageError) {
        for attempt in 0..<40 {
            guard let first = FileHeader.meta(data, at: 0),
                let metas = FileHeader.metas(data, pageSize: first.pageSize)
            else { throw StorageError(.notAStore, call: "file header", file: path) }
            let newest = newestVersion(first.pageSize)
            let last = [0, first.pageSize].compactMap { FileHeader.meta(data, at: $0)?.lastPage }
            try copyBytes((Int(clamping: last.max() ?? 0) &+ 1) * first.pageSize, to: copy)
            guard newestVersion(first.pageSize) == newest else {
                usleep(UInt32(attempt) * 2_000)
                continue
            }
            guard FileHeader.restore(metas, copy, pageSize: first.pageSize),
                LogMarker().write(copy)
            else { throw StorageError(rawCode: errno, call: "pwrite", file: path) }
            return
        }
        throw StorageError(
            .inUse,
            call:
                "a process that commits continuously, and there is no permission to write the lock file",
            file: path)
    }

    private func newestVersion(_ pageSize: Int) -> UInt64? {
        [0, pageSize].compactMap { FileHeader.meta(data, at: $0)?.version }.max()
    }

    private func copyBytes(_ count: Int, to copy: Int32) throws(StorageError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var offset = 0
        while offset < count {
            let read = pread(
                data, buffer.baseAddress, min(buffer.count, count - offset), off_t(offset))
            // Pages that a transaction allocated and freed may be missing at the end of the file.
            if read == 0 { return }
            guard read > 0 else { throw StorageError(rawCode: errno, call: "pread", file: path) }
            var done = 0
            while done < read {
                let written = pwrite(
                    copy, buffer.baseAddress! + done, read - done, off_t(offset + done))
                guard written > 0 else {
                    throw StorageError(rawCode: errno, call: "pwrite", file: path)
                }
                done += written
            }
            offset += read
        }
    }
}
