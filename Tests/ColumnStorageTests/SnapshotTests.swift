import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// One column of each kind of single values.
let everyKind = TableDefinition(
    id: TableID(1),
    columns: [
        ColumnDefinition(id: ColumnID(0), kind: .int),
        ColumnDefinition(id: ColumnID(1), kind: .string),
        ColumnDefinition(id: ColumnID(2), kind: .double, isOptional: true),
        ColumnDefinition(id: ColumnID(3), kind: .bool),
        ColumnDefinition(id: ColumnID(4), kind: .int, isOptional: true),
        ColumnDefinition(id: ColumnID(5), kind: .float),
        ColumnDefinition(id: ColumnID(6), kind: .data, isOptional: true),
        ColumnDefinition(id: ColumnID(7), kind: .bytes16),
        ColumnDefinition(id: ColumnID(8), kind: .bytes12, isOptional: true),
    ])

extension TableReader {
    func string(_ column: ColumnID, _ key: ObjectKey) throws -> String? {
        try withBytes(column, key) { span in
            span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }
}

@Suite struct SnapshotTests {
    let folder = TemporaryFolder()
    let table = TableID(1)

    func open() throws -> Snapshot {
        let snapshot = try Snapshot(try ColumnFile.open(path: folder.file()))
        try snapshot.configure([everyKind])
        return snapshot
    }

    func define(_ snapshot: Snapshot) throws {
        _ = try snapshot.beginWrite()
        try snapshot.write?.define(everyKind)
        try snapshot.commit(keepingLeft: true)
    }

    @Test func `other snapshots are notified only of visible commits`() throws {
        let snapshot = try open()
        try define(snapshot)
        let other = try open()
        for keepsLeft in [true, false] {
            let before = snapshot.version
            var seen: [UInt64] = []
            func call() {
                _ = try? other.advance()
                seen.append(other.version)
                #expect(snapshot.version == before)
            }
            _ = try snapshot.beginWrite()
            if keepsLeft {
                try snapshot.commit(keepingLeft: true, whenVisible: call)
            } else {
                try snapshot.commit(whenVisible: call)
            }
            #expect(seen == [before + 1] && snapshot.version == before + 1)
        }
        _ = try snapshot.beginWrite()
        try #require(snapshot.write).fail(StorageError(.diskFull, call: "write", file: "here"))
        #expect(throws: StorageError.self) {
            try snapshot.commit { Issue.record("called for a commit that was not made") }
        }
    }
}
