import Testing

@testable import ColumnStorage
@testable import LMDBStorage

@Suite struct ReaderSlotTests {
    let folder = TemporaryFolder()

    @Test func `too many snapshots are an error, and a released one frees its slot`() throws {
        let file = try ColumnFile.open(
            path: folder.file(), options: FileOptions(durability: .memory, maxReaders: 5))
        var snapshots: [Snapshot] = []
        var code: StorageError.Code?
        while code == nil, snapshots.count < 1000 {
            do { snapshots.append(try Snapshot(file)) } catch { code = error.code }
        }
        #expect(code == .readersFull)
        snapshots.removeLast()
        let writer = try Snapshot(file)
        #expect(throws: StorageError.self) { try Snapshot(file) }
        // Reading continues, and a commit without a free slot throws an error and changes nothing.
        _ = try writer.beginWrite()
        try writer.write!.define(everyKind)
        do {
            try writer.commit(keepingLeft: true)
            Issue.record("there is no slot for the new version")
        } catch { #expect(error.code == .readersFull) }
        #expect(writer.version == snapshots[0].version)
        snapshots.removeLast()
        _ = try writer.beginWrite()
        try writer.write!.define(everyKind)
        _ = writer.write!.insert(everyKind.id)
        let left = try #require(try writer.commit(keepingLeft: true))
        #expect(try writer.table(everyKind.id).count == 1)
        #expect(left.version == snapshots[0].version)
    }
}
