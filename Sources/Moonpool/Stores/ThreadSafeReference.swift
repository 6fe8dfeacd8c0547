import ObjectStore

/// A reference that passes a live value to another store of the same file, on any thread.
///
/// Results keep their version readable until the reference is resolved or released. A single object does not need a
/// reference, because its ``Live/objectID`` is valid in every store of the file.
///
/// ```swift
/// let reference = try ThreadSafeReference(to: store.all(Dog.self).where { $0.age > 2 })
/// Task.detached {
///     let other = try Store(.file("zoo.moonpool"), models: Dog.self)
///     print(try other.resolve(reference)?.count ?? 0)
/// }
/// ```
public struct ThreadSafeReference<Value: ThreadConfined>: Sendable {
    let content: ObjectStore.ThreadSafeReference
    let words: QueryWords

    /// Creates a reference, which is resolved once.
    ///
    /// Throws `invalid_object` for a deleted value, `already_in_write` for a value that the open write has created,
    /// `closed`.
    public init(to value: Value) throws {
        let confined = try value._confined
        content = try confined.context.engine.reference(to: confined.value)
        words = confined.words
    }
}

/// A live object, results or a live collection, which belong to their store's actor.
///
/// Only types of this library conform.
public protocol ThreadConfined {
    /// The value in the form of a reference.
    var _confined: ConfinedValue { get throws }
    /// Returns the value in another store.
    static func _resolved(_ value: ConfinedValue) throws -> Self?
}

/// The content of a ``ThreadSafeReference``.
public struct ConfinedValue {
    let context: ModelContext
    let value: ReferencedValue
    var words = QueryWords()
}

extension Store {
    /// Returns the referenced value in this store; nil if it was deleted, or belongs to another file.
    ///
    /// The store refreshes first if it has not reached the version of the reference. Throws `invalid_argument` for a
    /// reference that is already resolved, `already_in_write` for a value that an open write of another store has
    /// created, `closed`.
    public func resolve<R: ThreadConfined>(_ reference: ThreadSafeReference<R>) throws -> R? {
        guard let value = try context.engine.resolve(reference.content) else { return nil }
        return try R._resolved(
            ConfinedValue(context: context, value: value, words: reference.words))
    }
}

extension Live: ThreadConfined {
    /// The object.
    public var _confined: ConfinedValue {
        ConfinedValue(
            context: modelTable.context, value: .object(modelTable.liveObject(objectKey)))
    }
    /// Returns the object in another store.
    public static func _resolved(_ value: ConfinedValue) throws -> Live? {
        guard case .object(let object) = value.value else { return nil }
        return Live(try value.context.table(M.self), object.key)
    }
}

extension Results: ThreadConfined {
    /// The results.
    public var _confined: ConfinedValue {
        ConfinedValue(context: table.context, value: .results(engineResults), words: words)
    }
    /// Returns the results in another store.
    public static func _resolved(_ value: ConfinedValue) throws -> Results? {
        guard case .results(let results) = value.value else { return nil }
        return Results(try value.context.table(M.self), results, value.words)
    }
}

extension BacklinkResults: ThreadConfined {
    /// The results.
    public var _confined: ConfinedValue {
        ConfinedValue(context: table.context, value: .results(content))
    }
    /// Returns the results in another store.
    public static func _resolved(_ value: ConfinedValue) throws -> BacklinkResults? {
        guard case .results(let results) = value.value else { return nil }
        return BacklinkResults(try value.context.table(M.self), results)
    }
}

extension LiveList: ThreadConfined {
    /// The list.
    public var _confined: ConfinedValue {
        get throws {
            let (list, context) = try content.stored
            return ConfinedValue(context: context, value: .collection(list))
        }
    }
    /// Returns the list in another store.
    public static func _resolved(_ value: ConfinedValue) throws -> LiveList? {
        guard case .collection(let list as ObjectStore.LiveList) = value.value else { return nil }
        return LiveList(list, value.context)
    }
}

extension LiveSet: ThreadConfined {
    /// The set.
    public var _confined: ConfinedValue {
        get throws {
            let (set, context) = try content.stored
            return ConfinedValue(context: context, value: .collection(set))
        }
    }
    /// Returns the set in another store.
    public static func _resolved(_ value: ConfinedValue) throws -> LiveSet? {
        guard case .collection(let set as ObjectStore.LiveSet) = value.value else { return nil }
        return LiveSet(set, value.context)
    }
}

extension LiveMap: ThreadConfined {
    /// The map.
    public var _confined: ConfinedValue {
        get throws {
            let (map, context) = try content.stored
            return ConfinedValue(context: context, value: .collection(map))
        }
    }
    /// Returns the map in another store.
    public static func _resolved(_ value: ConfinedValue) throws -> LiveMap? {
        guard case .collection(let map as ObjectStore.LiveMap) = value.value else { return nil }
        return LiveMap(map, value.context)
    }
}
