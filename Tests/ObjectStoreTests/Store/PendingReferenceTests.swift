import ObjectStore
import Testing

/// References to objects that an open write has created, and to results.
@Suite struct PendingReferenceTests {
    private let pair: StorePair
    private var store: Store { pair.store }
    private var other: Store { pair.other }

    init() throws {
        pair = try StorePair([ClassSchema("Dog", "id: int primary, marks: int[], friends: Dog[]")])
    }

    private func create(_ id: Int64) throws -> LiveObject {
        try store.create(
            "Dog", .dictionary(["id": .int(id), "marks": .list([.int(id), .int(7)])]))
    }

    private func kinds() throws -> [VersionPin.Kind] { try store.pins().map(\.kind) }

    @Test func `a reference to a new object resolves after the commit`() throws {
        try store.beginWrite()
        let dog = try create(1)
        let object = try store.reference(to: .object(dog))
        let list = try store.reference(to: .collection(dog.list("marks")))
        #expect(object.isOfOpenWrite)
        let error = storeError(.alreadyInWrite) { _ = try other.resolve(object) }
        #expect(error?.message.contains("open write transaction") == true)
        #expect(!object.isResolved)
        // In the write itself, the object already exists.
        guard case .object(let own)? = try store.resolve(store.reference(to: .object(dog))) else {
            Issue.record("not found in its own write")
            return
        }
        #expect(own == dog)
        try store.commitWrite()

        guard case .object(let found)? = try other.resolve(object) else {
            Issue.record("no object")
            return
        }
        #expect(try found.value("id") == .int(1))
        guard case .collection(let marks)? = try other.resolve(list) else {
            Issue.record("no list")
            return
        }
        #expect(try marks.count() == 2)
        _ = storeError(.invalidArgument) { _ = try other.resolve(object) }
    }

    @Test func `a reference to an object of a canceled write resolves to nil`() throws {
        try store.beginWrite()
        let references = try [
            store.reference(to: .object(create(1))),
            store.reference(to: .collection(create(2).list("marks"))),
        ]
        try store.cancelWrite()
        // Another object reuses the row.
        try store.write { _ = try create(3) }
        for reference in references {
            #expect(!reference.isOfOpenWrite)
            #expect(try other.resolve(reference) == nil)
            #expect(reference.isResolved)
        }
        try store.beginWrite()
        let last = try store.reference(to: .object(create(4)))
        store.close()
        #expect(try other.resolve(last) == nil)
    }

    @Test func `results of a new collection have no reference`() throws {
        let old = try store.write { try create(1) }
        try store.beginWrite()
        let dog = try create(2)
        let friends = try dog.list("friends")
        let error = storeError(.alreadyInWrite) {
            _ = try store.reference(to: .results(Results(friends)))
        }
        #expect(error?.message.contains("open write") == true)
        let marks = try CollectionValues(dog.list("marks")).sorted()
        _ = storeError(.alreadyInWrite) { _ = try store.reference(to: .values(marks)) }
        _ = try store.reference(to: .values(CollectionValues(old.list("marks")).sorted()))
        _ = try store.reference(to: .results(Results(old.list("friends"))))
        _ = try store.reference(to: .results(store.objects("Dog")))
        try store.commitWrite()
        _ = try store.reference(to: .results(Results(friends)))
    }

    @Test func `a reference to results keeps their version until it is resolved or released`()
        throws
    {
        let dog = try store.write { try create(1) }
        let version = store.version
        let holder = VersionHolder(script: "zoo.lua", location: "zoo.lua:7")
        let plain = try [
            store.reference(to: .object(dog)), store.reference(to: .collection(dog.list("marks"))),
            store.reference(to: .store(.store(store))),
        ]
        var dropped: ThreadSafeReference? = try store.reference(
            to: .results(store.objects("Dog")), for: holder)
        let resolved = try store.reference(to: .results(store.objects("Dog")), for: holder)
        for id in 2...9 { try store.write { _ = try create(Int64(id)) } }
        try other.refresh()

        let pins = try store.pins()
        #expect(pins.map(\.kind) == [.reference, .reference])
        #expect(pins.map(\.version) == [version, version])
        #expect(pins.first?.summary == "a reference of zoo.lua:7")
        #expect((pins.first?.bytes ?? 0) > 0)
        #expect(dropped?.isResolved == false)
        dropped = nil
        #expect(try kinds() == [.reference])
        guard case .results(let results)? = try other.resolve(resolved) else {
            Issue.record("no results")
            return
        }
        #expect(try results.count() == 9, "live in the store that resolved it")
        #expect(try kinds() == [])
        #expect(plain.count == 3)
    }
}
