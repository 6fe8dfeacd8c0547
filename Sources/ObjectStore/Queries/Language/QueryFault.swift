/// An error in a predicate or a path with its range, but without the text.
struct QueryFault: Error, Equatable {
    let message: String
    /// The range of the error, as UTF-8 offsets into the text.
    let range: Range<Int>
    /// Whether a property does not exist; the error code is then `unknown_property`.
    let isUnknownName: Bool
    /// The error that stopped the compiler, which the text has not caused.
    private let cause: StoreError?

    init(_ message: String, at range: Range<Int>, isUnknownName: Bool = false) {
        self.init(message, range, isUnknownName, nil)
    }

    private init(
        _ message: String, _ range: Range<Int>, _ isUnknownName: Bool, _ cause: StoreError?
    ) {
        self.message = message
        self.range = range
        self.isUnknownName = isUnknownName
        self.cause = cause
    }

    /// Counts the work for a token or a condition; throws if the script is stopped, or has reached its memory limit.
    static func step() throws(QueryFault) {
        do throws(StoreError) {
            try StoreError.step(64)
        } catch {
            throw QueryFault(cause: error)
        }
    }

    /// Creates the error of a compiler that was stopped.
    init(cause: StoreError) { self.init("", 0..<0, false, cause) }

    /// Returns the error for users, with the message, the line of the text, and a caret under the range.
    ///
    /// The code is `unknown_property` or `invalid_query`. A long line is shortened to a window around the error, so a
    /// generated predicate of a megabyte does not cause an error message of a megabyte.
    func rendered(in text: String) -> StoreError {
        if let cause { return cause }
        let bytes = Array(text.utf8)
        let start = min(max(range.lowerBound, 0), bytes.count)
        var lineStart = start
        while lineStart > 0, bytes[lineStart - 1] != UInt8(ascii: "\n") { lineStart -= 1 }
        var lineEnd = start
        while lineEnd < bytes.count, bytes[lineEnd] != UInt8(ascii: "\n") { lineEnd += 1 }
        let end = min(max(range.upperBound, start), lineEnd)

        var before = QueryFault.printable(bytes[lineStart..<start])
        var fault = QueryFault.printable(bytes[start..<end])
        var after = QueryFault.printable(bytes[end..<lineEnd])
        let (column, length) = (before.count + 1, max(1, fault.count))
        let window = 60
        if before.count > window { before = Array("…" + String(before.suffix(window))) }
        if fault.count > window { fault = fault.prefix(window) + ["…"] }
        if after.count > window { after = after.prefix(window) + ["…"] }

        let carets =
            String(repeating: " ", count: before.count)
            + "^" + String(repeating: "~", count: max(0, fault.count - 1))
        return .fault(
            isUnknownName ? .unknownProperty : .invalidQuery,
            "\(message)\n  \(String(before + fault + after))\n  \(carets)",
            line: bytes[..<lineStart].count { $0 == UInt8(ascii: "\n") } + 1, column: column,
            length: length)
    }

    /// Returns the text with spaces for control characters: a tab would move the caret, and an escape could move the
    /// cursor.
    private static func printable(_ bytes: ArraySlice<UInt8>) -> [Character] {
        String(decoding: bytes, as: UTF8.self).map { character in
            character.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
                ? character : " "
        }
    }
}
