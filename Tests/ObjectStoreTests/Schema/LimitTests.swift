import ColumnStorage
import Foundation
import ObjectStore
import Testing

/// The limits of a store: each limit can be reached, and exceeding it is an error that names the limit.
@Suite struct LimitTests {
    private func wide(_ count: Int, _ type: PropertyType = .int) -> ClassSchema {
        ClassSchema("Wide", (0..<count).map { Property("p\($0)", type, isOptional: true) })
    }

    private func message(of body: () throws -> Void) -> String {
        storeError(.limitExceeded, body)?.message ?? ""
    }

    @Test func `A class has up to 16,000 properties`() throws {
        let limit = StoreLimits.properties
        let store = try Store.temporary([wide(limit)])
        let last = "p\(limit - 1)"
        try store.write {
            let object = try store.create("Wide", .dictionary([last: .int(7), "p0": .int(1)]))
            try object.set("p4097", .int(5))
            #expect(try object.value("p1") == .null)
        }
        let object = try #require(try store.objects("Wide").first())
        #expect(try object.value("p0") == .int(1))
        #expect(try object.value("p4097") == .int(5))
        #expect(try object.value(last) == .int(7))
        #expect(try store.objects("Wide").filtered("\(last) == 7").count() == 1)
        #expect(try store.verify().isEmpty)

        let text = message { _ = try Store.temporary([wide(limit + 1)]) }
        #expect(text.contains("'Wide' has 16001 properties; a class has at most 16000"))
        let other = try Store.temporary([])
        #expect(message { try other.define([wide(limit + 1)]) } == text)
        try other.write { #expect(message { try other.defineInWrite([wide(limit + 1)]) } == text) }
        #expect(other.schema.classes.isEmpty)
    }

    @Test(arguments: [PropertyType.int, .string])
    func `Objects with thousands of properties are created in the write that defines their class`(
        type: PropertyType
    ) throws {
        // The unpacked columns of one cluster exceed the memory that a write keeps.
        let count = 6000
        let rows = 520
        let store = try Store.temporary([])
        func value(_ row: Int, _ position: Int) -> Value {
            type == .int ? .int(Int64(row * position)) : .string("\(row) \(position)")
        }
        let positions = [0, 1, 63, 4095, 4096, count - 1]
        try store.write {
            try store.defineInWrite([wide(count, type)])
            let inserter = try store.inserter(of: try store.schema.require("Wide"))
            for row in 0..<rows {
                for position in positions { inserter.set(position, value(row, position)) }
                try inserter.insert()
            }
        }
        let objects = try store.objects("Wide")
        #expect(try objects.count() == rows)
        for row in [0, 1, 495, 496, rows - 1] {
            let object = try objects.object(at: row)
            for position in positions {
                #expect(try object.value("p\(position)") == value(row, position))
            }
            #expect(try object.value("p2") == .null)
        }
        #expect(try store.verify().isEmpty)
    }

    @Test func `Removing and adding a property uses a new column`() throws {
        let store = try Store.temporary([wide(StoreLimits.properties)])
        // A table has 16,383 columns, of which 383 are for properties that replace others.
        func replaced(_ range: Range<Int>) -> ClassSchema {
            var properties = wide(StoreLimits.properties).properties
            for position in range { properties[position] = Property("q\(position)", .int) }
            return ClassSchema("Wide", properties)
        }
        try store.redefine([replaced(0..<383)])
        let text = message { try store.redefine([replaced(0..<384)]) }
        #expect(text.contains("removed ones included; the maximum is 16383"))
        #expect(store.schema.find("Wide")?.property(named: "q382") != nil)
    }

    @Test func `A store has up to 60,000 classes`() throws {
        let limit = StoreLimits.classes
        let classes = (0..<limit).map { ClassSchema("C\($0)", "x: int") }
        let store = try Store.temporary(classes)
        #expect(store.schema.classes.count == limit)
        let last = "C\(limit - 1)"
        try store.write { try store.create(last, .dictionary(["x": .int(7)])) }
        #expect(try store.objects(last).filtered("x == 7").count() == 1)
        let more = ClassSchema("More", "x: int")
        let text = message { try store.define([more]) }
        #expect(text == "the schema has 60001 classes; the maximum is 60000")
        #expect(store.schema.find("More") == nil)
        try store.write { try store.create("C0", .dictionary(["x": .int(8)])) }
        #expect(try store.objects("C0").filtered("x == 8").count() == 1)
    }

    @Test func `A file has up to 4,096 snapshots at the same time`() throws {
        let folder = TemporaryFolder()
        let store = try Store.file(folder.file("a.moonpool"), [ClassSchema("A", "x: int")])
        var held: [StoreView] = []
        let error = storeError(.tooManyVersions) {
            for number in 0..<5000 {
                try store.write { try store.create("A", .dictionary(["x": .int(Int64(number))])) }
                held.append(try store.frozenView())
            }
        }
        #expect(error?.message.contains("4096") == true, "\(error?.message ?? "")")
        // The store itself also uses a reader.
        #expect((4090...4096).contains(held.count), "\(held.count)")
        for (number, view) in held.enumerated() where number % 500 == 0 {
            let classSchema = try view.schema.require("A")
            #expect(try Results(.frozen(view), all: classSchema).count() == number + 1)
        }
        held = []
        try store.write { try store.create("A", .dictionary(["x": .int(1)])) }
        #expect(try store.verify().isEmpty)
    }

    @Test(arguments: [1 << 20, 8 << 20])
    func `A file grows to its maximum size, and is unchanged beyond`(size: Int) throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.moonpool")
        let store = try Store.file(
            path, [ClassSchema("A", "text: string")], history: 0, maximumSize: size)
        let text = Value.string(String(repeating: "x", count: 30_000))
        var count = 0
        let error = storeError(.diskFull) {
            while true {
                try store.write { try store.create("A", .dictionary(["text": text])) }
                count += 1
            }
        }
        #expect(error?.message.contains("maximum size") == true, "\(error?.message ?? "")")
        #expect(count * 30_000 > size / 2)
        #expect(try store.objects("A").count() == count)
        #expect(try store.verify().isEmpty)
        let status = try FileManager.default.attributesOfItem(atPath: path)
        #expect((status[.size] as? Int ?? 0) <= size)
    }

