/// A date in Realm's representation.
///
/// Before 1970 both parts are zero or negative.
package struct RealmTimestamp: Hashable, Sendable {
    /// Seconds since 1970-01-01T00:00:00Z.
    package let seconds: Int64
    /// The nanoseconds in addition to the seconds.
    package let nanoseconds: Int64

    /// Creates a date.
    package init(seconds: Int64, nanoseconds: Int64) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}

/// A decimal number: IEEE 754 decimal128 in the binary encoding.
package struct RealmDecimal: Hashable, Sendable {
    /// Sign, exponent and upper digits.
    package let high: UInt64
    /// Lower digits.
    package let low: UInt64

    /// Creates a decimal number.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// A UUID in the byte order of its text.
package struct RealmUUID: Hashable, Sendable {
    /// The first 8 bytes, most significant first.
    package let high: UInt64
    /// The last 8 bytes, most significant first.
    package let low: UInt64

    /// Creates a UUID.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// An object id of 12 bytes.
package struct RealmObjectID: Hashable, Sendable {
    /// The first 8 bytes, most significant first.
    package let high: UInt64
    /// The last 4 bytes, most significant first.
    package let low: UInt32

    /// Creates an object id.
    package init(high: UInt64, low: UInt32) {
        self.high = high
        self.low = low
    }
}

/// A link to an object.
package struct RealmLink: Hashable, Sendable {
    /// The index of the target class in ``RealmFile/classes``; -1 if the file does not have the class.
    package let target: Int
    /// The key of the object in that class.
    package let key: Int64

    /// Creates a link.
    package init(target: Int, key: Int64) {
        self.target = target
        self.key = key
    }
}

/// An entry of a dictionary, or a name and a value in a row of an old subtable.
package struct RealmEntry: Hashable, Sendable {
    /// The key: a string, or an integer in dictionaries with integer keys.
    package let key: RealmValue
    /// The value.
    package let value: RealmValue

    /// Creates an entry.
    package init(key: RealmValue, value: RealmValue) {
        self.key = key
        self.value = value
    }
}

/// A value of a Realm file.
package enum RealmValue: Hashable, Sendable {
    /// No value, or a link whose target was not synchronized.
    case null
    /// A boolean.
    case bool(Bool)
    /// A 64-bit integer.
    case int(Int64)
    /// A single-precision number.
    case float(Float)
    /// A double-precision number.
    case double(Double)
    /// Text.
    case string(String)
    /// The bytes of a string that is not UTF-8.
    case malformedString([UInt8])
    /// Binary data.
    case binary([UInt8])
    /// A date.
    case timestamp(RealmTimestamp)
    /// A decimal number.
    case decimal(RealmDecimal)
    /// An object id.
    case objectID(RealmObjectID)
    /// A UUID.
    case uuid(RealmUUID)
    /// A link.
    case link(RealmLink)
    /// The elements of a list.
    case list([RealmValue])
    /// The elements of a set, in the order of the file.
    case set([RealmValue])
    /// The entries of a dictionary, in the order of the file.
    case dictionary([RealmEntry])
    /// A row of a subtable, which exists in formats below 10.
    case object([RealmEntry])
}

extension RealmDecimal {
    private static let bias = 6176
    /// The value of leaves of width 0.
    static let zero = RealmDecimal(false, 0, 0)

    private init(_ isNegative: Bool, _ coefficient: UInt64, _ exponent: Int) {
        self.init(
            high: (isNegative ? 1 << 63 : 0) | UInt64(exponent + Self.bias) << 49, low: coefficient)
    }

    /// Converts a decimal32 to a decimal128.
    init(bits32 bits: UInt32) {
        let isNegative = bits >> 31 == 1
        if bits >> 29 & 3 != 3 {
            self.init(isNegative, UInt64(bits & 0x7F_FFFF), Int(bits >> 23 & 0xFF) - 101)
        } else if bits >> 27 & 0xF != 0xF {
            self.init(
                isNegative, UInt64(bits & 0x1F_FFFF | 0x80_0000), Int(bits >> 21 & 0xFF) - 101)
        } else {
            self.init(special: bits >> 26 & 1 == 1, isNegative)
        }
    }

    /// Converts a decimal64 to a decimal128.
    init(bits64 bits: UInt64) {
        let isNegative = bits >> 63 == 1
        if bits >> 61 & 3 != 3 {
            self.init(isNegative, bits & (1 << 53 - 1), Int(bits >> 53 & 0x3FF) - 398)
        } else if bits >> 59 & 0xF != 0xF {
            self.init(isNegative, bits & (1 << 51 - 1) | 1 << 53, Int(bits >> 51 & 0x3FF) - 398)
        } else {
            self.init(special: bits >> 58 & 1 == 1, isNegative)
        }
    }

    private init(special isNotANumber: Bool, _ isNegative: Bool) {
        self.init(
            high: (isNegative ? 1 << 63 : 0) | (isNotANumber ? 0x7C : 0x78) << 56, low: 0)
    }

    /// Whether this is not a number.
    package var isNotANumber: Bool { high >> 58 & 0x1F == 0x1F }
    /// Whether this is infinite.
    package var isInfinite: Bool { high >> 58 & 0x1F == 0x1E }
    /// Whether the number is negative.
    package var isNegative: Bool { high >> 63 == 1 }

    /// The coefficient and the power of ten of a finite number.
    package var parts: (coefficient: UInt128, exponent: Int) {
        // The alternative encoding has coefficients that are too large, which count as zero.
        if high >> 61 & 3 == 3 { return (0, Int(high >> 47 & 0x3FFF) - Self.bias) }
        return (
            UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low),
            Int(high >> 49 & 0x3FFF) - Self.bias
        )
    }
}
