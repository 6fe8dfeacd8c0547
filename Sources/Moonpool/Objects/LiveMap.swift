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
    let content: LiveContent<ObjectStore.LiveMap, [(key: String, value: Element)]>

    init(_ map: ObjectStore.LiveMap, _ context: ModelContext) { content = .stored(map, context) }

    /// Creates a map to assign to a property.
    ///
    /// For a repeated key, the last value is used.
    public init(dictionaryLiteral elements: (String, Element)...) {
        content = .literal(elements.map { ($0, $1) })
    }

    /// Creates a map to assign to a property.
    public init(_ values: [String: Element]) { content = .literal(Array(values)) }

    func engineValues(in context: StoredContext) throws -> ValueMap {
        var values = ValueMap()
        switch content {
        case .stored(let map, let own):
            for (key, value) in try map.entries() {
                values[key] = try context.context.received([value], from: own)[0]
            }
        case .literal(let elements):
            for (key, value) in elements { values[key] = try value._element(in: context).value }
        }
        return values
    }

    private func live(_ value: EngineValue, _ context: ModelContext) throws -> Element.LiveForm {
        try Element._live(StoredElement(value), in: StoredContext(context))
    }

    /// The number of entries.
    public var count: Int { content.read { engine, _ in try engine.count() } }
    /// The keys in ascending order.
    public var keys: [String] { content.read { map, _ in try map.keys() } }
    /// The value of a key; nil if the key does not exist.
    ///
    /// Assigning nil removes the key.
    public subscript(key: String) -> Element.LiveForm? {
        get {
            content.read { map, context in try map.value(forKey: key).map { try live($0, context) }
            }
        }
        nonmutating set {
            content.change { map, context in
                if let newValue {
                    try map.set(Element._element(of: newValue, in: context).value, forKey: key)
                } else {
                    _ = try map.removeValue(forKey: key)
                }
            }
        }
    }
    /// Removes a key and its value.
    public func removeValue(forKey key: String) {
        content.change { map, _ in _ = try map.removeValue(forKey: key) }
    }
    /// Removes all entries.
    public func removeAll() { content.change { map, _ in try map.removeAll() } }
    /// Replaces all entries.
    public func replaceAll(with values: [String: Element.LiveForm]) {
        content.change { map, context in
            let values = try values.mapValues { try Element._element(of: $0, in: context).value }
            try map.removeAll()
            for (key, value) in values { try map.set(value, forKey: key) }
        }
    }
    /// Returns the plain values.
    ///
    /// Throws `invalid_object` if the owner was deleted, `closed`.
    public func detached() throws -> [String: Element] {
        let (map, context) = try content.stored
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
        content.change { try $0.set(value._element(in: $1).value, forKey: key) }
    }
}

extension LiveMap: Sequence {
    /// Returns a copy of the current entries.
    public func makeIterator() -> AnyIterator<(key: String, value: Element.LiveForm)> {
        content.iterator({ try $0.entries() }) {
            ($0.key, try Element._live(StoredElement($0.value), in: $1))
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
