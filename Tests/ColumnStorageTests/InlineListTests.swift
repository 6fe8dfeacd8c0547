import LMDBStorage
import TestThreads
import Testing

@testable import ColumnStorage

/// Short collections, which are stored in the row of their owner, and their way to chunks and back.
@Suite struct InlineListTests {
    private static let table = TableID(1)
    private static let numbers = ColumnID(0)
    private static let texts = ColumnID(2)
    private static let links = ColumnID(4)
    private static let map = ColumnID(6)

    private static let definition: TableDefinition = {
        let collections = [
            ColumnDefinition(id: numbers, kind: .list, elementKind: .int, contents: ColumnID(1)),
            ColumnDefinition(
                id: texts, kind: .list, elementKind: .string, elementIsOptional: true,
                contents: ColumnID(3)),
            ColumnDefinition(
                id: links, kind: .list, elementKind: .link, contents: ColumnID(5), target: table),
            ColumnDefinition(
                id: map, kind: .list, collection: .map, elementKind: .double,
                contents: ColumnID(7)),
        ]
        return TableDefinition(
            id: table, columns: collections.flatMap { [$0] + $0.contentsColumns })
    }()

    /// One row of the model.
    private struct Row: Equatable {
        var lists: [ColumnID: [ListElement]] = [numbers: [], texts: [], links: []]
        var map: [[UInt8]: ListElement] = [:]
    }

    private typealias Model = [ObjectKey: Row]

    private static func element(
        _ column: ColumnID, _ rows: [ObjectKey], _ generator: inout SeededGenerator
    ) -> ListElement {
        switch column {
        case numbers: return .int(.random(in: -300...300, using: &generator))
        case links: return .int(rows.randomElement(using: &generator)!.rawValue)
        default:
            if Int.random(in: 0..<5, using: &generator) == 0 { return .null }
            let length = Int.random(in: 0..<10, using: &generator) == 0 ? 300 : 12
            let count = Int.random(in: 0..<length, using: &generator)
            return .bytes((0..<count).map { _ in .random(in: 97...122, using: &generator) })
        }
    }

