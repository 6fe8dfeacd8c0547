/// A recorded session as text: each entry after a prompt, followed by its output.
///
///     moonpool> dogs = store:objects "Dog"
///     moonpool> for i = 1, 2 do
///            >> print(i) end
///     1
///     2
///
/// The prompt can be any prompt of the program, such as `zoo v4 1 observer>`; a version in it is compared as well. In
/// the output, `…` matches any text in a line, and a line `...` matches any number of lines.
struct TranscriptText {
    /// An entry and its expected output.
    struct Step: Equatable {
        var entry: String
        /// The prompt before the entry, without its `>`.
        var prompt: String
        var expected: [String]
        /// The line of the entry in the file, starting at 1.
        var line: Int

        /// The output of the entry before Ctrl-C ended it; nil if it was not interrupted.
        var shownBeforeInterrupt: [String]? {
            expected.firstIndex(of: TranscriptText.interrupted).map { Array(expected[..<$0]) }
        }
    }

    var steps: [Step] = []
    /// The width of the window during the recording.
    var columns = 80
    /// The number of the first Lua entry in messages.
    var firstEntry = 1

    /// The prompt of recorded entries, which is independent of the name of the store.
    static let prompt = "moonpool> "
    static let continuation = "       >> "

    /// Returns the first line of a recorded file.
    static func header(columns: Int, firstEntry: Int = 1) -> String {
        let start = firstEntry == 1 ? "" : " from entry \(firstEntry)"
        return
            "-- A session of moonpool in \(columns) columns\(start); `moonpool transcript FILE` runs it again.\n"
    }

    /// Returns an entry in the recorded form.
    static func text(ofEntry entry: String) -> String {
        let lines = entry.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.enumerated().map { (index, line) in
            "\(index == 0 ? prompt : continuation)\(line)\n"
        }.joined()
    }

    /// Returns a line of output in the recorded form, which never looks like a prompt.
    static func text(ofShown line: some StringProtocol) -> String {
        let line = trimmed(line)
        return promptEnd(line) == nil && continuationEnd(line) == nil && !line.hasPrefix("\\")
            ? line : "\\\(line)"
    }

    /// Parses a recorded session.
    init(_ text: String) {
        var isInEntry = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            if let end = Self.promptEnd(line) {
                steps.append(
                    Step(
                        entry: String(line[end.entry...]), prompt: String(line[..<end.prompt]),
                        expected: [], line: index + 1))
                isInEntry = true
            } else if isInEntry, let end = Self.continuationEnd(line) {
                steps[steps.count - 1].entry += "\n" + line[end...]
            } else if !steps.isEmpty {
                isInEntry = false
                let shown = line.hasPrefix("\\") ? line.dropFirst() : line
                steps[steps.count - 1].expected.append(Self.trimmed(shown))
            } else if line.hasPrefix("-- "), line.contains("moonpool transcript"),
                let numbers = Optional(line.split { !$0.isNumber }.compactMap { Int($0) }),
                let width = numbers.first
            {
                columns = min(max(width, 20), 1_000)
                if numbers.count > 1 { firstEntry = min(max(numbers[1], 1), 1_000_000_000) }
            }
        }
        for index in steps.indices {
            steps[index].expected = Self.compared(steps[index].expected)
        }
    }

    /// Returns the end of the prompt in a line, and the start of the entry after it.
    private static func promptEnd<Line: StringProtocol>(_ line: Line) -> (
        prompt: Line.Index, entry: Line.Index
    )? {
        guard let sign = line.firstIndex(of: ">"), sign > line.startIndex else { return nil }
        let words = line[..<sign].split(separator: " ", omittingEmptySubsequences: false)
        guard let name = words.first, !name.isEmpty, !name.contains("="), name.first != "\\"
        else { return nil }
        var rest = words.dropFirst()
        if let version = rest.first, version.first == "v", Int(version.dropFirst()) != nil {
            rest.removeFirst()
        } else if name != "moonpool" {
            return nil
        }
        if rest.first == "write" { rest.removeFirst() }
        if let number = rest.first, Int(number) != nil,
            rest.dropFirst().first?.hasPrefix("observer") == true
        {
            rest.removeFirst(2)
        }
        let next = line.index(after: sign)
        guard rest.isEmpty, next == line.endIndex || line[next] == " " else { return nil }
        return (sign, next == line.endIndex ? next : line.index(after: next))
    }

    private static func continuationEnd<Line: StringProtocol>(_ line: Line) -> Line.Index? {
        guard let start = line.firstIndex(where: { $0 != " " }), line[start...].hasPrefix(">>")
        else { return nil }
        let end = line.index(start, offsetBy: 2)
        return end == line.endIndex ? end : line[end] == " " ? line.index(after: end) : nil
    }

    /// Returns a line with tabs replaced by spaces, and without trailing spaces.
    static func trimmed(_ line: some StringProtocol) -> String {
        var result = ""
        for character in line {
            if character == "\t" {
                repeat { result.append(" ") } while result.count % 8 != 0
            } else {
                result.append(character)
            }
        }
        while result.last == " " || result.last == "\r" { result.removeLast() }
        return result
    }

    // MARK: - Comparing

    /// The last output of an entry that Ctrl-C has ended.
    private static let interrupted = "interrupted"

    /// Returns the lines to compare: without empty lines at the end and before `interrupted`.
    ///
    /// Whether an empty line follows the terminal's ^C depends on the position of the cursor.
    static func compared(_ lines: [String]) -> [String] {
        var result: [String] = []
        for line in lines {
            if line == interrupted { while result.last == "" { result.removeLast() } }
            result.append(line)
        }
        while result.last == "" { result.removeLast() }
        return result
    }

    /// Returns whether the actual output matches the expected one.
    static func matches(_ expected: [String], _ shown: [String]) -> Bool {
        matches(expected[...], shown[...])
    }

    private static func matches(_ expected: ArraySlice<String>, _ shown: ArraySlice<String>) -> Bool
    {
        var (expected, shown) = (expected, shown)
        while let line = expected.popFirst() {
            if line == "..." {
                if expected.isEmpty { return true }
                return (shown.startIndex...shown.endIndex).contains {
                    matches(expected, shown[$0...])
                }
            }
            guard let next = shown.popFirst(), matches(line: line, next) else { return false }
        }
        return shown.isEmpty
    }

    /// Returns whether a line matches the expected line, in which `…` matches any text.
    static func matches(line expected: String, _ shown: String) -> Bool {
        let parts = expected.split(separator: "…", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else {
            return expected == shown
        }
        guard shown.hasPrefix(first) else { return false }
        var rest = shown.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}
