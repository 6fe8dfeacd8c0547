import Testing

@testable import ColumnStorage
@testable import LMDBStorage

@Suite struct LiveVersionTests {
    let folder = TemporaryFolder()
    let table = everyKind.id

    @Test func `history reaches back to a snapshot of another opening of the file`() throws {
        let options = FileOptions(durability: .memory, historyLimit: 10)
        let writer = try Snapshot(try ColumnFile.open(path: folder.file(), options: options))
        _ = try writer.beginWrite()
        try writer.write!.define(everyKind)
        try writer.commit(keepingLeft: true)
        // A separate ColumnFile, as each opening of a store creates one.
        let observer = try Snapshot(try ColumnFile.open(path: folder.file(), options: options))
        let seen = observer.version
        func commit(_ count: Int) throws {
            for _ in 0..<count {
                _ = try writer.beginWrite()
                _ = writer.write!.insert(table)
                try writer.commit(keepingLeft: true)
            }
        }
        try commit(200)
        let left = try #require(try observer.advance())
        #expect(left.version == seen)
        let changes = try #require(try observer.changes(from: seen, to: observer.version))
        #expect(changes.tables[table]?.inserted.count == 200)
        left.close()
        try commit(100)
        #expect(try writer.changes(from: seen, to: writer.version) == nil)
        let since = try #require(try writer.changes(from: observer.version, to: writer.version))
        #expect(since.tables[table]?.inserted.count == 100)
        #expect(writer.file.oldestVersion() == observer.version)
    }
}
