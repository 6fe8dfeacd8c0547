/// A question about the values of one column, asked of a whole cluster at once.
///
/// Null rows never match, except `isNull` and the two forms of "not equal", which they always match.
/// Doubles compare as IEEE says: NaN equals nothing.
package enum ColumnTest: Sendable, Hashable {
    case isNull
    case notNull
    /// Integers; links as their key, `list` columns as their count.
    case int(Comparison, Int64)
    /// Both ends included.
    case intBetween(Int64, Int64)
    case intIn(IntSet)
    /// Floats and doubles, both compared as doubles.
    case double(Comparison, Double)
    /// Both ends included.
    case doubleBetween(Double, Double)
    case doubleIn(RealSet)
    case bool(Bool)
    case bytesEqual([UInt8])
    case bytesNotEqual([UInt8])
    case bytesPrefix([UInt8])
    case bytesSuffix([UInt8])
    case bytesContain([UInt8])
    /// In the order of their bytes.
    case bytesCompare(Comparison, [UInt8])
    case bytesIn(BytesSet)

    /// The same as ``double(_:_:)``: a float is compared as the double it is.
    package static func float(_ comparison: Comparison, _ value: Double) -> ColumnTest {
        .double(comparison, value)
    }
}

extension Comparison {
    /// Whether the comparison holds for an order: negative, zero or positive.
    @inline(__always)
    func holds(_ order: Int) -> Bool {
        switch self {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }
}
