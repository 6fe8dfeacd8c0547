/// A map stored as one array in ascending order of the keys.
///
/// It is used for the few tables and columns of a commit, for which the hashing and the storage of a `Dictionary` would
/// cost more than their use. A lookup is a binary search, and an empty map takes no allocation. Inserting a key moves
/// all greater keys.
package struct SortedMap<Key: Comparable, Value> {
    /// A key and its value.
    package typealias Element = (key: Key, value: Value)

    @usableFromInline var elements: [Element]

    /// Creates an empty map.
    @inlinable
    package init() { elements = [] }

    /// Whether there are no keys.
    @inlinable package var isEmpty: Bool { elements.isEmpty }
    /// The number of keys.
    @inlinable package var count: Int { elements.count }
    /// The element with the smallest key.
    @inlinable package var first: Element? { elements.first }

    /// The keys, ascending.
    @inlinable
    package var keys: LazyMapSequence<[Element], Key> { elements.lazy.map { $0.key } }

    /// The values in the order of their keys.
    @inlinable
    package var values: LazyMapSequence<[Element], Value> { elements.lazy.map { $0.value } }

    /// Returns the position of the first key that is at least this one.
    @inlinable
    func index(of key: Key) -> Int {
        var low = 0
        var high = elements.count
        while low < high {
            let middle = (low &+ high) / 2
            if elements[middle].key < key { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Returns whether the key at a position is this one.
    @inlinable
    func isKey(_ key: Key, at index: Int) -> Bool {
        index < elements.count && elements[index].key == key
    }

    /// The value of a key; nil if there is none.
    @inlinable
    package subscript(key: Key) -> Value? {
        get {
            let index = index(of: key)
            return isKey(key, at: index) ? elements[index].value : nil
        }
        set {
            let index = index(of: key)
            let isKnown = isKey(key, at: index)
            if let newValue {
                if isKnown {
                    elements[index].value = newValue
                } else {
                    elements.insert((key, newValue), at: index)
                }
            } else if isKnown {
                elements.remove(at: index)
            }
        }
    }

    /// The value of a key, or another one if there is none.
    @inlinable
    package subscript(key: Key, default fallback: @autoclosure () -> Value) -> Value {
        get { self[key] ?? fallback() }
        _modify {
            let index = index(of: key)
            if !isKey(key, at: index) { elements.insert((key, fallback()), at: index) }
            yield &elements[index].value
        }
    }

    /// Removes a key, and returns its value.
    @inlinable
    @discardableResult  // because: most callers do not need the value
    package mutating func removeValue(forKey key: Key) -> Value? {
        let index = index(of: key)
        return isKey(key, at: index) ? elements.remove(at: index).value : nil
    }

    /// Removes all keys and keeps the memory.
    @inlinable
    package mutating func removeAll() { elements.removeAll(keepingCapacity: true) }

    /// Returns the elements for which `isIncluded` returns true.
    @inlinable
    package func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> SortedMap {
        var result = SortedMap()
        result.elements = try elements.filter(isIncluded)
        return result
    }
}

extension SortedMap: Sequence {
    /// Returns an iterator over the elements in the order of their keys.
    @inlinable
    package func makeIterator() -> IndexingIterator<[Element]> { elements.makeIterator() }
}

extension SortedMap: ExpressibleByDictionaryLiteral {
    /// Creates a map of these keys, each of which must occur once.
    @inlinable
    package init(dictionaryLiteral elements: (Key, Value)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
        assert(self.elements.count == elements.count, "each key of a literal occurs once")
    }
}

extension SortedMap: Equatable where Value: Equatable {
    /// Returns whether the keys and their values are the same.
    package static func == (left: SortedMap, right: SortedMap) -> Bool {
        left.elements.elementsEqual(right.elements, by: ==)
    }
}

extension SortedMap: Hashable where Key: Hashable, Value: Hashable {
    /// Hashes the keys and their values.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(elements.count)
        for (key, value) in elements {
            hasher.combine(key)
            hasher.combine(value)
        }
    }
}

extension SortedMap: Sendable where Key: Sendable, Value: Sendable {}

/// A dictionary whose changes after a mark can be reverted, the newest first.
///
/// Without a mark, a change costs one comparison more than that of a dictionary. Reverting changes takes time in
/// proportion to their number.
struct JournaledMap<Key: Hashable, Value> {
    private(set) var values: [Key: Value] = [:]
    /// The values before each change since the oldest mark.
    private var journal: [(key: Key, old: Value?)] = []
    private var isJournaling = false

    subscript(key: Key) -> Value? {
        get { values[key] }
        set {
            if isJournaling { journal.append((key, values[key])) }
            values[key] = newValue
        }
    }

    /// The value of a key, or another one if there is none.
    subscript(key: Key, default fallback: @autoclosure () -> Value) -> Value {
        get { values[key] ?? fallback() }
        _modify {
            if isJournaling { journal.append((key, values[key])) }
            yield &values[key, default: fallback()]
        }
    }

    var isEmpty: Bool { values.isEmpty }

    /// Removes all keys.
    mutating func removeAll() {
        if isJournaling {
            for (key, value) in values { journal.append((key, value)) }
        }
        values.reset()
    }

    /// Returns a mark of the present state, and records the changes after it.
    mutating func mark() -> Int {
        isJournaling = true
        return journal.count
    }

    /// Reverts all changes after a mark, which remains valid.
    mutating func rollBack(to mark: Int) {
        while journal.count > mark {
            let (key, old) = journal.removeLast()
            values[key] = old
        }
    }

    /// Keeps all changes; every mark becomes invalid.
    mutating func endMarks() {
        isJournaling = false
        journal = []
    }

    /// Removes all keys and marks at the end of a write.
    mutating func reset() {
        endMarks()
        values.reset()
    }
}

/// The capacity of a hash table up to which its memory is kept; memory that one large write needed is not kept
/// permanently.
let keptHashCapacity = 64

extension Dictionary {
    /// Removes all keys.
    mutating func reset() {
        let isSmall = capacity < keptHashCapacity
        if !isEmpty || !isSmall { removeAll(keepingCapacity: isSmall) }
    }
}
