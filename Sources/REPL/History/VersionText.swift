import LineEditing
import ObjectStore

/// Versions and what they changed, as text.
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

    /// Returns the differences between two versions by object and property, one per line.
    func lines(_ difference: VersionDifference, limit: Int = 200) -> [String] {
        var lines = [
            style.paint(
                "version \(difference.first.version) → \(difference.second.version)", .strong)
        ]
        if difference.classes.isEmpty { return lines + [style.paint("no differences", .dim)] }
        var count = 0
        func add(_ line: String) {
            count += 1
            if count <= limit { lines.append(line) }
        }
        for entry in difference.classes {
            for object in entry.inserted {
                add(
                    style.paint(
                        "+ " + summary(object, entry.classSchema, difference.second), .added))
            }
            for object in entry.deleted {
                add(
                    style.paint(
                        "- " + summary(object, entry.classSchema, difference.first), .removed))
            }
            for change in entry.modified {
                add(
                    "~ "
                        + style.paint(
                            label(change.object, entry.classSchema, difference.second), .type))
                let width =
                    change.properties.map { TerminalText.width($0.property.name) }.max() ?? 0
                for property in change.properties {
                    let name = property.property.name
                    let padding = String(
                        repeating: " ", count: width - TerminalText.width(name))
                    let old = style.paint(text(property.old, difference.first), .removed)
                    let new = style.paint(text(property.new, difference.second), .added)
                    add("    \(style.paint(name, .key))\(padding)  \(old) → \(new)")
                }
            }
        }
        if count > limit {
            lines.append(style.paint("… \(ValueText.count(count - limit)) more lines", .dim))
        }
        return lines
    }

    /// Returns a label such as `Dog 3`, or `Dog #17` for an object without a primary key.
    func label(_ object: ObjectReference, _ classSchema: ClassSchema, _ view: StoreView) -> String {
        guard let key = classSchema.primaryKey,
            let value = try? view.value(key, of: object.key, in: classSchema)
        else { return "\(classSchema.name) #\(object.key.rawValue)" }
        return "\(classSchema.name) \(text(value, view))"
    }

    private func summary(
        _ object: ObjectReference, _ classSchema: ClassSchema, _ view: StoreView
    ) -> String {
        let values = classSchema.properties.filter { !$0.isBacklinks && $0.isSingle }.prefix(6)
            .compactMap { property -> String? in
                guard !property.isPrimary,
                    let value = try? view.value(property, of: object.key, in: classSchema)
                else { return nil }
                return "\(property.name) = \(text(value, view))"
            }
        let name = label(object, classSchema, view)
        return values.isEmpty ? name : "\(name) { \(values.joined(separator: ", ")) }"
    }

    /// Returns a value as text on one line.
    func text(_ value: Value, _ view: StoreView) -> String {
        switch value {
        case .null: return "nil"
        case .object(let reference):
            guard let target = view.schema.find(table: reference.table) else { return "object" }
            return label(reference, target, view)
        case .string(let string):
            let (text, hidden) = ValueText.quoted(string.utf8, limit: 60)
            return TerminalText.truncate(hidden > 0 ? text + "…" : text, to: 60)
        default: return TerminalText.truncate(value.summary, to: 60)
        }
    }
}
