/// The checksum of a migration's source, without comments and whitespace.
///
/// A license header or another indentation therefore does not count as a change of an applied migration.
enum SourceChecksum {
    /// Returns the checksum as sixteen hexadecimal digits.
    static func of(_ source: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in significant(source) {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the significant bytes; the whitespace between words becomes one space.
    static func significant(_ source: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var position = 0
        var isSeparated = false
        func at(_ index: Int) -> UInt8 { index < source.count ? source[index] : 0 }
        func emit(_ bytes: ArraySlice<UInt8>) {
            if isSeparated, let last = result.last, let first = bytes.first, isWord(last),
                isWord(first)
            {
                result.append(UInt8(ascii: " "))
            }
            isSeparated = false
            result += bytes
        }
        while position < source.count {
            let byte = source[position]
            if byte == UInt8(ascii: " ") || (9...13).contains(byte) {
                isSeparated = true
                position += 1
            } else if byte == UInt8(ascii: "-"), at(position + 1) == UInt8(ascii: "-") {
                isSeparated = true
                if let end = longBracket(source, position + 2) {
                    position = end
                } else {
                    while position < source.count, source[position] != UInt8(ascii: "\n") {
                        position += 1
                    }
                }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                var end = position + 1
                while end < source.count, source[end] != byte {
                    end += source[end] == UInt8(ascii: "\\") ? 2 : 1
                }
                end = min(end + 1, source.count)
                emit(source[position..<end])
                position = end
            } else if let end = longBracket(source, position) {
                emit(source[position..<end])
                position = end
            } else {
                emit(source[position...position])
                position += 1
            }
        }
        return result
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte >= 128
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 32)
    }

    /// Returns the end of a long bracket `[==[ … ]==]` that begins at an index; nil if none begins there.
    private static func longBracket(_ source: [UInt8], _ start: Int) -> Int? {
        guard start < source.count, source[start] == UInt8(ascii: "[") else { return nil }
        var position = start + 1
        while position < source.count, source[position] == UInt8(ascii: "=") { position += 1 }
        guard position < source.count, source[position] == UInt8(ascii: "[") else { return nil }
        let level = position - start - 1
        while position < source.count {
            if source[position] == UInt8(ascii: "]"), position + level + 1 < source.count,
                source[position + level + 1] == UInt8(ascii: "]"),
                source[(position + 1)..<(position + level + 1)].allSatisfy({
                    $0 == UInt8(ascii: "=")
                })
            {
                return position + level + 2
            }
            position += 1
        }
        return source.count
    }
}

extension SourceChecksum {
    /// Returns the checksum of a source without its schema and without the keys that `migrate merge` writes.
    ///
    /// Two files with the same checksum have the same code, regardless of their schemas.
    static func ofCode(_ source: [UInt8]) -> String {
        var text = significant(source)
        for key in ["schema", "parent", "merged_from"] { text = removing(key, from: text) }
        return of(text)
    }

    /// Returns the source without `key = { … },` or `key = "…",` in the outermost table.
    private static func removing(_ key: String, from text: [UInt8]) -> [UInt8] {
        let mark = Array((key + "=").utf8)
        var index = 0
        while index + mark.count < text.count {
            let isStart =
                index == 0 || text[index - 1] == UInt8(ascii: "{")
                || text[index - 1] == UInt8(ascii: ",") || text[index - 1] == UInt8(ascii: ";")
            guard isStart, Array(text[index..<index + mark.count]) == mark else {
                index += 1
                continue
            }
            var end = index + mark.count
            var depth = 0
            repeat {
                let byte = text[end]
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                    end += 1
                    while end < text.count, text[end] != byte {
                        end += text[end] == UInt8(ascii: "\\") ? 2 : 1
                    }
                } else if byte == UInt8(ascii: "{") {
                    depth += 1
                } else if byte == UInt8(ascii: "}") {
                    depth -= 1
                }
                end += 1
            } while end < text.count && depth > 0
            if end < text.count, text[end] == UInt8(ascii: ",") || text[end] == UInt8(ascii: ";") {
                end += 1
            }
            return Array(text[..<index]) + Array(text[min(end, text.count)...])
        }
        return text
    }
}
