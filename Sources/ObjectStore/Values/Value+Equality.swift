import ColumnStorage

// Equality that decides whether an assignment changes a value; the update mode "modified" and the comparison of two
// versions use it.
extension Value {
    /// Returns whether both values have the same type and are equal.
    ///
    /// This equality is stricter than that of predicates, for which the int 1 equals the double 1.0, because a mixed
    /// property keeps the type. NaN equals itself, and -0.0 equals 0.0. Strings are compared by their bytes, unlike
    /// Swift's strings, which are equal if they are canonically equivalent ("é" as one scalar or as two).
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.float(let a), .float(let b)): RealOrder.isEqual(Double(a), Double(b))
        case (.double(let a), .double(let b)): RealOrder.isEqual(a, b)
        case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
        case (.data(let a), .data(let b)): a == b
        case (.date(let a), .date(let b)): a == b
        case (.fixed(let a), .fixed(let b)): a == b
        case (.decimal(let a), .decimal(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        case (.list(let a), .list(let b)): a == b
        case (.dictionary(let a), .dictionary(let b)): a == b
        default: false
        }
    }

    /// Hashes the value, with equal hashes for equal values.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .int(let number): hasher.combine(number)
        case .double(let number): hasher.combine(RealOrder.canonical(number).bitPattern)
        case .string(let text): hasher.combine(text)
        case .date(let moment): hasher.combine(moment)
        case .fixed(let value): hasher.combine(value)
        default: hasher.combine(ValueOrder.code(self))
        }
    }
}
