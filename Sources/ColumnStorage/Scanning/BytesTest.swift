#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tests of one text value against bytes.
enum BytesTest {
    private static let longPart = 64

    @inline(__always)
    static func isEqual(_ value: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        value.count == other.count && startsWith(value, other)
    }

    @inline(__always)
    static func startsWith(
        _ value: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer
    ) -> Bool {
        guard let wanted = prefix.baseAddress, prefix.count > 0 else { return true }
        guard let bytes = value.baseAddress, value.count >= prefix.count,
            bytes.load(as: UInt8.self) == wanted.load(as: UInt8.self)
        else { return false }
        return prefix.count == 1 || memcmp(bytes, wanted, prefix.count) == 0
    }

    @inline(__always)
    static func endsWith(
        _ value: UnsafeRawBufferPointer, _ suffix: UnsafeRawBufferPointer
    ) -> Bool {
        guard value.count >= suffix.count else { return false }
        return startsWith(
            UnsafeRawBufferPointer(rebasing: value[(value.count - suffix.count)...]), suffix)
    }

    @inline(__always)
    static func contains(
        _ value: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer
    ) -> Bool {
        guard let wanted = part.baseAddress, part.count > 0 else { return true }
        guard let bytes = value.baseAddress, value.count >= part.count else { return false }
        if part.count > longPart { return containsLong(value, part) }
        let first = Int32(wanted.load(as: UInt8.self))
        let end = bytes + (value.count - part.count + 1)
        var start = bytes
        while start < end, let found = memchr(start, first, end - start) {
            if memcmp(found, wanted, part.count) == 0 { return true }
            start = UnsafeRawPointer(found) + 1
        }
        return false
    }

    /// Returns whether a value contains a long part, in linear time for all texts.
    ///
    /// This is the algorithm of Knuth, Morris and Pratt: for each matched prefix of the part, the next shorter prefix
    /// that also ends there is known.
    private static func containsLong(
        _ value: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer
    ) -> Bool {
        var shorter = [Int](repeating: 0, count: part.count)
        var matched = 0
        for index in 1..<part.count {
            while matched > 0, part[index] != part[matched] { matched = shorter[matched - 1] }
            if part[index] == part[matched] { matched += 1 }
            shorter[index] = matched
        }
        matched = 0
        for byte in value {
            while matched > 0, byte != part[matched] { matched = shorter[matched - 1] }
            if byte == part[matched] { matched += 1 }
            if matched == part.count { return true }
        }
        return false
    }

    /// Compares two values: negative, zero or positive by the first different byte, then by length.
    @inline(__always)
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let common = min(left.count, right.count)
        if common > 0, let first = left.baseAddress, let second = right.baseAddress {
            let order = memcmp(first, second, common)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }
}
