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