    private static func change(
        _ session: WriteSession, _ model: inout Model, _ generator: inout SeededGenerator
    ) throws {
        let rows = model.keys.sorted()
        guard let owner = rows.randomElement(using: &generator),
            Int.random(in: 0..<12, using: &generator) > 0
        else {
            model[session.insert(table)] = Row()
            return
        }
        if rows.count > 5, Int.random(in: 0..<20, using: &generator) == 0 {
            try session.delete(table, owner)
            model[owner] = nil
            for row in model.keys {
                model[row]!.lists[links]!.removeAll { $0 == .int(owner.rawValue) }
            }
            return
        }
        if Int.random(in: 0..<4, using: &generator) == 0 {
            let editor = try session.map(table, map, owner)
            let name = Array("key \(Int.random(in: 0..<25, using: &generator))".utf8)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0:
                try editor.removeAll()
                model[owner]!.map = [:]
            case 1, 2:
                #expect(try editor.remove(name) == (model[owner]!.map[name] != nil))
                model[owner]!.map[name] = nil
            default:
                let value = ListElement.double(.random(in: 0...9, using: &generator))
                try editor.set(value, for: name)
                model[owner]!.map[name] = value
            }
            return
        }
        let column = [numbers, texts, links].randomElement(using: &generator)!
        let list = try session.list(table, column, owner)
        var expected = model[owner]!.lists[column]!
        let place = expected.isEmpty ? 0 : Int.random(in: expected.indices, using: &generator)
        let other = expected.isEmpty ? 0 : Int.random(in: expected.indices, using: &generator)
        switch Int.random(in: 0..<9, using: &generator) {
        case 0:
            let more = Int.random(in: 0..<30, using: &generator)
            let isLong = Int.random(in: 0..<8, using: &generator) == 0
            let added = (0..<(isLong ? 20 * more : more % 5)).map { _ in
                element(column, rows, &generator)
            }
            if column == links, Bool.random(using: &generator) {
                try list.append(links: added.compactMap { $0.word.map { ObjectKey(rawValue: $0) } })
            } else {
                try list.append(contentsOf: added)
            }
            expected += added
        case 1, 2:
            let added = element(column, rows, &generator)
            try list.append(added)
            expected.append(added)
        case 3:
            let added = element(column, rows, &generator)
            try list.insert(added, at: place)
            expected.insert(added, at: place)
        case 4 where !expected.isEmpty:
            expected[place] = element(column, rows, &generator)
            try list.set(expected[place], at: place)
        case 5 where !expected.isEmpty:
            try list.remove(at: place)
            expected.remove(at: place)
        case 6 where !expected.isEmpty:
            try list.move(from: place, to: other)
            expected.insert(expected.remove(at: place), at: other)
        case 7 where !expected.isEmpty:
            try list.swap(place, other)
            expected.swapAt(place, other)
        case 8 where Bool.random(using: &generator):
            try list.removeAll()
            expected = []
        default: break
        }
        model[owner]!.lists[column] = expected
    }

    private static func check(
        _ snapshot: Snapshot, _ model: Model,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let rows = try snapshot.table(table)
        #expect(rows.count == model.count, sourceLocation: sourceLocation)
        for (key, row) in model {
            for (column, elements) in row.lists {
                let list = try #require(try rows.list(column, key))
                #expect(try list.elements() == elements, sourceLocation: sourceLocation)
                #expect(try list.count == elements.count, sourceLocation: sourceLocation)
                #expect(
                    try rows.listCount(column, key) == elements.count,
                    sourceLocation: sourceLocation)
                let last = elements.count - 1
                #expect(try list.element(at: last) == elements.last, sourceLocation: sourceLocation)
            }
            let reader = try #require(try rows.map(map, key))
            let entries = try reader.entries()
            #expect(
                entries.map(\.key) == row.map.keys.sorted { $0.lexicographicallyPrecedes($1) },
                sourceLocation: sourceLocation)
            for (name, value) in entries {
                #expect(value == row.map[name], sourceLocation: sourceLocation)
                #expect(try reader.value(name) == value, sourceLocation: sourceLocation)
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `collections behave like arrays through commits, savepoints, cancellations and undo`(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        let file = try ColumnFile.open(path: folder.file("lists"))
        let snapshot = try Snapshot(file)
        _ = try snapshot.beginWrite()
        try #require(snapshot.write).define(Self.definition)
        try snapshot.commit(keepingLeft: true)
        var committed: Model = [:]
        for _ in 0..<12 {
            let before = committed
            var model = committed
            _ = try snapshot.beginWrite()
            let session = try #require(snapshot.write)
            for _ in 0..<Int.random(in: 1...60, using: &generator) {
                guard Int.random(in: 0..<12, using: &generator) == 0 else {
                    try Self.change(session, &model, &generator)
                    continue
                }
                let savepoint = try session.beginSavepoint()
                var tried = model
                for _ in 0..<5 { try Self.change(session, &tried, &generator) }
                if Bool.random(using: &generator) {
                    try session.rollBack(to: savepoint)
                } else {
                    model = tried
                }
                session.endSavepoint()
            }
            try Self.check(snapshot, model)
            if Int.random(in: 0..<4, using: &generator) == 0 {
                snapshot.cancelWrite()
            } else {
                try snapshot.commit(keepingLeft: true)
                committed = model
            }
            try Self.check(snapshot, committed)
            let other = try Snapshot(file)
            try other.configure([Self.definition])
            try Self.check(other, committed)
            #expect(try snapshot.verify() == [])
            guard committed != before, Bool.random(using: &generator) else { continue }
            let version = snapshot.version
            _ = try snapshot.beginWrite()
            try #require(snapshot.write).revert(version: version)
            try snapshot.commit(keepingLeft: true)
            try Self.check(snapshot, before)
            #expect(try snapshot.verify() == [])
            committed = before
        }
    }

    @Test func `short lists take no space of their own, long ones until they are emptied`() throws {
        let folder = TemporaryFolder()
        let snapshot = try Snapshot(ColumnFile.open(path: folder.file("lists")))
        _ = try snapshot.beginWrite()
        var session = try #require(snapshot.write)
        try session.define(Self.definition)
        let owner = session.insert(Self.table)
        try session.list(Self.table, Self.numbers, owner).append(
            contentsOf: (0..<20).map { .int($0) })
        func chunks() throws -> Int {
            let handle = try #require(snapshot.source.handle)
            return try handle.statistics(snapshot.file.tables.lists).entries
        }
        try snapshot.commit(keepingLeft: true)
        #expect(try chunks() == 0)
        _ = try snapshot.beginWrite()
        session = try #require(snapshot.write)
        // Equal numbers take no space, but a chunk has a maximum number of elements.
        try session.list(Self.table, Self.numbers, owner).removeAll()
        try session.list(Self.table, Self.numbers, owner).append(
            contentsOf: Array(repeating: .int(7), count: 1200))
        try snapshot.commit(keepingLeft: true)
        #expect(try chunks() > 0)
        #expect(try snapshot.table(Self.table).list(Self.numbers, owner)?.count == 1200)
        _ = try snapshot.beginWrite()
        session = try #require(snapshot.write)
        let list = try session.list(Self.table, Self.numbers, owner)
        try list.removeAll()
        try list.append(.int(1))
        try snapshot.commit(keepingLeft: true)
        #expect(try chunks() == 0)
        #expect(try snapshot.table(Self.table).list(Self.numbers, owner)?.ints() == [1])
    }
}
