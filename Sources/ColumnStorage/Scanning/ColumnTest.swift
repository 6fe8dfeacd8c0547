/// A test of the values of one column, evaluated for a whole cluster at once.
///
/// Null rows never match, except `isNull` and the two forms of "not equal", which they always match.
/// Floats and doubles compare as ``RealOrder`` defines.
package enum ColumnTest: Sendable, Hashable {
    case isNull
    case notNull
    /// A comparison of integers; links are compared by their key, `list` columns by their count.
    case int(Comparison, Int64)
    /// A range of integers, with both ends included.
    case intBetween(Int64, Int64)
    case intIn(IntSet)
    /// A comparison of floats or doubles, which are compared as doubles.
    case double(Comparison, Double)
    /// A range of doubles, with both ends included.
    case doubleBetween(Double, Double)
    case doubleIn(RealSet)
    case bool(Bool)
    case bytesEqual([UInt8])
    case bytesNotEqual([UInt8])
    case bytesPrefix([UInt8])
    case bytesSuffix([UInt8])
    case bytesContain([UInt8])
    /// A comparison by bytes.
    case bytesCompare(Comparison, [UInt8])
    case bytesIn(BytesSet)

    /// Returns the test of ``double(_:_:)``: a float is compared as the equal double.
    package static func float(_ comparison: Comparison, _ value: Double) -> ColumnTest {
        .double(comparison, value)
    }
}

extension Comparison {
    /// Returns whether the comparison holds for the sign of an order: negative, zero or positive.
    @inlinable @inline(__always)
    package func holds(_ order: Int) -> Bool {
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
