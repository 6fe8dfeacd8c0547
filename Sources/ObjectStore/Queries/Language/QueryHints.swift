/// What to write instead of words that other predicate languages have.
enum QueryHints {
    /// The hint for a fault in a text; nil for faults that are no habit of another language.
    static func hint(for message: String, _ text: String, at range: Range<Int>) -> String? {
        let bytes = Array(text.utf8)
        let start = min(max(range.lowerBound, 0), bytes.count)
        let fault = String(
            decoding: bytes[start..<min(max(range.upperBound, start), bytes.count)], as: UTF8.self)
        let before = String(decoding: bytes[..<start], as: UTF8.self)
        let after = String(decoding: bytes[min(range.upperBound, bytes.count)...], as: UTF8.self)
            .lowercased()
        switch fault.lowercased() {
        case "%", "?", ":":
            return "write $1 and pass the value: where(\"name = $1\", name)"
        case "self":
            return "write the property alone; SELF is for collections of plain values"
        case "matches":
            return
                "use like with * and ?, beginswith, endswith or contains; filter(fn) takes any Lua code"
        case "ilike":
            return "like[c] ignores case"
        case "is":
            let words = after.split(whereSeparator: \.isWhitespace)
            let isNegative = words.first == "not"
            return isNegative ? "write != nil" : "write = nil"
        default: break
        }
        let last = before.last { !$0.isWhitespace }
        if message.contains("has no property '\(fault)'"), let last, "=<>".contains(last),
            !fault.contains(".")
        {
            return "text needs quotes: '\(fault)'"
        }
        return nil
    }
}
