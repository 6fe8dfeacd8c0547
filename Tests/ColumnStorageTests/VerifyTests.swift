import TestThreads
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// A valid file has no errors, and each kind of damage is detected and named.
@Suite struct VerifyTests {
    private let people = TableDefinition(
        id: TableID(1),
        columns: [
            ColumnDefinition(id: ColumnID(0), kind: .int, index: .unique),
            ColumnDefinition(
                id: ColumnID(1), kind: .string, isOptional: true, index: .ordered, isFullText: true),
            ColumnDefinition(id: ColumnID(2), kind: .link, isOptional: true, target: TableID(1)),
            ColumnDefinition(id: ColumnID(3), kind: .list, elementKind: .link, target: TableID(1)),
            ColumnDefinition(id: ColumnID(4), kind: .list, elementKind: .string),
        ],
        compositeIndexes: [CompositeIndexDefinition(id: 0, columns: [ColumnID(1), ColumnID(0)])])

    private func make(_ folder: TemporaryFolder) throws -> Snapshot {
        let snapshot = try Snapshot(try ColumnFile.open(path: folder.file()))
        _ = try snapshot.beginWrite()
        let write = snapshot.write!
        try write.define(people)
        for number in 0..<1200 {
            let key = write.insert(people.id)
            write.set(people.id, ColumnID(0), key, int: Int64(number))
            if number % 5 > 0 {
                let long = number % 100 == 1
                write.set(
                    people.id, ColumnID(1), key,
                    string: long
                        ? String(repeating: "long \(number) ", count: 200) : "name \(number % 50)")
            } else {
                write.setNull(people.id, ColumnID(1), key)
            }
            write.set(people.id, ColumnID(2), key, link: ObjectKey(Int64(number / 2)))
            if number % 40 == 0 {
                let list = try write.list(people.id, ColumnID(3), key)
                for _ in 0..<3 { try list.append(.int(Int64(number))) }
                try write.list(people.id, ColumnID(4), key).append(.bytes([65, 66]))
            }
        }
        try snapshot.commit(keepingLeft: true)
        // A row in the inline tail.
        _ = try snapshot.beginWrite()
        let key = snapshot.write!.insert(people.id)
        snapshot.write!.set(people.id, ColumnID(0), key, int: -1)
        try snapshot.commit(keepingLeft: true)
        return snapshot
    }

    private func indexes(_ tables: FileTables) -> IndexTables {
        IndexTables(minPages: .max) { IndexPages(tables.indexes(of: people.id, $0)) }
    }

    /// The errors after changing the file outside of the store.
    private func faults(
        _ change: (TransactionHandle, FileTables) throws -> Void
    ) throws -> [FileFault] {
        let folder = TemporaryFolder()
        let snapshot = try make(folder)
        #expect(try snapshot.verify() == [])
        let writer = try WriteTransaction(snapshot.file.lease(), durability: .memory)
        try change(writer.handle, snapshot.file.tables)
        try writer.commit()
        let damaged = try Snapshot(snapshot.file)
        try damaged.configure([people])
        return try damaged.verify(atMost: 100_000)
    }

