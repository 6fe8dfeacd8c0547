import DataFormats
import ObjectStore
import Transfer

/// The report of an import, as text or as JSON.
struct ImportSummary {
    let report: ImportReport
    let isDryRun: Bool

    /// The lines of the text report.
    var text: String {
        var lines: [String] = []
        for classSchema in report.newSchema {
            lines.append("new class \(classSchema.name)")
            guard isDryRun else { continue }
            let width = classSchema.properties.map(\.name.count).max() ?? 0
            for property in classSchema.properties {
                let space = String(repeating: " ", count: width - property.name.count)
                lines.append("  \(property.name)\(space)  \(PropertySyntax.text(of: property))")
            }
        }
        lines += report.notes.map { "note: \($0)" }
        var counts = ["\(report.created) created", "\(report.updated) updated"]
        if report.changed > 0 {
            counts.append("\(report.changed) \(report.changed == 1 ? "value" : "values") rounded")
        }
        if report.rejected > 0 { counts.append("\(report.rejected) rejected") }
        lines.append(
            counts.joined(separator: ", ") + (isDryRun ? " (dry run: nothing committed)" : ""))
        lines += report.reasons.map { "  \($0)" }
        if report.rejected > report.reasons.count { lines.append("  …") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The summary as a JSON object on one line.
    var json: String {
        var json = JSONWriter()
        json.beginObject()
        func count(_ name: String, _ number: Int) {
            json.key(name)
            json.int(Int64(number))
        }
        count("rows", report.rows)
        count("created", report.created)
        count("updated", report.updated)
        count("rejected", report.rejected)
        count("changed", report.changed)
        json.member("dry_run", isDryRun)
        func texts(_ name: String, _ texts: [String]) {
            json.key(name)
            json.beginArray()
            for text in texts { json.string(text) }
            json.endArray()
        }
        texts("reasons", report.reasons)
        texts("new_classes", report.newClasses)
        json.key("schema")
        json.beginObject()
        for classSchema in report.newSchema {
            json.key(classSchema.name)
            json.beginObject()
            for property in classSchema.properties {
                json.key(property.name)
                json.string(PropertySyntax.text(of: property))
            }
            json.endObject()
        }
        json.endObject()
        texts("notes", report.notes)
        json.endObject()
        json.newLine()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
