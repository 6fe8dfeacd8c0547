import LuaHost
import Reference

/// The identity of the code of a migration, or of a file that it loads: a checksum of what the compiler makes of it.
///
/// Comments, layout, the path and the names of local variables do not count. Another release of Lua can compile to another
/// form, so a record also has the checksum of the tokens, which is then compared. A checksum has sixteen hexadecimal
/// digits.
enum CodeIdentity {
    /// Returns the checksum of the compiled source; the checksum of a source with an error is that of its tokens.
    static func checksum(of source: [UInt8], _ state: LuaState) -> String {
        let chunk = try? state.load(LuaString(bytes: source), name: "=migration")
        return chunk.map { checksum([CompiledCode.bytes(of: $0)]) } ?? checksum(ofTokens: source)
    }

    /// Returns the checksum of functions and of the functions and plain values that they use from outside.
    static func checksum(of functions: [LuaFunction]) -> String {
        var seen: Set<LuaFunction> = []
        func parts(_ function: LuaFunction) -> [[UInt8]] {
            guard seen.insert(function).inserted else { return [] }
            return [CompiledCode.bytes(of: function)]
                + function.upvalues.flatMap { _, value -> [[UInt8]] in
                    if let inner = value.function { return parts(inner) }
                    return value.text.map { [Array($0.utf8)] } ?? value.number.map {
                        [Array("\($0)".utf8)]
                    } ?? []
                }
        }
        return checksum(functions.flatMap(parts))
    }

    /// Returns the checksum of texts and their order.
    static func checksum(of texts: [String]) -> String {
        checksum([Array(texts.joined(separator: " ").utf8)])
    }

    private static func checksum(_ parts: [[UInt8]]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in parts.joined() { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the checksum of the tokens of a source; two words have a space between them.
    static func checksum(ofTokens source: [UInt8]) -> String {
        let text = String(decoding: source, as: UTF8.self)
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var end = 0
        for token in LuaLexer.tokens(of: text) {
            let isSeparated = token.range.lowerBound > end
            if isSeparated, let last = result.last, LuaLexer.isNameByte(last),
                LuaLexer.isNameByte(bytes[token.range.lowerBound])
            {
                result.append(UInt8(ascii: " "))
            }
            result += bytes[token.range]
            end = token.range.upperBound
        }
        return checksum([result])
    }
}

/// A function that was compiled to the form of `string.dump`, without debug information and without the numbers of the
/// lines on which functions begin and end, which a stripped dump contains too.
private struct CompiledCode {
    private let bytes: [UInt8]
    private var position = 0
    private var kept: [UInt8] = []

    /// Returns the code of a function; empty for a function of the host.
    static func bytes(of function: LuaFunction) -> [UInt8] {
        guard let bytes = try? function.dump(stripped: true) else { return [] }
        var code = CompiledCode(bytes)
        // The header of Lua 5.4 has 31 bytes, and the number of upvalues follows it.
        code.take(32)
        code.takeFunction()
        // Any other form is kept as it is.
        return bytes.dropFirst(4).first == 0x54 && code.position == bytes.count ? code.kept : bytes
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    private mutating func take(_ count: Int) {
        let end = min(position + max(count, 0), bytes.count)
        kept += bytes[position..<end]
        position = end
    }

    /// Reads a number in groups of seven bits, the last of which is marked.
    private mutating func takeNumber(isKept: Bool = true) -> Int {
        var number = 0
        while position < bytes.count, number < 1 << 48 {
            let byte = bytes[position]
            if isKept { kept.append(byte) }
            position += 1
            number = number << 7 | Int(byte & 0x7F)
            if byte & 0x80 != 0 { break }
        }
        return number
    }

    private mutating func takeText() { take(takeNumber() - 1) }

    private mutating func takeFunction() {
        takeText()
        for _ in 0..<2 { _ = takeNumber(isKept: false) }
        take(3)
        take(takeNumber() * 4)
        for _ in 0..<takeNumber() where position < bytes.count {
            let kind = bytes[position]
            take(1)
            switch kind {
            case 0x03, 0x13: take(8)
            case 0x04, 0x14: takeText()
            default: break
            }
        }
        take(takeNumber() * 3)
        for _ in 0..<takeNumber() where position < bytes.count { takeFunction() }
        // The four parts of the debug information are empty.
        for _ in 0..<4 { _ = takeNumber() }
    }
}
