/// An error in a predicate or a path, and its range, before the text around it is at hand.
struct QueryFault: Error, Equatable {
    let message: String
    /// UTF-8 offsets into the text.
    let range: Range<Int>
    /// Whether it is a property that does not exist: the code is then `unknown_property`.
    let isUnknownName: Bool

    init(_ message: String, at range: Range<Int>, isUnknownName: Bool = false) {
        self.message = message
        self.range = range
        self.isUnknownName = isUnknownName
    }

    /// Returns the error as users see it, `unknown_property` or `invalid_query`: the message, the line of the text, and a
    /// caret under the range.
    ///
    /// A long line is cut to a window around the fault, so that a generated predicate of a
    /// megabyte does not become an error message of a megabyte.
    func rendered(in text: String) -> StoreError {
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
        let window = 60
        if before.count > window { before = Array("…" + String(before.suffix(window))) }
        if fault.count > window { fault = fault.prefix(window) + ["…"] }
        if after.count > window { after = after.prefix(window) + ["…"] }

        let carets =
            String(repeating: " ", count: before.count)
            + "^" + String(repeating: "~", count: max(0, fault.count - 1))
        return StoreError(
            isUnknownName ? .unknownProperty : .invalidQuery,
            "\(message)\n  \(String(before + fault + after))\n  \(carets)")
    }

    /// Returns text with control characters as spaces: a tab would move the caret, an escape could move the cursor.
    private static func printable(_ bytes: ArraySlice<UInt8>) -> [Character] {
        String(decoding: bytes, as: UTF8.self).map { character in
            character.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
                ? character : " "
        }
    }
}
