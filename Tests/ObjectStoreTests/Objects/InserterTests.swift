import ColumnStorage
import ObjectStore
import Testing

@Suite struct InserterTests {
    private static let classes = [
        ClassSchema("Owner", "name: string primary"),
        ClassSchema(
            "Dog",
            "id: int primary, name: string, age: int?, weight: double, good: bool, "
                + "owner: Owner, tags: string[], chip: uuid?, born: date?, height: float?, "
                + "photo: data?",
            defaults: ["good": .bool(true)]),
    ]

    private let store: Store
    private let dog: ClassSchema

    init() throws {
        store = try Store.temporary(Self.classes)
        dog = try store.schema.require("Dog")
    }

    private func stage(_ dogs: ObjectInserter, _ id: Int64, _ name: String, _ weight: Double) {
        dogs.set(0, int: id)
        dogs.set(1, string: name)
        dogs.set(3, double: weight)
    }

    private func value(_ id: Int64, _ name: String) throws -> Value {
        let found = try #require(try store.object("Dog", primaryKey: .int(id)))
        return try found.value(name)
    }

    @Test func `an inserter creates objects with the set values and defaults`() throws {
        let chip = UUIDValue(high: 1, low: 2)
        try store.write {
            let owner = try store.create("Owner", .list([.string("Ann")]))
            let dogs = try store.inserter(of: dog)
            for id in Int64(0)..<1200 {
                stage(dogs, id, "Dog \(id)", Double(id) / 2)
                if id % 2 == 0 { dogs.set(2, int: id % 20) }
                if id % 3 == 0 { dogs.set(4, bool: false) }
                if id % 5 == 0 { dogs.set(5, .object(owner.reference)) }
                if id % 7 == 0 { dogs.set(7, .uuid(chip)) }
                try dogs.insert()
            }
        }
        #expect(try store.objects("Dog").count() == 1200)
        for id in stride(from: Int64(0), to: 1200, by: 7) {
            #expect(try value(id, "name") == .string("Dog \(id)"))
            #expect(try value(id, "age") == (id % 2 == 0 ? .int(id % 20) : .null))
            #expect(try value(id, "weight") == .double(Double(id) / 2))
            #expect(try value(id, "good") == .bool(id % 3 != 0))
            #expect(try (value(id, "owner") == .null) == (id % 5 != 0))
            #expect(try value(id, "chip") == .uuid(chip))
            #expect(try value(id, "tags") == .list([]))
        }
    }

    @Test func `values that need conversion use the general path`() throws {
        try store.write {
            let dogs = try store.inserter(of: dog)
            dogs.set(0, double: 7)  // a whole number is an int
            dogs.set(1, .string("Rex"))
            dogs.set(3, int: 12)
            dogs.set(5, .dictionary(["name": .string("Bob")]))
            dogs.set(6, .list([.string("a"), .string("b")]))
            dogs.set(7, .uuid(UUIDValue(high: 3, low: 4)))
            dogs.set(8, .date(Timestamp(microseconds: 5)))
            dogs.set(9, .float(1.5))
            dogs.set(10, .data([1, 2]))
            dogs.set(2, .null)
            try dogs.insert()
        }
        #expect(try value(7, "weight") == .double(12))
        #expect(try value(7, "tags") == .list([.string("a"), .string("b")]))
        #expect(try value(7, "chip") == .uuid(UUIDValue(high: 3, low: 4)))
        #expect(try value(7, "born") == .date(Timestamp(microseconds: 5)))
        #expect(try value(7, "height") == .float(1.5))
        #expect(try value(7, "photo") == .data([1, 2]))
        #expect(try value(7, "age") == .null)
        #expect(try value(7, "good") == .bool(true))
        #expect(try store.object("Owner", primaryKey: .string("Bob")) != nil)
    }

    @Test func `a failed creation does not affect the next object`() throws {
        try store.write {
            let dogs = try store.inserter(of: dog)
            dogs.set(0, int: 1)
            dogs.set(2, int: 99)
            #expect(storeError(.missingValue) { try dogs.insert() } != nil)
            dogs.set(0, int: 1)
            dogs.set(1, string: "Rex")
            dogs.set(3, string: "heavy")
            #expect(storeError(.typeMismatch) { try dogs.insert() } != nil)
            stage(dogs, 1, "Rex", 1)
            try dogs.insert()
            stage(dogs, 1, "Max", 2)
            #expect(storeError(.duplicateKey) { try dogs.insert() } != nil)
            dogs.set(0, int: 2)
            dogs.clear()
            stage(dogs, 3, "Cleo", 3)
            try dogs.insert()
        }
        #expect(try store.objects("Dog").count() == 2)
        #expect(try value(1, "age") == .null)
        #expect(try value(1, "name") == .string("Rex"))
        #expect(try value(3, "name") == .string("Cleo"))
    }

