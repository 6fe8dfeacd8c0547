import LineEditing
import ObjectStore

/// A version as text: its changes and its origin.
struct VersionText {
    let style: Style

    /// Returns the number of changes per class and property, in color: `+1 Dog ~2 Dog.age -1 Toy`.
    func changes(_ version: VersionSummary) -> String {
        var parts: [String] = []
        if let restored = version.restored { parts.append("= version \(restored)") }
        if version.changesSchema { parts.append(style.paint("schema", .word)) }
        for counts in version.classes {
            if counts.inserted > 0 {
                let text = "+\(ValueText.count(counts.inserted)) \(counts.className)"
                parts.append(style.paint(text, .added))
            }
            for property in counts.properties {
                let text =
                    "~\(ValueText.count(property.count)) \(counts.className).\(property.name)"
                parts.append(style.paint(text, .changed))
            }
            if counts.deleted > 0 {
                let text = "-\(ValueText.count(counts.deleted)) \(counts.className)"
                parts.append(style.paint(text, .removed))
            }
        }
        return parts.isEmpty ? style.paint("no changes", .dim) : parts.joined(separator: " ")
    }

    /// Returns the time and the process of a commit, such as `14:02:11  repl (4711)`; with the date if the commit is
    /// from another day.
    ///
    /// Returns an empty string for an unknown commit.
    func origin(_ commit: CommitRecord?) -> String {
        guard let commit else { return "" }
        let time = commit.time.description
        let isToday = time.prefix(10) == Timestamp.now.description.prefix(10)
        let clock =
            isToday
            ? String(time.dropFirst(11).prefix(8))
            : time.prefix(10) + " " + time.dropFirst(11).prefix(5)
        guard !commit.script.isEmpty else { return "\(clock)  another process" }
        return "\(clock)  \(commit.script) (\(commit.process))"
    }
}
