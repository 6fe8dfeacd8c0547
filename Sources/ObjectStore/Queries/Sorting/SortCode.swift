import ColumnStorage

/// 64-bit codes that have the same order as the values.
enum SortCode {
    @inline(__always)
    static func of(_ value: Int64) -> UInt64 {
        UInt64(bitPattern: value) ^ (1 << 63)
    }

    static func int(_ code: UInt64) -> Int64 {
        Int64(bitPattern: code ^ (1 << 63))
    }

    static func double(_ code: UInt64) -> Double { RealOrder.value(ofCode: code) }

    @inline(__always)
    static func of(_ value: Double) -> UInt64 { RealOrder.code(value) }

    /// Returns the first eight bytes of a text as a number.
    static func of(_ text: [UInt8]) -> UInt64 {
        var code: UInt64 = 0
        for index in 0..<8 {
            code = code << 8 | UInt64(index < text.count ? text[index] : 0)
        }
        return code
    }

    /// Returns the code of nil, which comes before all values; in descending order, with inverted codes, after them.
    static func ofNil(ascending: Bool) -> UInt64 { ascending ? 0 : .max }
}

extension BoundPath {
    /// Returns the code of an object's value, and all bytes of a value that is longer than a code; nil if the value is
    /// nil.
    func code(_ key: ObjectKey) throws -> (code: UInt64, text: [UInt8]?)? {
        let value = try value(key)
        if isMixed { return value.mixedCode.map { (SortCode.of($0), $0) } }
        switch value {
        case .null, .nothing, .mixed, .group: return nil
        case .bool(let flag): return (flag ? 1 : 0, nil)
        case .int(let value): return (SortCode.of(value), nil)
        case .double(let value): return (SortCode.of(value), nil)
        case .link(let target): return (SortCode.of(target.rawValue), nil)
        case .bytes(let bytes): return (SortCode.of(bytes), bytes)
        case .decimal(let value):
            let bytes = value.orderedBytes
            return (SortCode.of(bytes), bytes)
        }
    }
}
