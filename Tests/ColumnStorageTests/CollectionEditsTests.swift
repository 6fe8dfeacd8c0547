import LMDBStorage
import Testing

@testable import ColumnStorage

/// The edits of a list that commits record.
@Suite struct CollectionEditsTests {
    private static let table = TableID(rawValue: 1)
    private static let column = ColumnID(rawValue: 0)
    private static let row = ObjectKey(rawValue: 3)

    private func changes(_ edits: CollectionEdits.Edit...) -> ChangeSet {
        changes(CollectionEdits(edits))
    }

    private func changes(_ edits: CollectionEdits) -> ChangeSet {
        ChangeSet(tables: [
            Self.table: TableChanges(
                modified: [Self.column: [Self.row]], edits: [Self.column: [Self.row: edits]])
        ])
    }

    private func edits(_ changes: ChangeSet) -> CollectionEdits? {
        changes.tables[Self.table]?.edits[Self.column]?[Self.row]
    }

    @Test func `adjacent edits of one kind are combined`() {
        #expect(
            CollectionEdits([.insert(at: 3, count: 1), .insert(at: 4, count: 1)]).edits.count == 1)
        #expect(
            CollectionEdits([.insert(at: 3, count: 1), .insert(at: 5, count: 1)]).edits.count == 2)
        #expect(
            CollectionEdits([.remove(at: 5, count: 1), .remove(at: 4, count: 2)]).edits
                == [.remove(at: 4, count: 3)])
        #expect(CollectionEdits([.set(at: 5), .set(at: 5)]).edits == [.set(at: 5)])
    }

    @Test func `too many edits are dropped`() {
        var edits = CollectionEdits()
        for number in 0..<CollectionEdits.limit { edits.append(.set(at: number)) }
        #expect(edits.isComplete)
        edits.append(.set(at: 9_999))
        #expect(!edits.isComplete && edits.edits.isEmpty && !edits.isEmpty)
        edits.append(.set(at: 1))
        #expect(!edits.isComplete)
    }

    @Test func `edits are stored and read again`() throws {
        var forgotten = CollectionEdits()
        forgotten.forget()
        let all: [ChangeSet] = [
            changes(.insert(at: 0, count: 1)),
            changes(.remove(at: 1 << 40, count: 300), .set(at: 7)),
            changes(.move(from: 9, to: 1 << 30)), changes(forgotten),
        ]
        for changes in all {
            let read = try changes.encode().withUnsafeBytes { try ChangeSet(decoding: $0) }
            #expect(read == changes)
        }
    }

    @Test func `damaged edits are refused`() throws {
        let bytes = changes(.insert(at: 5, count: 2), .move(from: 3, to: 1)).encode()
        for position in bytes.indices {
            for value in [UInt8(0), 1, 0x7F, 0x80, 0xFF] {
                var damaged = bytes
                damaged[position] = value
                // Any result is allowed, but nothing must crash.
                _ = try? damaged.withUnsafeBytes { try ChangeSet(decoding: $0) }
            }
            #expect(throws: DamagedEncoding.self) {
                try Array(bytes[..<position]).withUnsafeBytes { try ChangeSet(decoding: $0) }
            }
        }
        var stray = changes(.set(at: 1))
        stray.tables[Self.table]?.modified = [Self.column: [ObjectKey(rawValue: 4)]]
        #expect(throws: DamagedEncoding.self) {
            try stray.encode().withUnsafeBytes { try ChangeSet(decoding: $0) }
        }
    }

    @Test func `the edits of several versions are combined in order`() {
        var merged = changes(.insert(at: 0, count: 1))
        merged.merge(later: changes(.set(at: 4)))
        #expect(edits(merged)?.edits == [.insert(at: 0, count: 1), .set(at: 4)])

        var unknown = changes(.insert(at: 0, count: 1))
        unknown.merge(
            later: ChangeSet(tables: [
                Self.table: TableChanges(modified: [Self.column: [Self.row]])
            ]))
        #expect(edits(unknown) == nil)
        unknown.merge(later: changes(.set(at: 4)))
        #expect(edits(unknown) == nil)

        var deleted = changes(.set(at: 1))
        deleted.merge(later: ChangeSet(tables: [Self.table: TableChanges(deleted: [Self.row])]))
        #expect(edits(deleted) == nil)

        var inserted = ChangeSet(tables: [Self.table: TableChanges(inserted: [Self.row])])
        inserted.merge(later: changes(.set(at: 1)))
        #expect(inserted.tables[Self.table]?.edits.isEmpty == true)

        var other = ChangeSet(tables: [
            Self.table: TableChanges(modified: [ColumnID(rawValue: 5): [Self.row]])
        ])
        other.merge(later: changes(.set(at: 1)))
        #expect(edits(other)?.edits == [.set(at: 1)])
    }
}
