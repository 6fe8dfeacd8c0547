/// Values by name: the entries of a map, or the values of a new object by property.
///
/// Names are equal if their bytes are. A Swift dictionary with strings as keys would merge names that differ only in
/// their Unicode normalization ("é" as one scalar or as two), which are different keys in a store.
public struct ValueMap: Hashable, Sendable {
    private var entries: [TextKey: Value]

    /// Creates an empty map.
    public init() { entries = [:] }

    /// Creates a map of entries; of several with the same name, the first counts.
    public init(_ entries: some Sequence<(key: String, value: Value)>) {
        self.entries = Dictionary(
            entries.lazy.map { (TextKey($0.key), $0.value) },
            uniquingKeysWith: { first, _ in first })
    }

    /// Creates a map of entries, whose names must differ.
    public init(uniqueKeysWithValues entries: some Sequence<(String, Value)>) {
        self.entries = Dictionary(
            uniqueKeysWithValues: entries.lazy.map { (TextKey($0.0), $0.1) })
    }

    /// Creates a map of the entries of a dictionary.
    public init(_ entries: [String: Value]) {
        self.entries = Dictionary(
            uniqueKeysWithValues: entries.lazy.map { (TextKey($0.key), $0.value) })
    }

    /// The number of entries.
    public var count: Int { entries.count }
    /// Whether there are no entries.
    public var isEmpty: Bool { entries.isEmpty }
    /// The names, in no particular order.
    public var keys: some Sequence<String> { entries.keys.lazy.map(\.text) }
    /// The values, in no particular order.
    public var values: some Sequence<Value> { entries.values }

    /// The value of a name; nil if there is none.
    public subscript(name: String) -> Value? {
        get { entries[TextKey(name)] }
        set { entries[TextKey(name)] = newValue }
    }

    /// Sets the value of a name, and returns the previous one.
    @discardableResult  // because: most callers do not need the previous value
    public mutating func updateValue(_ value: Value, forKey name: String) -> Value? {
        entries.updateValue(value, forKey: TextKey(name))
    }

    /// Removes a name, and returns its value.
    @discardableResult  // because: most callers do not need the value
    public mutating func removeValue(forKey name: String) -> Value? {
        entries.removeValue(forKey: TextKey(name))
    }

    /// Removes all entries.
    public mutating func removeAll() { entries.removeAll() }

    /// Reserves space for a number of entries.
    public mutating func reserveCapacity(_ count: Int) { entries.reserveCapacity(count) }

    /// Returns a map with the same names and transformed values.
    public func mapValues(_ transform: (Value) throws -> Value) rethrows -> ValueMap {
        var result = ValueMap()
        result.entries = try entries.mapValues(transform)
        return result
    }

    /// Returns a map with the entries of both; `combine` chooses between the values of the same name.
    public func merging(
        _ other: ValueMap, uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows -> ValueMap {
        var result = self
        try result.entries.merge(other.entries, uniquingKeysWith: combine)
        return result
    }

    /// Returns a map with the entries for which `isIncluded` returns true.
    public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> ValueMap {
        var result = ValueMap()
        result.entries = try entries.filter { try isIncluded((key: $0.key.text, value: $0.value)) }
        return result
    }

    /// Returns a Swift dictionary with transformed values.
    ///
    /// Of names that Swift considers equal, the first in byte order counts.
    public func dictionary<T>(_ transform: (Value) throws -> T) rethrows -> [String: T] {
        try Dictionary(
            inByteOrder.map { ($0.key, try transform($0.value)) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The entries in byte order of their names.
    public var inByteOrder: [(key: String, value: Value)] {
        sorted { $0.key.precedesInBytes($1.key) }
    }
}

extension ValueMap: Sequence {
    /// Returns an iterator over the entries, in no particular order.
    public func makeIterator() -> some IteratorProtocol<(key: String, value: Value)> {
        entries.lazy.map { (key: $0.key.text, value: $0.value) }.makeIterator()
    }
}

extension ValueMap: ExpressibleByDictionaryLiteral {
    /// Creates a map of these entries, whose names must differ.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(elements.lazy.map { (key: $0, value: $1) })
    }
}

/// A text as a key of dictionaries and sets, which equals only a text of the same bytes.
package struct TextKey: Hashable, Sendable {
    /// The text.
    package let text: String

    /// Creates a key.
    package init(_ text: String) { self.text = text }

    /// Returns whether the bytes are the same.
    package static func == (left: TextKey, right: TextKey) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Hashes the text; texts that Swift considers equal have equal hashes.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
