/// What may stand where the cursor is.
package struct Completion: Equatable, Sendable {
    /// How many characters before the cursor a candidate replaces.
    package var replacing: Int
    /// The whole words, in the order they are listed in.
    package var candidates: [String]
    /// What follows a candidate that is the only one.
    package var suffix: String

    /// Names the candidates.
    package init(replacing: Int, candidates: [String], suffix: String = "") {
        self.replacing = replacing
        self.candidates = candidates
        self.suffix = suffix
    }

    /// The beginning that all candidates share.
    var commonPrefix: String {
        guard var prefix = candidates.first else { return "" }
        for candidate in candidates.dropFirst() {
            while !candidate.hasPrefix(prefix) { prefix.removeLast() }
        }
        return prefix
    }

    /// The candidates in columns, as many as the window has room for.
    func listing(columns: Int, limit: Int = 120) -> String {
        let shown = candidates.prefix(limit)
        let width = (shown.map(\.count).max() ?? 0) + 2
        let perRow = max(1, columns / max(width, 1))
        let rows = (shown.count + perRow - 1) / perRow
        var text = ""
        for row in 0..<rows {
            var line = ""
            for index in stride(from: row, to: shown.count, by: rows) {
                let candidate = shown[index]
                line += candidate
                if index + rows < shown.count {
                    line += String(repeating: " ", count: width - candidate.count)
                }
            }
            text += line + "\n"
        }
        if candidates.count > limit { text += "… \(candidates.count - limit) more\n" }
        return text
    }
}
