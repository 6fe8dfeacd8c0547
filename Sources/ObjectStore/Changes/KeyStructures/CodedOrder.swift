import ColumnStorage

/// A key and its code, a number with the same order as the value by which the keys are sorted.
struct CodedKey {
    var code: UInt64
    var key: ObjectKey
}

/// A total order of keys: by code, then by a comparison of the keys with equal codes.
///
/// Comparing codes reads no values. A structure that stores the codes beside the keys reads only the values of the key
/// that it looks up and of the keys with equal codes. (PostgreSQL calls such codes abbreviated keys.)
struct CodedOrder {
    /// Returns the code of a key; the key with the smaller code comes first.
    let code: (ObjectKey) throws -> UInt64
    /// Whether one of two keys with equal codes precedes the other.
    let precedesAmongEqual: (ObjectKey, ObjectKey) throws -> Bool

    /// The ascending order of keys, from the oldest to the newest object.
    static var byKey: CodedOrder {
        CodedOrder(code: { SortCode.of($0.rawValue) }, precedesAmongEqual: { _, _ in false })
    }

    func coded(_ key: ObjectKey) throws -> CodedKey { try CodedKey(code: code(key), key: key) }

    /// Returns whether one key precedes another.
    func precedes(_ left: CodedKey, _ right: CodedKey) throws -> Bool {
        try left.code == right.code
            ? precedesAmongEqual(left.key, right.key) : left.code < right.code
    }

    /// Returns whether one key precedes another.
    func precedes(_ left: ObjectKey, _ right: ObjectKey) throws -> Bool {
        try precedes(coded(left), coded(right))
    }

    /// Sorts keys; each value is read once if no codes are equal.
    func sorted(_ keys: [ObjectKey]) throws -> [CodedKey] {
        try keys.map(coded).sorted(by: precedes)
    }
}
