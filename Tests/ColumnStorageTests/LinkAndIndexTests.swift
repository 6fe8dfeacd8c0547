import Testing

@testable import ColumnStorage
@testable import LMDBStorage

@Suite struct LinkAndIndexTests {
    let folder = TemporaryFolder()
    let dogs = TableDefinition(
        id: TableID(1),
        columns: [
            ColumnDefinition(id: ColumnID(0), kind: .int, index: .unique),
            ColumnDefinition(id: ColumnID(1), kind: .link, isOptional: true, target: TableID(2)),
        ])
    let people = TableDefinition(
        id: TableID(2),
        columns: [
            ColumnDefinition(
                id: ColumnID(0), kind: .list, elementKind: .link, target: TableID(1))
        ])

    func open() throws -> Snapshot {
        let snapshot = try Snapshot(try ColumnFile.open(path: folder.file()))
        _ = try snapshot.beginWrite()
        try snapshot.write!.define(dogs)
        try snapshot.write!.define(people)
        try snapshot.commit(keepingLeft: true)
        return snapshot
    }

    @Test func `a lookup finds rows by index, inside the write and after it`() throws {
        let snapshot = try open()
        let table = try snapshot.table(dogs.id)
        _ = try snapshot.beginWrite()
        var keys: [ObjectKey] = []
        for number in 0..<2000 {
            let key = snapshot.write!.insert(dogs.id)
            snapshot.write!.set(dogs.id, ColumnID(0), key, int: Int64(number * 3))
            keys.append(key)
        }
        #expect(try table.find(ColumnID(0), int: 300) == keys[100])
        try snapshot.commit(keepingLeft: true)
        #expect(try table.find(ColumnID(0), int: 300) == keys[100])
        #expect(try table.find(ColumnID(0), int: 301) == nil)
        #expect(try table.find(ColumnID(0), int: 0) == keys[0])
        _ = try snapshot.beginWrite()
        snapshot.write!.set(dogs.id, ColumnID(0), keys[100], int: -5)
        try snapshot.write!.delete(dogs.id, keys[101])
        #expect(try table.find(ColumnID(0), int: 300) == nil)
        #expect(try table.find(ColumnID(0), int: -5) == keys[100])
        #expect(try table.find(ColumnID(0), int: 303) == nil)
        let before = try #require(try snapshot.commit(keepingLeft: true))
        #expect(try table.find(ColumnID(0), int: -5) == keys[100])
        #expect(try table.find(ColumnID(0), int: 303) == nil)
        #expect(try before.table(dogs.id).find(ColumnID(0), int: 303) == keys[101])
        #expect(try table.keys(ColumnID(0), from: 290, through: 310).count == 5)
    }

    @Test func `a lookup finds rows by their bytes, inside the write and after it`() throws {
        let names = TableDefinition(
            id: TableID(3),
            columns: [ColumnDefinition(id: ColumnID(0), kind: .string, index: .unique)])
        let snapshot = try open()
        _ = try snapshot.beginWrite()
        try snapshot.write!.define(names)
        let table = try snapshot.table(names.id)
        let writer = snapshot.write!.rowWriter(names.id)
        for number in 0..<1500 {
            writer.beginRow()
            writer.setString(ColumnID(0), "name \(number)")
            writer.endRow()
        }
        let late = snapshot.write!.insert(names.id)
        snapshot.write!.set(names.id, ColumnID(0), late, string: "late")
        #expect(try table.find(ColumnID(0), bytes: [UInt8]("name 77".utf8)) == ObjectKey(77))
        try snapshot.commit(keepingLeft: true)
        #expect(try table.find(ColumnID(0), bytes: [UInt8]("late".utf8)) == late)
        _ = try snapshot.beginWrite()
        snapshot.write!.set(names.id, ColumnID(0), ObjectKey(77), string: "other")
        try snapshot.write!.delete(names.id, ObjectKey(78))
        #expect(try table.find(ColumnID(0), bytes: [UInt8]("name 77".utf8)) == nil)
        try snapshot.commit(keepingLeft: true)
        #expect(try table.find(ColumnID(0), bytes: [UInt8]("other".utf8)) == ObjectKey(77))
        #expect(try table.find(ColumnID(0), bytes: [UInt8]("name 78".utf8)) == nil)
        #expect(try table.find(ColumnID(0), bytes: [UInt8]("name 79".utf8)) == ObjectKey(79))
    }

    @Test func `deleting a row removes it from links and lists`() throws {
        let snapshot = try open()
        _ = try snapshot.beginWrite()
        let write = snapshot.write!
        let person = write.insert(people.id)
        let dog = write.insert(dogs.id)
        let other = write.insert(dogs.id)
        write.set(dogs.id, ColumnID(0), dog, int: 1)
        write.set(dogs.id, ColumnID(0), other, int: 2)
        write.set(dogs.id, ColumnID(1), dog, link: person)
        for key in [dog, other, dog] {
            try write.list(people.id, ColumnID(0), person).append(.int(key.rawValue))
        }
        try snapshot.commit(keepingLeft: true)
        let people = try snapshot.table(people.id)
        let dogs = try snapshot.table(dogs.id)
        #expect(try people.listCount(ColumnID(0), person) == 3)
        #expect(try people.sources(of: dog, through: ColumnID(0)) == [person, person])
        #expect(try dogs.sources(of: person, through: ColumnID(1)) == [dog])
        _ = try snapshot.beginWrite()
        try snapshot.write!.delete(dogs.id, dog)
        let before = try #require(try snapshot.commit(keepingLeft: true))
        #expect(try people.list(ColumnID(0), person)?.keys() == [other])
        #expect(try people.listCount(ColumnID(0), person) == 1)
        #expect(try people.sources(of: dog, through: ColumnID(0)) == [])
        #expect(try before.table(people.id).listCount(ColumnID(0), person) == 3)
        let changes = try snapshot.changes(from: before.version, to: snapshot.version)
        #expect(changes?.tables[people.id]?.modified[ColumnID(0)]?.contains(person) == true)
        _ = try snapshot.beginWrite()
        let again = snapshot.write!.insert(dogs.id)
        snapshot.write!.set(dogs.id, ColumnID(1), again, link: person)
        try snapshot.write!.delete(people.id, person)
        #expect(try dogs.link(ColumnID(1), again) == nil)
        try snapshot.commit(keepingLeft: true)
        #expect(try dogs.link(ColumnID(1), again) == nil)
    }
}
