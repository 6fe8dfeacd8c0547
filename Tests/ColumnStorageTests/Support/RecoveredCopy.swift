import Glibc
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// A copy of a file, as if the machine had stopped now and the device had received all writes.
///
/// The copy is not the file that its marker identifies, so opening it restores the checkpoint and applies the records
/// of the log again.
enum RecoveredCopy {
    /// Every entry of every table.
    private static func dump(_ path: String) throws -> [[[UInt8]: [UInt8]]] {
        let lease = try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(), tables: FileTables.names)
        let reader = try ReadTransaction(lease)
        return try ([Table.names] + lease.environment.tables).map { table in
            var entries: [[UInt8]: [UInt8]] = [:]
            let cursor = try reader.handle.cursor(table)
            var entry = try cursor.first()
            while let found = entry {
                // The table of names contains the pages of the tables.
                let isHead = table == .names && found.value.count == 48
                entries[Array(found.key)] = isHead ? [] : Array(found.value)
                entry = try cursor.next()
            }
            return entries
        }
    }

    private static func copyFile(_ path: String, to copy: String) {
        let source = open(path, O_RDONLY)
        guard source >= 0 else { return }
        let target = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0o644)
        defer {
            close(source)
            close(target)
        }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0 else { return }
            _ = write(target, buffer, count)
        }
    }

    /// Returns whether the recovered file equals the open one; also true for a file without a log.
    static func isSame(_ path: String) throws -> Bool {
        let copy = path + "-copy"
        defer { for end in ["", "-lock", "-log"] { unlink(copy + end) } }
        copyFile(path, to: copy)
        copyFile(path + "-log", to: copy + "-log")
        return try dump(copy) == dump(path)
    }
}
