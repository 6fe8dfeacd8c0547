import ColumnStorage
import ObjectStore
import Testing

/// Two stores of one file with ten `Obj` of the values 0, 2, … 18, each with a link to its own `Target`.
struct ObservedWorld {
    static let classes = [
        ClassSchema(
            "Obj",
            "value: int, text: string?, link: Target, second: Target, targets: Target[], "
                + "linkings: backlinks Linking.link",
            defaults: ["value": .int(0)]),
        ClassSchema(
            "Target",
            "value: int, value2: int, link: Other, origin: backlinks Obj.link, "
                + "holders: backlinks Obj.targets",
            defaults: ["value": .int(0), "value2": .int(0)]),
        ClassSchema("Other", "value: int, next: Other", defaults: ["value": .int(0)]),
        ClassSchema("Linking", "value: int, link: Obj", defaults: ["value": .int(0)]),
        ClassSchema(
            "Holder",
            "ints: int[], names: string?[], targets: Target[], others: Other[], objects: Obj[]"),
        ClassSchema(
            "Bag",
            "ints: int<>, links: Target<>, names: int{}, things: Target{}, objects: Obj<>, "
                + "named: Obj{}"),
        ClassSchema("Keyed", "id: int primary, value: int", defaults: ["value": .int(0)]),
    ]

    let stores: StorePair
    var store: Store { stores.store }
    var other: Store { stores.other }
    let errors = ErrorLog()

    init(objects: Int = 10) throws {
        stores = try StorePair(Self.classes)
        try store.write {
            for index in 0..<objects {
                let target = try store.create("Target", .dictionary(["value": .int(Int64(index))]))
                try store.create(
                    "Obj",
                    .dictionary([
                        "value": .int(Int64(index * 2)), "link": .object(target.reference),
                    ]))
            }
        }
        stores.settle()
        try other.refresh()
        let errors = errors
        for store in [store, other] {
            store.notifications.errorHandler = { error, _ in errors.errors.append(error) }
        }
    }

    /// The object with this number, counted in the order of creation from 0, as a store sees it.
    func object(
        _ number: Int64, of className: String = "Obj", in store: Store? = nil
    ) throws -> LiveObject {
        let store = store ?? self.store
        let table = try store.schema.require(className).table
        return try #require(
            store.object(ObjectReference(table: table, key: ObjectKey(rawValue: number))))
    }

    /// Changes something on the other thread's store.
    func remotely(_ body: (Store) throws -> Void) throws {
        try other.write { try body(other) }
    }

    /// Sets `value` in the store of the object.
    func set(_ object: LiveObject, _ value: Int64) throws {
        try object.set("value", .int(value))
    }

    /// Sets an int.
    func set(_ object: LiveObject, _ name: String, _ value: Int64) throws {
        try object.set(name, .int(value))
    }
}

final class ErrorLog {
    var errors: [any Error] = []
}

/// The reports that observers received, as short text.
final class ReceivedCalls {
    var calls: [String] = []

    /// The reports since the last call.
    func news() -> [String] {
        defer { calls = [] }
        return calls
    }

    func receive(_ change: ObjectChange) throws {
        switch change.kind {
        case .deleted: calls.append("deleted")
        case .error(let error): calls.append("error \(error.code.rawValue)")
        case .change:
            try calls.append(
                change.properties.map { try "\($0.name) \($0.old.summary)>\($0.new.summary)" }
                    .joined(separator: ", "))
        }
    }

    func receive(_ notification: StoreNotification, _ store: Store) {
        calls.append(notification.rawValue)
    }
}

extension ObservedWorld {
    /// Objects of a class that match, perhaps sorted.
    func query(
        _ className: String = "Obj", _ text: String = "",
        sort: [(path: String, ascending: Bool)] = []
    ) throws -> Query {
        let schema = store.schema
        var query = Query(all: try schema.require(className))
        if !text.isEmpty { query = try query.filtered(text, [], schema: schema) }
        if !sort.isEmpty { query = try query.sorted(sort, schema: schema) }
        return query
    }

    /// The objects 1 to 4.
    func middle(sort: [(path: String, ascending: Bool)] = []) throws -> Query {
        try query("Obj", "value > 0 and value < 10", sort: sort)
    }

    /// Observes, and consumes the first call.
    func observe(
        _ query: Query, _ keyPaths: [String] = [], _ received: ReceivedCalls
    ) throws -> NotificationToken {
        let token = try store.observe(query, keyPaths: keyPaths, received.receive)
        stores.settle()
        #expect(received.news() == ["initial"])
        return token
    }

    /// Observes a list, and consumes the first call.
    func observe(
        _ list: LiveList, _ keyPaths: [String], _ received: ReceivedCalls
    ) throws -> NotificationToken {
        let token = try list.observe(keyPaths: keyPaths, received.receive)
        stores.settle()
        #expect(received.news() == ["initial"])
        return token
    }

    /// Observes a list without key paths, and consumes the first call.
    func observe(_ list: LiveList, _ received: ReceivedCalls) throws -> NotificationToken {
        try observe(list, [], received)
    }

    /// Creates a holder with the ints 0 to 9 and the first ten targets.
    func holder() throws -> LiveObject {
        try store.write {
            let targets = (0..<10).map { number -> Value in
                .object(
                    ObjectReference(
                        table: store.schema.find("Target")!.table,
                        key: ObjectKey(rawValue: number)))
            }
            return try store.create(
                "Holder",
                .dictionary(["ints": .list((0..<10).map(Value.int)), "targets": .list(targets)]))
        }
    }

    /// Returns the report of a write of the store, after one turn.
    func received(_ received: ReceivedCalls, after body: (Store) throws -> Void) throws -> [String]
    {
        try store.write { try body(store) }
        #expect(received.calls.isEmpty, "no report before the turn")
        stores.settle()
        return received.news()
    }
}

extension ReceivedCalls {
    func receive(_ change: CollectionChange) {
        switch change.kind {
        case .initial: calls.append(change.isCollectionValid ? "initial" : "initial, gone")
        case .error(let error): calls.append("error \(error.code.rawValue)")
        case .update:
            var parts: [String] = []
            for (name, positions) in [
                ("del", change.deletions), ("ins", change.insertions),
                ("mod", change.modifications), ("new", change.modificationsNew),
            ] where !positions.isEmpty {
                // The positions after the change are shown only if they differ.
                if name == "new", positions == change.modifications { continue }
                parts.append("\(name)\(positions)")
            }
            if !change.isCollectionValid { parts.append("gone") }
            calls.append(parts.joined(separator: " "))
        }
    }
}
