import ObjectStore

/// A value of the simple reference evaluator.
enum PlainValue: Hashable {
    /// No value, such as the minimum of an empty list; it satisfies no condition.
    case nothing
    case null
    case int(Int64)
    case real(Double)
    case bool(Bool)
    case text(String)
    case bytes([UInt8])
    case date(Int64)
    /// An object of a class by its index.
    case link(String, Int)

    /// -1, 0, 1, or nil without an order.
    static func order(_ left: PlainValue, _ right: PlainValue) -> Int? {
        func order<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }
        switch (left, right) {
        case (.int(let a), .int(let b)), (.date(let a), .date(let b)): return order(a, b)
        case (.int(let a), .real(let b)): return wholeOrder(a, b)
        case (.real(let a), .int(let b)): return -wholeOrder(b, a)
        case (.real(let a), .real(let b)):
            // NaN equals itself and comes first.
            if a.isNaN || b.isNaN { return a.isNaN ? (b.isNaN ? 0 : -1) : 1 }
            return order(a, b)
        case (.bool(let a), .bool(let b)): return a == b ? 0 : a ? 1 : -1
        case (.text(let a), .text(let b)): return bytes(Array(a.utf8), Array(b.utf8))
        case (.bytes(let a), .bytes(let b)): return bytes(a, b)
        case (.link(let a, let x), .link(let b, let y)):
            return a == b && x == y ? 0 : nil
        default: return nil
        }
    }

    /// NaN comes first; a double outside of the range of integers comes before or after all
    /// integers.
    private static func wholeOrder(_ a: Int64, _ b: Double) -> Int {
        if b.isNaN || b < -0x1p63 { return 1 }
        if b >= 0x1p63 { return -1 }
        let whole = Int64(b.rounded(.down))
        return a < whole ? -1 : a > whole ? 1 : Double(whole) < b ? -1 : 0
    }

    private static func bytes(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
    }

    /// Whether `left sign right` is true.
    static func holds(_ left: PlainValue, _ sign: String, _ right: PlainValue) -> Bool {
        if left == .nothing || right == .nothing { return false }
        if left == .null || right == .null {
            return sign == "==" ? left == right : sign == "!=" ? left != right : false
        }
        let order = order(left, right)
        return switch sign {
        case "==": order == 0
        case "!=": order != 0
        case "<": order == -1
        case "<=": order == -1 || order == 0
        case ">": order == 1
        default: order == 1 || order == 0
        }
    }

    /// Whether `left operator right` is true for a text operator.
    static func searches(_ left: PlainValue, _ operation: String, _ part: String) -> Bool {
        guard case .text(let text) = left else { return false }
        let ignoresCase = operation.hasSuffix("[c]")
        let (characters, pattern) = (
            groups(text, ignoresCase), groups(part, ignoresCase).flatMap { $0 }
        )
        let (a, b) = (characters.flatMap { $0 }, pattern)
        if operation.hasPrefix("==") { return a == b }
        if operation.hasPrefix("beginswith") { return a.starts(with: b) }
        if operation.hasPrefix("endswith") { return a.reversed().starts(with: b.reversed()) }
        if operation.hasPrefix("contains") {
            return b.isEmpty || a.indices.contains { a[$0...].starts(with: b) }
        }
        return isLike(characters[...], pattern[...])
    }

    /// The code points of each character, folded through uppercase, which gives the same result for the texts of
    /// ``RandomWorld``.
    private static func groups(_ text: String, _ ignoresCase: Bool) -> [[UInt32]] {
        text.unicodeScalars.map { scalar in
            guard ignoresCase else { return [scalar.value] }
            let capitals = scalar.properties.uppercaseMapping.unicodeScalars
            return capitals.flatMap { $0.properties.lowercaseMapping.unicodeScalars.map(\.value) }
        }
    }

    private static func isLike(
        _ text: ArraySlice<[UInt32]>, _ pattern: ArraySlice<UInt32>
    ) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == UInt32(ascii: "*") {
            return isLike(text, pattern.dropFirst())
                || (!text.isEmpty && isLike(text.dropFirst(), pattern))
        }
        guard let character = text.first else { return false }
        if first == UInt32(ascii: "?") { return isLike(text.dropFirst(), pattern.dropFirst()) }
        return pattern.starts(with: character)
            && isLike(text.dropFirst(), pattern.dropFirst(character.count))
    }

    /// Nil first, then by value.
    static func precedes(_ left: PlainValue, _ right: PlainValue) -> Int {
        switch (left, right) {
        case (.null, .null), (.nothing, .nothing), (.null, .nothing), (.nothing, .null): 0
        case (.null, _), (.nothing, _): -1
        case (_, .null), (_, .nothing): 1
        default: order(left, right) ?? 0
        }
    }

    static func calculate(_ left: PlainValue, _ sign: String, _ right: PlainValue) -> PlainValue {
        if left == .nothing || right == .nothing { return .nothing }
        if case .int(let a) = left, case .int(let b) = right, sign != "/" {
            let exact =
                sign == "+"
                ? a.addingReportingOverflow(b)
                : sign == "-"
                    ? a.subtractingReportingOverflow(b) : a.multipliedReportingOverflow(by: b)
            if !exact.overflow { return .int(exact.partialValue) }
        }
        func number(_ value: PlainValue) -> Double? {
            switch value {
            case .int(let number): Double(number)
            case .real(let number): number
            default: nil
            }
        }
        guard let a = number(left), let b = number(right) else { return .null }
        return .real(sign == "+" ? a + b : sign == "-" ? a - b : sign == "*" ? a * b : a / b)
    }

    /// `@sum` and the other aggregates.
    static func aggregate(_ operation: String, _ values: [PlainValue]) -> PlainValue {
        let values = values.filter { $0 != .null && $0 != .nothing }
        switch operation {
        case "@sum": return values.reduce(.int(0)) { calculate($0, "+", $1) }
        case "@avg":
            return values.isEmpty
                ? .nothing
                : calculate(aggregate("@sum", values), "/", .int(Int64(values.count)))
        default:
            let sign = operation == "@min" ? "<" : ">"
            let numbers = values.filter {
                if case .real(let real) = $0 { !real.isNaN } else { true }
            }
            return numbers.reduce(.nothing) {
                $0 == .nothing || holds($1, sign, $0) ? $1 : $0
            }
        }
    }
}

extension UInt32 {
    fileprivate init(ascii: Unicode.Scalar) { self = ascii.value }
}
