import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// Readers of released versions are reused without a visible difference.
@Suite struct SpareReadersTests {
    let folder = TemporaryFolder()
    let table = everyKind.id
    let column = ColumnID(0)
    let key = ObjectKey(0)

    /// A snapshot that writes and one that observes; the row contains 0.
    func open() throws -> (writer: Snapshot, observer: Snapshot) {
        let file = try ColumnFile.open(path: folder.file(), options: .init(durability: .memory))
        let writer = try Snapshot(file)
        _ = try writer.beginWrite()
        try writer.write!.define(everyKind)
        _ = writer.write!.insert(table)
        try writer.commit()
        let observer = try Snapshot(file)
        try observer.configure([everyKind])
        return (writer, observer)
    }

    func write(_ value: Int64, _ writer: Snapshot) throws {
        _ = try writer.beginWrite()
        writer.write!.set(table, column, key, int: value)
        try writer.commit()
    }

    @Test func `every kept version is unchanged`() throws {
        let (writer, observer) = try open()
        var readers: Set<ObjectIdentifier> = []
        for value in 1...50 as ClosedRange<Int64> {
            try write(value, writer)
            let left = try #require(try observer.advance())
            let reader = try left.table(table)
            #expect(try reader.int(column, key) == value - 1)
            #expect(reader.count == 1)
            readers.insert(ObjectIdentifier(reader))
        }
        #expect(readers.count == 1, "one reader served them all")
    }

    @Test func `versions that are open at the same time have separate readers`() throws {
        let (writer, observer) = try open()
        var held: [Snapshot] = []
        for value in 1...20 as ClosedRange<Int64> {
            try write(value, writer)
            held.append(try #require(try observer.advance()))
            if value % 7 == 0 { held.removeFirst(3) }
            let first = value - Int64(held.count)
            for (index, left) in held.enumerated() {
                #expect(try left.table(table).int(column, key) == first + Int64(index))
            }
        }
    }

    @Test func `a reader that outlives its version stays empty`() throws {
        let (writer, observer) = try open()
        try write(1, writer)
        let kept = try #require(try observer.advance()).table(table)
        #expect(kept.count == 0)
        try write(2, writer)
        let left = try #require(try observer.advance())
        #expect(try left.table(table) !== kept)
        #expect(try left.table(table).int(column, key) == 1)
        #expect(kept.count == 0)
        #expect(kept.keyBound == 0)
    }

    @Test func `a version with other columns is read with them`() throws {
        let (writer, observer) = try open()
        try write(1, writer)
        _ = try #require(try observer.advance()).table(table).int(column, key)
        var wider = everyKind
        wider.columns.append(ColumnDefinition(id: ColumnID(9), kind: .int))
        _ = try writer.beginWrite()
        try writer.write!.define(wider)
        writer.write!.set(table, ColumnID(9), key, int: 7)
        try writer.commit()
        _ = try #require(try observer.advance())
        try observer.configure([wider])
        try write(2, writer)
        let left = try #require(try observer.advance())
        #expect(try left.table(table).int(ColumnID(9), key) == 7)
        #expect(try left.table(table).int(column, key) == 1)
        // A transaction that is larger than all earlier ones of the readers.
        _ = try writer.beginWrite()
        for _ in 0..<3000 { _ = writer.write!.insert(table) }
        try writer.commit()
        _ = try #require(try observer.advance())
        try write(3, writer)
        let larger = try #require(try observer.advance())
        #expect(try larger.table(table).count == 3001)
        #expect(try larger.table(table).int(column, ObjectKey(3000)) == 0)
        #expect(try larger.table(table).int(column, key) == 2)
    }

    @Test func `closing the live snapshot releases all readers`() throws {
        let (writer, observer) = try open()
        weak var reader: TableReader?
        do {
            try write(1, writer)
            let left = try #require(try observer.advance())
            reader = try left.table(table)
            #expect(try reader?.int(column, key) == 0)
            observer.close()
            #expect(try reader?.int(column, key) == 0, "a version that is held stays readable")
        }
        #expect(reader == nil)
    }
}
