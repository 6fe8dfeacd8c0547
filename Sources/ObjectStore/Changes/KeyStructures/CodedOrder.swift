import ColumnStorage

/// A key with a code: a number that orders like the value that the key is ordered by.
struct CodedKey {
    var code: UInt64
    var key: ObjectKey
}

/// A total order of keys: by the code of each, and by a question where two codes are equal.
///
/// Comparing codes reads no values. A structure that stores the codes beside the keys reads only the values of the key
/// that it looks up and of the keys with equal codes. (PostgreSQL calls such codes abbreviated keys.)
struct CodedOrder {
    /// Of keys with different codes, the one with the smaller code precedes the other.
    let code: (ObjectKey) -> UInt64
    /// Whether one of two keys with equal codes precedes the other.
    let precedesAmongEqual: (ObjectKey, ObjectKey) -> Bool

    /// By the keys themselves, which is by age.
    static var byKey: CodedOrder {
        CodedOrder(code: { SortCode.of($0.rawValue) }, precedesAmongEqual: { _, _ in false })
    }

    func coded(_ key: ObjectKey) -> CodedKey { CodedKey(code: code(key), key: key) }

    /// Whether one key precedes another.
    func precedes(_ left: CodedKey, _ right: CodedKey) -> Bool {
        left.code == right.code
            ? precedesAmongEqual(left.key, right.key) : left.code < right.code
    }

    /// Whether one key precedes another.
    func precedes(_ left: ObjectKey, _ right: ObjectKey) -> Bool {
        precedes(coded(left), coded(right))
    }

    /// Keys in this order; each value is read once if no codes are equal.
    func sorted(_ keys: [ObjectKey]) -> [CodedKey] {
        keys.map(coded).sorted(by: precedes)
    }
}
