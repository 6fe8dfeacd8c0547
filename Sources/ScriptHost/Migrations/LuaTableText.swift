import ObjectStore

/// Edits the table that a Lua source returns, and keeps all other text unchanged.
enum LuaTableText {
    /// Returns the source with a new value of a key.
    ///
    /// Throws `invalid_argument` if the source does not return a table with this key.
    static func replacing(_ key: String, in source: String, with value: String) throws -> String {
        guard let range = range(of: key, in: source) else {
            throw StoreError(
                .invalidArgument,
                "the file has no '\(key) = …' in the table that it returns; edit it manually")
        }
        return source.replacingCharacters(in: range, with: value)
    }

    /// Returns the source with a key set; a missing key is inserted as the first one.
    static func setting(_ key: String, in source: String, to value: String) -> String {
        if let range = range(of: key, in: source) {
            return source.replacingCharacters(in: range, with: value)
        }
        guard let start = tableStart(in: source) else { return source }
        let rest = source[start...]
        return source[..<start] + "\n  \(key) = \(value)," + (rest.first == " " ? "\n " : "") + rest
    }

    /// Returns the index after the opening brace of the returned table.
    private static func tableStart(in source: String) -> String.Index? {
        var scanner = Scanner(source)
        var depth = 0
        var isReturned = false
        while let token = scanner.next() {
            switch token.text {
            case "return" where depth == 0: isReturned = true
            case "{" where isReturned && depth == 0: return token.range.upperBound
            case "{", "(", "function", "do", "then", "repeat": depth += 1
            case "}", ")", "end", "until": depth -= 1
            default: isReturned = isReturned && depth > 0
            }
        }
        return nil
    }

    /// Returns the range of the value of a key in the returned table.
    private static func range(of key: String, in source: String) -> Range<String.Index>? {
        guard let start = tableStart(in: source) else { return nil }
        var scanner = Scanner(source, from: start)
        var depth = 0
        var previous = ""
        var valueStart: String.Index?
        var valueEnd = start
        while let token = scanner.next() {
            if depth == 0, valueStart != nil, [",", ";", "}"].contains(token.text) {
                return valueStart.map { $0..<valueEnd }
            }
            if depth == 0, token.text == "}" { return nil }
            if depth == 0, valueStart == nil, token.text == "=", previous == key {
                previous = "="
                continue
            }
            if previous == "=", valueStart == nil, depth == 0, scanner.lastKey == key {
                valueStart = token.range.lowerBound
            }
            switch token.text {
            case "{", "(", "[", "function", "do", "then", "repeat": depth += 1
            case "}", ")", "]", "end", "until": depth -= 1
            default: break
            }
            if depth == 0, valueStart == nil {
                if token.text != "=" { scanner.lastKey = token.text }
            }
            previous = String(token.text)
            valueEnd = token.range.upperBound
        }
        return nil
    }

    /// Reads a source token by token; comments and whitespace are skipped, and a string is one token.
    private struct Scanner {
        struct Token {
            let text: Substring
            let range: Range<String.Index>
        }

        private let source: String
        private var index: String.Index
        /// The last name before a `=`.
        var lastKey: Substring = ""

        init(_ source: String, from index: String.Index? = nil) {
            self.source = source
            self.index = index ?? source.startIndex
        }

        mutating func next() -> Token? {
            while index < source.endIndex {
                let character = source[index]
                if character.isWhitespace {
                    index = source.index(after: index)
                } else if source[index...].hasPrefix("--") {
                    index = source.index(index, offsetBy: 2)
                    if let end = longBracketEnd() {
                        index = end
                    } else {
                        index = source[index...].firstIndex(where: \.isNewline) ?? source.endIndex
                    }
                } else if let end = tokenEnd() {
                    let range = index..<end
                    index = end
                    return Token(text: source[range], range: range)
                }
            }
            return nil
        }

        private func tokenEnd() -> String.Index? {
            let character = source[index]
            if let end = longBracketEnd() { return end }
            if character == "\"" || character == "'" {
                var end = source.index(after: index)
                while end < source.endIndex, source[end] != character {
                    if source[end] == "\\" { end = source.index(after: end) }
                    if end < source.endIndex { end = source.index(after: end) }
                }
                return end < source.endIndex ? source.index(after: end) : end
            }
            guard character.isLetter || character == "_" else { return source.index(after: index) }
            return source[index...].firstIndex { !$0.isLetter && !$0.isNumber && $0 != "_" }
                ?? source.endIndex
        }

        private func longBracketEnd() -> String.Index? {
            guard source[index...].first == "[" else { return nil }
            let rest = source[source.index(after: index)...]
            let level = rest.prefix { $0 == "=" }
            guard rest.dropFirst(level.count).first == "[" else { return nil }
            let closing = "]" + level + "]"
            var end = index
            while end < source.endIndex {
                if source[end...].hasPrefix(closing) {
                    return source.index(end, offsetBy: closing.count)
                }
                end = source.index(after: end)
            }
            return source.endIndex
        }
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}

/// Compares two texts line by line.
enum LineDifference {
    /// Returns removed lines with `-` and added lines with `+`, in order, without common lines.
    static func lines(from old: String, to new: String) -> [String] {
        let before = old.split(separator: "\n", omittingEmptySubsequences: false)
        let after = new.split(separator: "\n", omittingEmptySubsequences: false)
        let difference = after.difference(from: before)
        var changes: [(position: Int, line: String)] = []
        for change in difference {
            switch change {
            case .remove(let offset, let line, _): changes.append((offset * 2, "- \(line)"))
            case .insert(let offset, let line, _): changes.append((offset * 2 + 1, "+ \(line)"))
            }
        }
        return changes.sorted { $0.position < $1.position }.map(\.line)
    }
}
