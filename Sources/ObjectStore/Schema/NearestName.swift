/// Finds the name that a misspelled name probably means.
package enum NearestName {
    /// Returns the known name with the fewest typing errors; nil if no name is similar enough.
    ///
    /// A name of more than 200 bytes is not considered a misspelling.
    package static func find(_ name: String, among known: [String]) -> String? {
        guard name.utf8.count <= 200 else { return nil }
        let limit = max(1, min(3, name.count / 2))
        let typed = Array(name.lowercased().unicodeScalars)
        return
            known
            .map { ($0, distance(typed, Array($0.lowercased().unicodeScalars))) }
            .filter { $0.1 <= limit }
            .min { ($0.1, $0.0) < ($1.1, $1.0) }?
            .0
    }

    /// Returns the end of a message: `; did you mean 'name'?`, or the known names if there are few.
    package static func hint(for name: String, among known: [String]) -> String {
        if let nearest = find(name, among: known) { return "; did you mean '\(nearest)'?" }
        guard !known.isEmpty, known.count <= 8 else { return "" }
        return "; it has " + known.map { "'\($0)'" }.joined(separator: ", ")
    }

    /// Returns the number of typing errors between two names, ignoring case.
    package static func distance(between left: String, and right: String) -> Int {
        distance(Array(left.lowercased().unicodeScalars), Array(right.lowercased().unicodeScalars))
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighboring letters between two names.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                let replaced = previous[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(previous[column + 1] + 1, current[column] + 1, replaced)
                if row > 0, column > 0, left[row] == right[column - 1],
                    left[row - 1] == right[column]
                {
                    best = min(best, beforePrevious[column - 1] + 1)
                }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
