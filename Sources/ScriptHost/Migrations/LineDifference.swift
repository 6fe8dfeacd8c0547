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
