import Glibc
import TestThreads
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

@Suite struct FailureTests {
    let folder = TemporaryFolder()
    let table = everyKind.id

    private func make(_ path: String, rows: Int, options: FileOptions = FileOptions()) throws {
        let snapshot = try Snapshot(try ColumnFile.open(path: path, options: options))
        _ = try snapshot.beginWrite()
        try snapshot.write!.define(everyKind)
        let writer = snapshot.write!.rowWriter(table)
        for number in 0..<rows {
            writer.beginRow()
            writer.setInt(ColumnID(0), Int64(number))
            writer.setString(ColumnID(1), "row number \(number)")
            writer.endRow()
        }
        try snapshot.commit(keepingLeft: true)
    }

    private func bytes(_ path: String) -> [UInt8] {
        let descriptor = Glibc.open(path, O_RDONLY)
        defer { close(descriptor) }
        var content = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
        let count = content.count
        _ = pread(descriptor, &content, count, 0)
        return content
    }

    private func write(_ content: [UInt8], _ path: String) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        _ = pwrite(descriptor, content, content.count, 0)
        close(descriptor)
    }

    private func code(_ path: String, _ options: FileOptions = FileOptions()) -> StorageError.Code?
    {
        do {
            _ = try ColumnFile.open(path: path, options: options)
            return nil
        } catch {
            #expect(error.message.contains(path))
            return error.code
        }
    }

    @Test func `foreign, truncated and newer files are different errors`() throws {
        let path = folder.file()
        try make(path, rows: 5000)
        let whole = bytes(path)
        let copy = folder.file("copy")
        write([UInt8]("This is a letter, not a store.".utf8), copy)
        #expect(code(copy) == .notAStore)
        write([UInt8](repeating: 0, count: 40_000), copy)
        #expect(code(copy) == .notAStore)
        write(Array(whole[..<(whole.count / 2 / 4096 * 4096)]), copy)
        #expect(code(copy) == .damaged)
        write(Array(whole[..<5000]), copy)
        #expect(code(copy) == .damaged)
        var newer = whole
        newer[20] = 9
        write(newer, copy)
        #expect(code(copy) == .newerFormat)
        #expect(code(folder.file("missing/file")) == .notFound)
        write(whole, copy)
        #expect(code(copy) == nil)
    }

    @Test func `a newer layout number is refused and the file is unchanged`() throws {
        let path = folder.file()
        try make(path, rows: 10)
        do {
            let file = try ColumnFile.open(path: path)
            let writer = try WriteTransaction(file.lease(), durability: .full)
            let bytes: [UInt8] = [
                0x50, 0x4F, 0x4F, 0x4C, UInt8(FileFormat.withIndexRuns) + 1, 0, 0, 0,
            ]
            try Metadata.write(FileFormat.name, bytes, in: writer.handle, file.tables.meta)
            try writer.commit()
        }
        #expect(code(path) == .newerFormat)
    }

    @Test(arguments: 1...8)
    func `reading a damaged leaf throws, or returns some value`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let path = folder.file("damaged-\(seed)")
        try make(path, rows: 1500)
        let file = try ColumnFile.open(path: path, options: FileOptions(durability: .memory))
        for _ in 0..<20 {
            let writer = try WriteTransaction(file.lease(), durability: .memory)
            let cluster = Int.random(in: 0..<4, using: &random)
            let slot = Int.random(in: 0..<10, using: &random)
            let key = LeafKey(table, cluster: cluster, slot: slot).rawValue
            let leaves = file.tables.leaves(of: table)
            var content = try writer.handle.get(leaves, key).map { [UInt8]($0) } ?? []
            if content.isEmpty { content = [UInt8](repeating: 0, count: 100) }
            if Bool.random(using: &random) {
                content.removeLast(Int.random(in: 0..<content.count, using: &random))
            }
            for _ in 0..<10 {
                let index = Int.random(in: 0..<min(content.count, 700), using: &random)
                content[index] = UInt8.random(in: 0...255, using: &random)
            }
            try content.withUnsafeBytes { try writer.handle.put(leaves, key, $0) }
            try writer.commit()
            let snapshot = try Snapshot(file)
            try snapshot.configure([everyKind])
            let reader = try snapshot.table(table)
            for cluster in 0..<reader.clusterCount {
                reading {
                    let present = try reader.presence(cluster)
                    _ = try reader.matches(ColumnID(0), cluster, .int(.greater, 3), among: present)
                    _ = try reader.matches(
                        ColumnID(1), cluster, .bytesContain([49]), among: present)
                    present.forEachRow { row in
                        reading { _ = try ModelRow(reader, ObjectKey(Int64(cluster * 496 + row))) }
                    }
                }
            }
        }
    }

    /// Reads damaged data, which may only throw `damaged`.
    private func reading(_ read: () throws -> Void) {
        do {
            try read()
        } catch {
            #expect((error as? StorageError)?.code == .damaged)
        }
    }
}
