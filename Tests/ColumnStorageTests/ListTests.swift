import LMDBStorage
import MemoryAccounts
import TestThreads
import Testing

@testable import ColumnStorage

@Suite struct ListTests {
    private final class Lengths {
        var known: [Int64: Int] = [:]
    }

    private let environment: TemporaryEnvironment

    init() throws { environment = try TemporaryEnvironment() }

    private func makeColumn(_ kind: ColumnKind = .int) -> ListColumn {
        ListColumn(
            table: TableID(1), column: ColumnID(1), elementKind: kind,
            pages: ListPages(environment.lists))
    }

    private func beginWrite(_ column: ListColumn) throws -> WriteTransaction {
        let write = try environment.beginWrite()
        column.pages.move(to: write.handle)
        return write
    }

    private static let kinds: [ColumnKind] = [.int, .double, .float, .string, .link]

    private func randomElement(
        _ kind: ColumnKind, _ generator: inout SeededGenerator
    ) -> ListElement {
        if kind != .link, Int.random(in: 0..<8, using: &generator) == 0 { return .null }
        switch kind {
        case .double: return .double(Double(Int.random(in: -9...9, using: &generator)) / 4)
        case .float: return .float(Float(Int.random(in: -9...9, using: &generator)) / 4)
        case .string:
            let length = [0, 1, 5, 30, 3000].randomElement(using: &generator)!
            return .bytes(
                (0..<(length == 3000 && Int.random(in: 0..<20, using: &generator) > 0 ? 7 : length))
                    .map { _ in UInt8.random(in: 97...122, using: &generator) })
        default:
            let bits = Int.random(in: 0...62, using: &generator)
            return .int(Int64.random(in: -1...(1 << bits), using: &generator))
        }
    }

    private func change(
        _ list: ListWriter, _ model: inout [ListElement], _ kind: ColumnKind,
        _ generator: inout SeededGenerator
    ) throws {
        let element = randomElement(kind, &generator)
        switch Int.random(in: 0..<20, using: &generator) {
        case 0...5:
            model.append(element)
            #expect(try list.append(element) == model.count)
        case 6...9:
            let position = Int.random(in: 0...model.count, using: &generator)
            model.insert(element, at: position)
            #expect(try list.insert(element, at: position) == model.count)
        case 10...12 where !model.isEmpty:
            let position = Int.random(in: 0..<model.count, using: &generator)
            #expect(try list.set(element, at: position) == model[position])
            model[position] = element
        case 13...14 where !model.isEmpty:
            let position = Int.random(in: 0..<model.count, using: &generator)
            #expect(try list.remove(at: position) == model.remove(at: position))
        case 15 where !model.isEmpty:
            let from = Int.random(in: 0..<model.count, using: &generator)
            let to = Int.random(in: 0..<model.count, using: &generator)
            try list.move(from: from, to: to)
            model.insert(model.remove(at: from), at: to)
        case 16 where !model.isEmpty:
            let first = Int.random(in: 0..<model.count, using: &generator)
            let second = Int.random(in: 0..<model.count, using: &generator)
            try list.swap(first, second)
            model.swapAt(first, second)
        case 17:
            let many = (0..<Int.random(in: 1...1200, using: &generator)).map { _ in
                randomElement(kind, &generator)
            }
            model += many
            #expect(try list.append(contentsOf: many) == model.count)
        case 18 where Int.random(in: 0..<5, using: &generator) == 0:
            model = []
            try list.removeAll()
        case 19 where model.count > 100:
            let position = Int.random(in: 0..<model.count - 100, using: &generator)
            for _ in 0..<100 { try list.remove(at: position) }
            model.removeSubrange(position..<position + 100)
        default: break
        }
    }

