/// The inner loops of parsing strings.
enum JSONBytes {
    /// Returns the index of the first byte at or after `start` that needs special handling in a string: a quote, a
    /// backslash, a control character, or a non-ASCII byte.
    @inline(__always)
    static func plainEnd(_ bytes: UnsafePointer<UInt8>, _ start: Int, _ count: Int) -> Int {
        var next = start
        while next &+ 8 <= count {
            let word = UnsafeRawPointer(bytes + next).loadUnaligned(as: UInt64.self)
            // Bit 7 of each matching byte is set; a borrow can only affect bytes after a match.
            let control = word &- 0x2020_2020_2020_2020
            let quote = (word ^ 0x2222_2222_2222_2222) &- 0x0101_0101_0101_0101
            let backslash = (word ^ 0x5C5C_5C5C_5C5C_5C5C) &- 0x0101_0101_0101_0101
            guard (word | control | quote | backslash) & 0x8080_8080_8080_8080 == 0 else { break }
            next &+= 8
        }
        while next < count {
            let byte = bytes[next]
            if byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5C { break }
            next &+= 1
        }
        return next
    }

    /// Returns the length of the UTF-8 sequence at an offset with a non-ASCII byte; 0 if the sequence is invalid.
    static func sequenceLength(
        _ bytes: UnsafePointer<UInt8>, _ start: Int, _ count: Int
    ) -> Int {
        let first = bytes[start]
        let length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0
        guard length > 0, start &+ length <= count else { return 0 }
        let second = bytes[start &+ 1]
        // Overlong forms, surrogates and values beyond U+10FFFF differ in the second byte.
        let range: ClosedRange<UInt8> =
            switch first {
            case 0xE0: 0xA0...0xBF
            case 0xED: 0x80...0x9F
            case 0xF0: 0x90...0xBF
            case 0xF4: 0x80...0x8F
            default: 0x80...0xBF
            }
        guard range.contains(second) else { return 0 }
        for index in 2..<max(2, length) where bytes[start &+ index] & 0xC0 != 0x80 { return 0 }
        return length
    }

    /// Parses four hexadecimal digits.
    static func hexadecimal(_ digits: UnsafePointer<UInt8>) -> UInt32? {
        var code: UInt32 = 0
        for index in 0..<4 {
            let byte = digits[index]
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x37
            case 0x61...0x66: digit = byte - 0x57
            default: return nil
            }
            code = code << 4 | UInt32(digit)
        }
        return code
    }
}
