import ObjectStore

/// The map of a live object: reads and changes values by key in place.
///
/// ```swift
/// try await store.write { _ in rex.notes["food"] = "dry" }
/// for (key, note) in rex.notes { print(key, note) }
/// ```
///
/// A loop visits the entries at its start, in the order of the keys, even if the map changes in the meantime. Members
/// without `try` behave like those of ``Live``.
///
/// Keys are equal if their bytes are. A Swift dictionary, such as the one of ``detached()`` or of a frozen object, merges
/// keys that are equal only after Unicode normalization ("é" as one scalar or as two), and contains the value of the
/// first of them in the order of the bytes. The members of this type distinguish them.
public struct LiveMap<Element: StoredValue>: ExpressibleByDictionaryLiteral {
    private enum Content {
        case stored(ObjectStore.LiveMap, ModelContext)
        case values([(key: String, value: Element)])
    }

    private let content: Content

    init(_ map: ObjectStore.LiveMap, _ context: ModelContext) { content = .stored(map, context) }

    /// Creates a map to assign to a property.
    ///
    /// For a repeated key, the last value is used.
    public init(dictionaryLiteral elements: (String, Element)...) {
        content = .values(elements.map { ($0, $1) })
    }

    /// Creates a map to assign to a property.
    public init(_ values: [String: Element]) { content = .values(Array(values)) }

    private var stored: (map: ObjectStore.LiveMap, context: ModelContext) {
        get throws {
            guard case .stored(let map, let context) = content else {
                throw StoreError(
                    .invalidArgument, "this map is a literal; assign it to a property first")
            }
            return (map, context)
        }
    }

    var engine: ObjectStore.LiveMap { get throws { try stored.map } }
    var context: ModelContext { get throws { try stored.context } }

    func engineValues(in context: StoredContext) throws -> ValueMap {
        var values = ValueMap()
        switch content {
        case .stored(let map, let own):
            for (key, value) in try map.entries() {
                values[key] = try context.context.received([value], from: own)[0]
            }
        case .values(let elements):
            for (key, value) in elements { values[key] = try value._element(in: context).value }
        }
        return values
    }

    private func live(_ value: EngineValue, _ context: ModelContext) throws -> Element.LiveForm {
        try Element._live(StoredElement(value), in: StoredContext(context))
    }

    func read<R>(_ body: (ObjectStore.LiveMap, ModelContext) throws -> R) -> R {
        do {
            let (map, context) = try stored
            return try body(map, context)
        } catch { ModelContext.trap(error) }
    }

    func change(_ body: (ObjectStore.LiveMap, StoredContext) throws -> Void) {
        read { map, context in
            context.assign { try body(map, StoredContext(context)) }
        }
    }

    /// The number of entries.
    public var count: Int { read { map, _ in try map.count() } }
    /// Whether the map has no entries.
    public var isEmpty: Bool { count == 0 }
    /// The keys in ascending order.
    public var keys: [String] { read { map, _ in try map.keys() } }
    /// The value of a key; nil if the key does not exist.
    ///
    /// Assigning nil removes the key.
    public subscript(key: String) -> Element.LiveForm? {
        get {
            read { map, context in try map.value(forKey: key).map { try live($0, context) } }
        }
        nonmutating set {
            change { map, context in
                if let newValue {
                    try map.set(Element._element(of: newValue, in: context).value, forKey: key)
                } else {
                    _ = try map.removeValue(forKey: key)
                }
            }
        }
    }
    /// Whether the map's owner exists.
    public var isValid: Bool { (try? engine.isValid) ?? false }
    /// Whether the map's owner was deleted or its store is closed; reads register like those of the elements.
    public var isInvalidated: Bool { !isValid }
    /// Removes a key and its value.
    public func removeValue(forKey key: String) {
        change { map, _ in _ = try map.removeValue(forKey: key) }
    }
    /// Removes all entries.
    public func removeAll() { change { map, _ in try map.removeAll() } }
    /// Replaces all entries.
    public func replaceAll(with values: [String: Element.LiveForm]) {
        change { map, context in
            let values = try values.mapValues { try Element._element(of: $0, in: context).value }
            try map.removeAll()
            for (key, value) in values { try map.set(value, forKey: key) }
        }
    }
    /// Returns the plain values.
    ///
    /// Throws `invalid_object` if the owner was deleted, `closed`.
    public func detached() throws -> [String: Element] {
        let (map, context) = try stored
        return Dictionary(
            try map.entries().map {
                (
                    $0.key,
                    try Element._plain(StoredElement($0.value), in: StoredContext(context))
                )
            }, uniquingKeysWith: { first, _ in first })
    }
}

extension LiveMap where Element: EmbeddedModel {
    /// Assigns an embedded object with the values to a key.
    public func set(_ value: Element, forKey key: String) {
        change { try $0.set(value._element(in: $1).value, forKey: key) }
    }
}

extension LiveMap: Sequence {
    /// Returns a copy of the current entries.
    public func makeIterator() -> AnyIterator<(key: String, value: Element.LiveForm)> {
        let (entries, context) = read { map, context in (try map.entries(), context) }
        var index = 0
        return AnyIterator {
            guard index < entries.count else { return nil }
            defer { index += 1 }
            do { return (entries[index].key, try live(entries[index].value, context)) } catch {
                ModelContext.trap(error)
            }
        }
    }
    /// The number of entries.
    public var underestimatedCount: Int { count }
}

extension LiveMap: CustomStringConvertible {
    /// The entries.
    public var description: String {
        "[" + map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", ") + "]"
    }
}