    @Test func `Strings and data have up to 256 MiB`() throws {
        let store = try Store.temporary([
            ClassSchema("A", "data: data?, list: data[], mixed: mixed")
        ])
        // Zeros cost no memory until they are copied.
        let large = Value.data([UInt8](repeating: 0, count: StoreLimits.valueBytes + 1))
        try store.write {
            for values: ValueMap in [
                ["data": large], ["list": .list([large])], ["mixed": large],
                ["mixed": .list([large])],
            ] {
                let text = message { try store.create("A", .dictionary(values)) }
                #expect(text.contains("268435457 bytes; the maximum is 268435456"))
            }
            #expect(try store.objects("A").count() == 0)
            let object = try store.create("A", .list([.data([1])]))
            #expect(message { try object.set("data", large) } != "")
            #expect(message { try object.list("list").append([large]) } != "")
        }
    }

    @Test func `Keys of maps have up to 256 MiB, and long keys are found`() throws {
        let store = try Store.temporary([
            ClassSchema("A", "id: string primary, map: int{}, set: string<>, mixed: mixed")
        ])
        let long = String(repeating: "k", count: 1 << 18)
        try store.write {
            try store.create(
                "A",
                .dictionary([
                    "id": .string(long), "map": .dictionary([long: .int(1)]),
                    "set": .list([.string(long), .string(long + "x")]),
                    "mixed": .dictionary([long: .int(2)]),
                ]))
        }
        let object = try #require(try store.object("A", primaryKey: .string(long)))
        #expect(try object.map("map").value(forKey: long) == .int(1))
        #expect(try object.set("set").contains(.string(long + "x")))
        #expect(try store.objects("A").filtered("mixed['\(long)'] == 2").count() == 1)
        #expect(
            storeError(.duplicateKey) {
                try store.write { _ = try store.create("A", .list([.string(long)])) }
            } != nil)

        let large = String(repeating: "k", count: StoreLimits.valueBytes + 1)
        try store.write {
            for values: ValueMap in [
                ["id": .string(large)], ["id": .string(""), "map": .dictionary([large: .int(1)])],
                ["id": .string(""), "mixed": .dictionary([large: .int(1)])],
                ["id": .string(""), "set": .list([.string(large)])],
            ] {
                let text = message { try store.create("A", .dictionary(values)) }
                #expect(text.contains("268435457 bytes; the maximum is 268435456"))
            }
            #expect(message { try object.map("map").set(.int(1), forKey: large) } != "")
        }
        #expect(try store.objects("A").count() == 1)
        #expect(try store.verify().isEmpty)
    }

    @Test func `The article states the checked limits`() throws {
        let numbers = [
            "properties of a class, backlinks included": StoreLimits.properties,
            "properties that a class has had in total": ColumnID.limit - 1,
            "classes of a store": StoreLimits.classes,
            "classes that a store has had in total": Int(TableID.limit) - 2,
            "bytes of the name of a class or property": StoreLimits.nameBytes,
            "properties of one index over several": 8,
            "bytes of a string, of data, of a map key, of a mixed value": StoreLimits.valueBytes,
            "bytes of a primary key, of an indexed string, of a set element":
                StoreLimits.valueBytes,
            "nested lists and maps in a mixed value": StoreLimits.nesting,
            "nested tables in the values of one `create`": StoreLimits.nesting,
            "nested embedded objects": StoreLimits.nesting,
            "ints": 64, "digits of a decimal": 34, "steps of a key path": 100,
            "paths of a key path with `*`": 1000,
            "levels of parentheses in a predicate": 100, "words of a full-text search": 64,
            "consecutive writes in which observers trigger each other":
                WriteRounds.maximum,
            "snapshots of one file at the same time": 4096,
            "processes that write at the same time": 1,
        ]
        let texts = ["elements of a list, set or map", "dates", "size of a file", "what", "---"]
        let article = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/ObjectStore/ObjectStore.docc/Limits.md")
        var found: Set<String> = []
        for line in try String(contentsOf: article, encoding: .utf8).split(separator: "\n")
        where line.hasPrefix("|") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            if texts.contains(cells[0]) { continue }
            let digits = cells[1].prefix { $0 != " " }.filter { $0 != "," }
            #expect(Int(digits) == numbers[cells[0]], "\(cells[0])")
            found.insert(cells[0])
        }
        #expect(found == Set(numbers.keys))
    }
}
