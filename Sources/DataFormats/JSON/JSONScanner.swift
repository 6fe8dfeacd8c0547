import MemoryAccounts

/// Parses one JSON value from memory onto a tape, strictly according to RFC 8259.
///
/// No library is suitable: yajl accepts lone surrogates and cannot resume after an error, simdjson is C++ with
/// exceptions, and Foundation's parser does not distinguish integers from doubles.
struct JSONScanner {
    /// The result of a scan.
    enum Outcome {
        /// A value, and the offset of the byte after it.
        case value(end: Int)
        /// The bytes end inside the value, and more bytes may follow.
        case incomplete
        /// An error and its offset.
        case fault(Int, String)
        /// The tape needs more memory than the script may take.
        case exhausted
    }

    private enum Expectation { case value, valueOrEnd, name, nameOrEnd, separator }

    private let bytes: UnsafePointer<UInt8>
    private let count: Int
    private let isWhole: Bool
    private let tape: UnsafeMutablePointer<TapeBuffer>
    private var position: Int
    /// The index of the innermost open container, whose payload is the index of its parent.
    private var container: Int64 = -1
    private var depth = 0

    /// Scans a value at an offset; `isWhole` means that no bytes follow.
    static func scan(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, isWhole: Bool,
        onto tape: UnsafeMutablePointer<TapeBuffer>
    ) -> Outcome {
        guard let base = bytes.baseAddress else {
            return isWhole ? .fault(start, "expected a value") : .incomplete
        }
        var scanner = JSONScanner(
            base, count: bytes.count, from: start, isWhole: isWhole, onto: tape)
        tape.pointee.obeysLimit = true
        defer { tape.pointee.obeysLimit = false }
        let outcome = scanner.scan()
        return tape.pointee.isExhausted ? .exhausted : outcome
    }

    private init(
        _ bytes: UnsafePointer<UInt8>, count: Int, from start: Int, isWhole: Bool,
        onto tape: UnsafeMutablePointer<TapeBuffer>
    ) {
        self.bytes = bytes
        self.count = count
        self.isWhole = isWhole
        self.tape = tape
        position = start
    }

    private mutating func scan() -> Outcome {
        var expected = Expectation.value
        while true {
            skipSpace()
            guard position < count else { return ended(expected) }
            let byte = bytes[position]
            switch expected {
            case .separator:
                guard container >= 0 else { return .value(end: position) }
                let isObject = tape.pointee[Int(container)].kind == .object
                switch byte {
                case 0x2C:
                    position &+= 1
                    expected = isObject ? .name : .value
                    continue
                case 0x5D where !isObject, 0x7D where isObject: close()
                default: return fault(isObject ? "expected ',' or '}'" : "expected ',' or ']'")
                }
            case .valueOrEnd where byte == 0x5D, .nameOrEnd where byte == 0x7D: close()
            case .name, .nameOrEnd:
                guard byte == 0x22 else {
                    return fault(
                        expected == .name && byte == 0x7D
                            ? "expected a member after ','" : "expected a name in quotes")
                }
                if let outcome = string() { return outcome }
                skipSpace()
                guard position < count else { return ended(.value) }
                guard bytes[position] == 0x3A else { return fault("expected ':'") }
                position &+= 1
                expected = .value
                continue
            case .value, .valueOrEnd:
                switch byte {
                case 0x7B:
                    guard open(.object) else { return tooDeep() }
                    expected = .nameOrEnd
                    continue
                case 0x5B:
                    guard open(.array) else { return tooDeep() }
                    expected = .valueOrEnd
                    continue
                default: if let outcome = scalar(byte) { return outcome }
                }
            }
            if container < 0 {
                assert(depth == 0, "all containers of a value are closed")
                return .value(end: position)
            }
            expected = .separator
        }
    }