    private func check(
        _ list: ListReader, _ model: [ListElement], _ generator: inout SeededGenerator,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try list.count == model.count, sourceLocation: sourceLocation)
        for _ in 0..<5 where !model.isEmpty {
            let position = Int.random(in: 0..<model.count, using: &generator)
            let element = try list.element(at: position)
            #expect(element == model[position], sourceLocation: sourceLocation)
            let index = try list.firstIndex(of: model[position])
            #expect(index == model.firstIndex(of: model[position]), sourceLocation: sourceLocation)
        }
        #expect(try list.element(at: model.count) == nil, sourceLocation: sourceLocation)
        #expect(try list.element(at: -1) == nil, sourceLocation: sourceLocation)
        let all = try list.elements()
        #expect(all == model, sourceLocation: sourceLocation)
        #expect(try list.ints() == model.compactMap { if case .int(let v) = $0 { v } else { nil } })
    }

    @Test(arguments: 1...15 as ClosedRange<UInt64>)
    func `lists behave like arrays through writes, commits, aborts and reopening`(seed: UInt64)
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let kind = Self.kinds[Int(seed) % Self.kinds.count]
        let lengths = Lengths()
        func makeColumn() -> ListColumn {
            ListColumn(
                table: TableID(1), column: ColumnID(Int(seed) % 3), elementKind: kind,
                pages: ListPages(environment.lists), length: { lengths.known[$0.rawValue] })
        }
        var column = makeColumn()
        var committed: [Int64: [ListElement]] = [:]
        for _ in 0..<8 {
            var models = committed
            let write = try beginWrite(column)
            for _ in 0..<Int.random(in: 1...40, using: &generator) {
                let owner = Int64.random(in: 0..<4, using: &generator)
                var model = models[owner] ?? []
                // Tests calls with and without a known count.
                let count = Bool.random(using: &generator) ? model.count : nil
                let list = column.writer(ObjectKey(owner), count: count)
                try change(list, &model, kind, &generator)
                models[owner] = model
                lengths.known[owner] = model.count
                if Int.random(in: 0..<6, using: &generator) == 0 {
                    try check(list.reader, model, &generator)
                }
                if Int.random(in: 0..<15, using: &generator) == 0 { try column.flush() }
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                column.cancel()
                write.abort()
            } else {
                try column.flush()
                try write.commit()
                committed = models
            }
            column.pages.move(to: nil)
            // If some lengths are unknown, the list is read from its start.
            lengths.known = committed.mapValues(\.count).filter { _ in
                Bool.random(using: &generator)
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                try environment.reopen()
                column = makeColumn()
            }
            let read = try environment.beginRead()
            column.pages.move(to: read.handle)
            for owner in Int64(0)..<4 {
                try check(column.reader(ObjectKey(owner)), committed[owner] ?? [], &generator)
            }
            column.pages.move(to: nil)
        }
    }

    @Test(arguments: [true, false])
    func `an element of a long list is found from its nearer end`(isKnown: Bool) throws {
        let column = ListColumn(
            table: TableID(1), column: ColumnID(1), elementKind: .int,
            pages: ListPages(environment.lists), length: { _ in isKnown ? 60_000 : nil })
        let owner = ObjectKey(3)
        let write = try beginWrite(column)
        try column.writer(owner, count: 0).append(contentsOf: (0..<60_000).map { .int($0) })
        try column.flush()
        try write.commit()
        let read = try environment.beginRead()
        let list = column.reader(owner)
        for order in [[59_999, 0, 59_000, 30_000], [500, 59_998, 60_000, 20_000, 59_001, 60_001]] {
            column.pages.move(to: read.handle)
            for position in order {
                let wanted = position < 60_000 ? Int64(position) : nil
                #expect(try list.int(at: position) == wanted)
            }
            #expect(try list.count == 60_000)
        }
        column.pages.move(to: read.handle)
        #expect(try list.int(at: 59_900) == 59_900)
        let known = column.known(owner.rawValue)
        #expect(known.chunks.isEmpty == isKnown)
        #expect(known.lastChunks.count == (isKnown ? 1 : 0))
        column.pages.move(to: nil)
    }

    @Test func `new labels replace only those of the chunks nearby`() throws {
        let column = makeColumn()
        let owner: Int64 = 3
        func labels() throws -> [Int64] { try column.directory(owner).chunks.map(\.label) }
        let write = try beginWrite(column)
        defer { write.abort() }
        var model = [Int64](0..<40_000)
        let list = column.writer(ObjectKey(owner))
        for value in model { try list.append(.int(value)) }
        try column.flush()
        let before = try labels()
        try #require(before.count > 60)
        var replaced = 0
        for round in 0..<150 {
            // The list is always divided at the same element.
            let values = (0..<400).map { Int64(round * 400 + $0) }
            for value in values { try list.insert(.int(value), at: 20_000) }
            model.insert(contentsOf: values.reversed(), at: 20_000)
            let old = try labels()
            try column.flush()
            let new = try labels()
            #expect(new == new.sorted())
            if !Set(old).isSubset(of: Set(new)) { replaced += 1 }
        }
        #expect(replaced > 1)
        #expect(try list.reader.ints() == model)
        let after = try labels()
        #expect(after.prefix(20) == before.prefix(20))
        #expect(after.suffix(20) == before.suffix(20))
    }

    @Test func `edits of lists become unknown when they take too much memory`() throws {
        var edits = CollectionEdits()
        edits.append(.insert(at: 0, count: 1))
        var recorded = RecordedEdits()
        for owner in Int64(0)..<100 { recorded.record(edits, of: owner, limit: 1 << 16) }
        #expect(recorded.byOwner.values.count == 100)
        for owner in Int64(100)..<10_000 { recorded.record(edits, of: owner, limit: 1 << 16) }
        #expect(recorded.byOwner.isEmpty)
        recorded.removeAll()
        recorded.record(edits, of: 1, limit: 1 << 16)
        #expect(recorded.byOwner.values.count == 1)
    }

    @Test func `appending writes one chunk for any length of the list`() throws {
        let column = makeColumn()
        var write = try beginWrite(column)
        let counts = [10, 50_000]
        for (owner, count) in counts.enumerated() {
            let list = column.writer(ObjectKey(Int64(owner)), count: 0)
            for value in 0..<count { try list.append(.int(Int64(value))) }
        }
        try column.flush()
        try write.commit()
        for (owner, count) in counts.enumerated() {
            write = try beginWrite(column)
            let list = column.writer(ObjectKey(Int64(owner)), count: count)
            #expect(try list.append(.int(-1)) == count + 1)
            let edited = try #require(column.edited[Int64(owner)])
            #expect(edited.chunks.count == 1)
            #expect(edited.chunks.first?.isDirty == true)
            #expect(edited.removedLabels.isEmpty)
            let before = try write.handle.statistics(environment.lists).entries
            try column.flush()
            #expect(try write.handle.statistics(environment.lists).entries == before)
            #expect(try column.reader(ObjectKey(Int64(owner))).int(at: count) == -1)
            try write.commit()
        }
    }

    @Test func `one write can remove the last chunk and append again`() throws {
        let column = makeColumn()
        let owner = ObjectKey(0)
        var write = try beginWrite(column)
        try column.writer(owner, count: 0).append(contentsOf: (0..<1000).map { .int($0) })
        try column.flush()
        try write.commit()
        write = try beginWrite(column)
        // The last of three chunks has eight elements; at first, the write has read only this chunk.
        for count in stride(from: 1000, to: 992, by: -1) {
            try column.writer(owner, count: count).remove(at: count - 1)
        }
        let rest = column.writer(owner, count: 992)
        try rest.append(.int(-1))
        try rest.remove(at: 0)
        try column.flush()
        #expect(try column.reader(owner).ints() == [Int64](1..<992) + [-1])
    }

    @Test func `positions in a sorted list are found in every state of the list`() throws {
        let column = makeColumn()
        let owner = ObjectKey(0)
        var write = try beginWrite(column)
        #expect(try column.reader(owner).partitioningIndex { _ in true } == 0)
        var model = (0..<5000).map { Int64($0 * 2) }
        try column.writer(owner, count: 0).append(contentsOf: model.map { .int($0) })
        func index(of value: Int64) throws -> Int {
            try column.reader(owner).partitioningIndex { ($0.word ?? 0) >= value }
        }
        func check() throws {
            for value in [-5, 0, 1, 990, 991, 992, 993, 5001, 9998, 9999, 20_000] as [Int64] {
                let found = try index(of: value)
                #expect(found == model.firstIndex { $0 >= value } ?? model.count)
            }
        }
        try check()
        try column.flush()
        try check()
        try write.commit()
        write = try beginWrite(column)
        try check()
        // From the start of the last chunk on, no other chunk has to be read.
        let list = column.writer(owner, count: model.count)
        try list.append(.int(10_000))
        model.append(10_000)
        #expect(try index(of: 9_999) == 5000)
        #expect(column.edited[0]?.chunks.count == 1)
        try check()
        #expect((column.edited[0]?.chunks.count ?? 0) > 5)
        #expect(column.edited[0]?.chunks.filter { $0.content != nil }.count ?? 0 < 9)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `damaged chunks are reported and never read beyond their end`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let kind: ColumnKind = seed % 2 == 0 ? .int : .string
        let column = makeColumn(kind)
        let write = try beginWrite(column)
        let list = column.writer(ObjectKey(0), count: 0)
        for _ in 0..<200 { try list.append(randomElement(kind, &generator)) }
        try column.flush()
        for _ in 0..<50 {
            let first = try #require(try write.handle.cursor(environment.lists).first())
            let key = [UInt8](first.key)
            var bytes = [UInt8](first.value)
            let offset = Int.random(in: 0..<Swift.min(bytes.count, 200), using: &generator)
            bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            if Bool.random(using: &generator) { bytes.removeLast(Swift.min(3, bytes.count)) }
            try key.withUnsafeBytes { key in
                try bytes.withUnsafeBytes { try write.handle.put(environment.lists, key, $0) }
            }
            column.pages.invalidate()
            _ = try? list.reader.elements()
            _ = try? list.reader.element(at: 5)
            _ = try? list.append(.null)
            column.cancel()
        }
    }

    @Test func `one long list is stored in parts if a script has little memory`() throws {
        let folder = TemporaryFolder()
        let (table, column, owner) = (TableID(1), ColumnID(0), ObjectKey(0))
        let snapshot = try Snapshot(ColumnFile.open(path: folder.file("list")))
        _ = try snapshot.beginWrite()
        try #require(snapshot.write).define(
            TableDefinition(
                id: table,
                columns: [
                    ColumnDefinition(
                        id: column, kind: .list, collection: .list, elementKind: .string)
                ]))
        _ = try #require(snapshot.write).insert(table)
        _ = try snapshot.commit()
        var generator = SeededGenerator(seed: 30)
        var model: [ListElement] = []
        let account = MemoryAccount(limit: 2 << 20)
        try MemoryAccount.$current.withValue(account) {
            _ = try snapshot.beginWrite()
            let list = try #require(snapshot.write).list(table, column, owner)
            for number in 0..<12_000 {
                let element = ListElement.bytes(Array("element \(number)".utf8))
                let position = Int.random(in: 0...model.count, using: &generator)
                switch number % 8 {
                case 0:
                    try list.insert(element, at: position)
                    model.insert(element, at: position)
                case 1 where position < model.count:
                    try list.set(element, at: position)
                    model[position] = element
                case 2 where position < model.count:
                    try list.remove(at: position)
                    model.remove(at: position)
                case 3 where position < model.count:
                    try list.move(from: position, to: model.count - 1)
                    model.append(model.remove(at: position))
                case 4 where position < model.count:
                    try list.swap(position, 0)
                    model.swapAt(position, 0)
                default:
                    try list.append(element)
                    model.append(element)
                }
            }
            #expect(try #require(snapshot.table(table).lists[0]).flushCount > 3)
            #expect(try list.count == model.count)
            _ = try snapshot.commit()
        }
        #expect(try snapshot.table(table).listElements(column, owner) == model)
        #expect(try snapshot.verify().isEmpty)
    }
}