    @Test func `an inserter updates the object with the key`() throws {
        try store.write {
            let dogs = try store.inserter(of: dog)
            for name in ["Rex", "Max"] {
                stage(dogs, 1, name, 1)
                try dogs.insert(mode: .modified)
            }
        }
        #expect(try store.objects("Dog").count() == 1)
        #expect(try value(1, "name") == .string("Max"))
    }

    @Test func `an inserter alternates with other changes of the same class`() throws {
        try store.write {
            let dogs = try store.inserter(of: dog)
            for id in Int64(0)..<600 {
                dogs.set(0, int: 2 * id)
                dogs.set(1, string: "staged \(id)")
                let other = Value.dictionary([
                    "id": .int(2 * id + 1), "name": .string("other \(id)"), "weight": .double(1),
                ])
                let created = try store.create("Dog", other)
                if id % 3 == 0 { try store.delete(created) }
                dogs.set(3, double: 0)
                try dogs.insert()
            }
        }
        #expect(try store.objects("Dog").count() == 1000)
        #expect(try value(2 * 599, "name") == .string("staged 599"))
        #expect(try value(2 * 598 + 1, "name") == .string("other 598"))
    }

    @Test func `an inserter refuses a link to an object that was deleted after it was set`() throws
    {
        try store.write {
            let owner = try store.create("Owner", .list([.string("Ann")]))
            let dogs = try store.inserter(of: dog)
            stage(dogs, 1, "Rex", 1)
            dogs.set(5, .object(owner.reference))
            try store.delete(owner)
            #expect(storeError(.invalidObject) { try dogs.insert() } != nil)
        }
        #expect(try store.objects("Dog").count() == 0)
    }

    @Test func `an inserter ends with its write`() throws {
        let dogs = try store.write { try store.inserter(of: dog) }
        #expect(!dogs.isUsable)
        dogs.set(0, int: 1)
        dogs.set(1, string: "Rex")
        #expect(storeError(.notInWrite) { try dogs.insert() } != nil)
        try store.write {
            dogs.set(0, int: 1)
            #expect(storeError(.notInWrite) { try dogs.insert() } != nil)
        }
        #expect(storeError(.notInWrite) { _ = try store.inserter(of: dog) } != nil)
        store.close()
        dogs.set(1, string: "Rex")
        #expect(storeError(.closed) { try dogs.insert() } != nil)
    }

    @Test func `an inserter is closed if its store is released during a write`() throws {
        var opened: Store? = try Store.temporary(Self.classes)
        try opened?.beginWrite()
        let classSchema = try #require(opened?.schema.find("Dog"))
        let dogs = try #require(try opened?.inserter(of: classSchema))
        opened = nil
        #expect(!dogs.isUsable)
        stage(dogs, 1, "Rex", 1)
        #expect(storeError(.closed) { try dogs.insert() } != nil)
    }

    @Test func `a later default function applies to the next object`() throws {
        try store.write {
            let dogs = try store.inserter(of: dog)
            func add(_ id: Int64) throws {
                stage(dogs, id, "Rex", 1)
                try dogs.insert()
            }
            try add(1)
            try store.setDefault(of: "age", in: "Dog") { .int(7) }
            try add(2)
            try store.setDefault(of: "age", in: "Dog", to: nil)
            try add(3)
        }
        #expect(try value(1, "age") == .null)
        #expect(try value(2, "age") == .int(7))
        #expect(try value(3, "age") == .null)
    }

    @Test func `invalid UTF-8 is refused`() throws {
        try store.write {
            let dogs = try store.inserter(of: dog)
            let broken: [UInt8] = [0x41, 0xFF, 0x41]
            let text: [UInt8] = Array("zwölf Boxkämpfer".utf8)
            let isBrokenTaken = dogs.set(1, utf8: broken.span.bytes)
            let isNumberTaken = dogs.set(2, utf8: text.span.bytes)
            let isTextTaken = dogs.set(1, utf8: text.span.bytes)
            #expect(!isBrokenTaken && !isNumberTaken && isTextTaken)
            dogs.set(0, int: 1)
            dogs.set(3, double: 1)
            try dogs.insert()
        }
        #expect(try value(1, "name") == .string("zwölf Boxkämpfer"))
    }
}