    private func expect(
        _ part: String, column: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (TransactionHandle, FileTables) throws -> Void
    ) throws {
        let faults = try faults(change)
        #expect(
            faults.contains {
                $0.what.contains(part) && $0.table == people.id
                    && (column == nil || $0.column == column.map { ColumnID($0) })
            }, "\(faults.prefix(5))", sourceLocation: sourceLocation)
    }

    @Test func `errors in counts and presence leaves are reported`() throws {
        try expect("the table declares") { handle, tables in
            var head = TableHead()
            head.keyBound = 1201
            head.count = 7
            head.hasTailRows = true
            let recent = DeltaBufferStorage()
            head.write(
                to: try recent.reserve(
                    .tail, TableHead.key(people.id), count: TableHead.size, tables, in: handle))
            try recent.store(in: handle)
        }
        try expect("presence bitmap of cluster 1") { handle, tables in
            let key = LeafKey(people.id, cluster: 1, slot: 0).rawValue
            try [UInt8](repeating: 255, count: 64).withUnsafeBytes {
                try handle.put(tables.leaves(of: people.id), key, $0)
            }
        }
    }

    @Test func `errors in leaves are reported`() throws {
        try expect("the leaf of cluster 0 is not valid", column: 0) { handle, tables in
            let key = LeafKey(people.id, cluster: 0, slot: 1).rawValue
            try [9, 9, 9].withUnsafeBytes {
                try handle.put(tables.leaves(of: people.id), key, $0)
            }
        }
        try expect("after the last cluster", column: nil) { handle, tables in
            let key = LeafKey(people.id, cluster: 9, slot: 1).rawValue
            try [9, 9, 9].withUnsafeBytes {
                try handle.put(tables.leaves(of: people.id), key, $0)
            }
        }
    }

    @Test func `values missing in their indexes are reported`() throws {
        // Swaps the columns of two clusters: every value is intact, but in the wrong row.
        func exchange(_ slot: Int, _ handle: TransactionHandle, _ tables: FileTables) throws {
            let leaves = tables.leaves(of: people.id)
            let first = LeafKey(people.id, cluster: 0, slot: slot).rawValue
            let second = LeafKey(people.id, cluster: 1, slot: slot).rawValue
            let one = [UInt8](try #require(try handle.get(leaves, first)))
            let two = [UInt8](try #require(try handle.get(leaves, second)))
            try one.withUnsafeBytes { try handle.put(leaves, second, $0) }
            try two.withUnsafeBytes { try handle.put(leaves, first, $0) }
        }
        try expect("which is not its value", column: 0) { try exchange(1, $0, $1) }
        try expect("has no entry for ", column: 1) { try exchange(2, $0, $1) }
        try expect("the full-text index has no entry for 'name'", column: 1) {
            try exchange(2, $0, $1)
        }
        try expect("the index over several columns has no entry for", column: 1) {
            try exchange(1, $0, $1)
        }
        try expect("which is not its value", column: 2) { try exchange(3, $0, $1) }
        try expect("elements", column: 3) { try exchange(4, $0, $1) }
        try expect("long value", column: 1) { try exchange(2, $0, $1) }
    }

    @Test func `missing and unused index blocks are reported`() throws {
        try expect("is missing in the index", column: 0) { handle, tables in
            let index = IntIndex(table: people.id, column: ColumnID(0), tables: indexes(tables))
            try index.remove(77, ObjectKey(77), in: handle)
            try index.flush(in: handle)
        }
        try expect("in the unique index twice", column: 0) { handle, tables in
            let index = IntIndex(table: people.id, column: ColumnID(0), tables: indexes(tables))
            try index.insert(77, ObjectKey(78), in: handle)
            try index.flush(in: handle)
        }
        try expect("does not include the runs of indexes") { handle, tables in
            let added = indexes(tables).pages(.added).blocks
            let key = IntIndexKey(prefix: IndexKey.prefix(people.id, ColumnID(0)))
            defer { key.deallocate() }
            try [1].withUnsafeBytes { try handle.put(added, key.minimum(), $0) }
        }
        try expect("an index that does not exist") { handle, tables in
            let index = IntIndex(table: people.id, column: ColumnID(9), tables: indexes(tables))
            try index.insert(1, ObjectKey(1), in: handle)
            try index.flush(in: handle)
        }
    }

    @Test func `errors in lists and long values are reported`() throws {
        try expect("its list is missing", column: 4) { handle, tables in
            let key = IntIndexKey(prefix: IndexKey.prefix(people.id, ColumnID(4)))
            defer { key.deallocate() }
            let cursor = try handle.cursor(tables.lists)
            _ = try cursor.setRange(key.minimum())
            try cursor.delete()
        }
        try expect("its long value is missing", column: 1) { handle, tables in
            try LongValueKey(people.id, ColumnID(1), ObjectKey(101)).delete(handle, tables.values)
        }
        try expect("belongs to no row", column: 1) { handle, tables in
            try [1, 2, 3].withUnsafeBytes {
                try LongValueKey(people.id, ColumnID(1), ObjectKey(2)).put(
                    $0, handle, tables.values)
            }
        }
    }

    @Test func `errors in the inline tail and the history are reported`() throws {
        try expect("a row in the delta buffer is not valid") { handle, tables in
            try [7, 7].withUnsafeBytes {
                try handle.put(tables.tail, TableHead.key(people.id, 1200), $0)
            }
        }
        let faults = try faults { handle, tables in
            var last: UInt64 = 0
            try DeltaBuffer.read(handle).forEach { home, version, _ in
                if home == .history { last = max(last, version) }
            }
            #expect(last > 0)
            let recent = DeltaBufferStorage()
            let buffer = try recent.reserve(.history, last, count: 7, tables, in: handle)
            buffer.copyBytes(from: [0, 0, 0, 0, 255, 255, 255])
            try recent.store(in: handle)
        }
        #expect(faults.contains { $0.what.contains("change set") }, "\(faults)")
    }

    @Test(arguments: 1...12)
    func `bytes changed at random are reported or harmless, and never crash`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        _ = try faults { handle, tables in
            let choices = [
                tables.leaves(of: people.id), tables.indexes(of: people.id), tables.lists,
                tables.values, tables.tail,
            ]
            for _ in 0..<20 {
                let table = choices.randomElement(using: &random)!
                let cursor = try handle.cursor(table)
                var entry = try cursor.first()
                for _ in 0..<Int.random(in: 0..<40, using: &random) {
                    guard let next = try cursor.next() else { break }
                    entry = next
                }
                guard let found = entry else { continue }
                let key = [UInt8](found.key)
                var value = [UInt8](found.value)
                guard !value.isEmpty else { continue }
                for _ in 0..<3 {
                    value[Int.random(in: 0..<value.count, using: &random)] = .random(
                        in: 0...255, using: &random)
                }
                if Bool.random(using: &random) { value.removeLast() }
                try key.withUnsafeBytes { key in
                    try value.withUnsafeBytes { try handle.put(table, key, $0) }
                }
            }
        }
    }
}