    @inline(__always)
    private mutating func skipSpace() {
        while position < count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position &+= 1
            default: return
            }
        }
    }

    private func fault(_ reason: String) -> Outcome { .fault(position, reason) }

    private func tooDeep() -> Outcome {
        fault("values are nested more than \(JSONLimits.depth) deep")
    }

    private func ended(_ expected: Expectation) -> Outcome {
        guard isWhole else { return .incomplete }
        return fault(container < 0 ? "expected a value" : "the text ends too early")
    }

    // MARK: Containers

    @inline(__always)
    private mutating func open(_ kind: JSONTape.Kind) -> Bool {
        guard depth < JSONLimits.depth else { return false }
        depth &+= 1
        let index = tape.pointee.count
        tape.pointee.add(kind, container, offset: position)
        container = Int64(index)
        position &+= 1
        // The index of a dropped token must not be used.
        return !tape.pointee.isExhausted
    }

    @inline(__always)
    private mutating func close() {
        assert(container >= 0 && depth > 0, "only an open container is closed")
        container = tape.pointee.close(Int(container), offset: position)
        depth &-= 1
        position &+= 1
    }

    // MARK: Scalars

    /// Adds a number, `true`, `false` or `null`; returns nil after success.
    @inline(__always)
    private mutating func scalar(_ byte: UInt8) -> Outcome? {
        switch byte {
        case 0x22: return string()
        case 0x2D, 0x30...0x39: return number()
        case 0x74: return word("true", .truth)
        case 0x66: return word("false", .falsehood)
        case 0x6E: return word("null", .null)
        case 0x5D where container >= 0, 0x7D where container >= 0:
            return fault("expected a value")
        case 0x27: return fault("expected a value; strings are written in double quotes")
        default: return fault("expected a value")
        }
    }

    private mutating func word(_ word: StaticString, _ kind: JSONTape.Kind) -> Outcome? {
        let length = word.utf8CodeUnitCount
        for index in 0..<length {
            guard position + index < count else {
                return isWhole ? fault("expected a value") : .incomplete
            }
            guard bytes[position + index] == word.utf8Start[index] else {
                return fault("expected a value")
            }
        }
        tape.pointee.add(kind, offset: position)
        position &+= length
        return nil
    }

    private mutating func number() -> Outcome? {
        let start = position
        var next = position
        let isNegative = bytes[next] == 0x2D
        if isNegative { next &+= 1 }
        var value: Int64 = 0
        let firstDigit = next
        while next < count {
            let digit = bytes[next] &- 0x30
            guard digit < 10 else { break }
            value = value &* 10 &+ Int64(digit)
            next &+= 1
        }
        let digits = next &- firstDigit
        guard digits > 0 else {
            if next == count, !isWhole { return .incomplete }
            position = next
            return fault("expected a digit after '-'")
        }
        if digits > 1, bytes[firstDigit] == 0x30 {
            position = firstDigit
            return fault("a number has a leading zero")
        }
        var isWholeNumber = true
        if next < count, bytes[next] == 0x2E {
            isWholeNumber = false
            let (end, found) = digitRun(next &+ 1)
            next = end
            guard found else {
                return missingDigit(next, "expected a digit after the decimal point")
            }
        }
        if next < count, bytes[next] | 0x20 == 0x65 {
            isWholeNumber = false
            next &+= 1
            if next < count, bytes[next] == 0x2B || bytes[next] == 0x2D { next &+= 1 }
            let (end, found) = digitRun(next)
            next = end
            guard found else { return missingDigit(next, "expected a digit in the exponent") }
        }
        // More digits may follow.
        if next == count, !isWhole { return .incomplete }
        let text = UnsafeBufferPointer(start: bytes + start, count: next &- start)
        if isWholeNumber, digits <= 18 {
            tape.pointee.add(.int, isNegative ? 0 &- value : value, offset: start)
        } else if isWholeNumber, let exact = NumberText.int(text) {
            tape.pointee.add(.int, exact, offset: start)
        } else {
            tape.pointee.add(.real, text, offset: start)
        }
        position = next
        return nil
    }

    @inline(__always)
    private func digitRun(_ start: Int) -> (end: Int, found: Bool) {
        var next = start
        while next < count, bytes[next] &- 0x30 < 10 { next &+= 1 }
        return (next, next > start)
    }

    private mutating func missingDigit(_ next: Int, _ reason: String) -> Outcome {
        if next == count, !isWhole { return .incomplete }
        position = next
        return fault(reason)
    }

    // MARK: Strings

    /// Adds the string whose opening quote is the current byte.
    private mutating func string() -> Outcome? {
        let offset = position
        var next = position &+ 1
        var segment = next
        let textStart = tape.pointee.textCount
        while true {
            next = JSONBytes.plainEnd(bytes, next, count)
            guard next < count else {
                guard isWhole else { return .incomplete }
                position = offset
                return fault("a string has no closing quote")
            }
            let byte = bytes[next]
            if byte == 0x22 { break }
            if byte == 0x5C {
                tape.pointee.append(
                    UnsafeBufferPointer(start: bytes + segment, count: next &- segment))
                position = next
                if let outcome = escape() { return outcome }
                next = position
                segment = next
            } else if byte < 0x20 {
                position = next
                return fault("a string has a control character; write it as an escape, such as \\n")
            } else {
                let length = JSONBytes.sequenceLength(bytes, next, count)
                guard length > 0 else {
                    if !isWhole, count &- next < 4 { return .incomplete }
                    position = next
                    return fault("a string has bytes that are not UTF-8")
                }
                next &+= length
            }
        }
        tape.pointee.append(UnsafeBufferPointer(start: bytes + segment, count: next &- segment))
        tape.pointee.add(.string, textFrom: textStart, offset: offset)
        position = next &+ 1
        return nil
    }

    /// Appends the character of an escape whose backslash is the current byte.
    private mutating func escape() -> Outcome? {
        guard position &+ 1 < count else { return endedInString() }
        let replaced: UInt8
        switch bytes[position &+ 1] {
        case 0x22: replaced = 0x22
        case 0x5C: replaced = 0x5C
        case 0x2F: replaced = 0x2F
        case 0x62: replaced = 0x08
        case 0x66: replaced = 0x0C
        case 0x6E: replaced = 0x0A
        case 0x72: replaced = 0x0D
        case 0x74: replaced = 0x09
        case 0x75: return unicodeEscape()
        default: return fault("a string has an unknown escape")
        }
        tape.pointee.append(replaced)
        position &+= 2
        return nil
    }

    private func endedInString() -> Outcome {
        isWhole ? fault("a string has no closing quote") : .incomplete
    }

    private mutating func unicodeEscape() -> Outcome? {
        guard position &+ 6 <= count else {
            return isWhole ? fault("expected four hexadecimal digits after \\u") : .incomplete
        }
        guard var code = JSONBytes.hexadecimal(bytes + position + 2) else {
            return fault("expected four hexadecimal digits after \\u")
        }
        var length = 6
        if code >= 0xD800, code < 0xE000 {
            guard code < 0xDC00 else { return loneSurrogate() }
            guard position &+ 12 <= count else {
                if !isWhole { return .incomplete }
                return loneSurrogate()
            }
            guard bytes[position &+ 6] == 0x5C, bytes[position &+ 7] == 0x75,
                let low = JSONBytes.hexadecimal(bytes + position + 8), low >= 0xDC00, low < 0xE000
            else { return loneSurrogate() }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            length = 12
        }
        guard let scalar = Unicode.Scalar(code) else { return loneSurrogate() }
        for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
            tape.pointee.append(unit)
        }
        position &+= length
        return nil
    }

    private func loneSurrogate() -> Outcome {
        fault("an escape is half of a surrogate pair; the other half is missing")
    }
}

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

/// Limits for reading and writing JSON.
package enum JSONLimits {
    /// The maximum nesting depth of containers.
    package static let depth = 400
    /// The maximum size of the text of one value, in bytes.
    package static let size = 1 << 31

    /// The error of a value whose tape needs more memory than the script may take.
    static var memoryReached: MemoryLimitReached {
        MemoryLimitReached(limit: MemoryAccount.current?.limit ?? 0)
    }
}
