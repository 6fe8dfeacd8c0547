import StoreBindings

/// Reports of migrations for people.
package enum MigrationText {
    /// A report of `up` or of a dry run, in lines.
    package static func lines(_ report: ReportValue) -> [String] {
        let applied = report["applied"].elements
        guard !applied.isEmpty else { return ["nothing to do"] }
        let verb = report["dry_run"] == .bool(true) ? "tried" : "applied"
        return applied.flatMap { migration($0, verb: verb, isTrial: verb == "tried") }
    }

    /// What one migration did, in lines.
    ///
    /// Of a trial with what differs and samples, which is what one is for.
    package static func migration(
        _ report: ReportValue, verb: String = "applied", isTrial: Bool = false
    ) -> [String] {
        var lines = [
            "\(number(report["number"])) \(plain(report["name"]))  \(verb) in "
                + "\(plain(report["seconds"])) s"
        ]
        for text in report["differences"].elements where isTrial {
            lines.append("  \(plain(text))")
        }
        for item in report["classes"].elements {
            lines.append(
                "  \(plain(item["class"])): \(objects(item["before"])) before, "
                    + "\(plain(item["after"])) after; \(plain(item["created"])) created, "
                    + "\(plain(item["deleted"])) deleted, \(plain(item["changed"])) changed")
            for sample in item["samples"].elements where isTrial {
                lines.append("    - \(plain(sample["before"]))")
                lines.append("    + \(plain(sample["after"]))")
            }
        }
        for item in report["dropped"].elements {
            lines.append(
                "  dropped: \(count(item["count"], plain(item["what"]))) of \(plain(item["place"]))"
            )
        }
        if report["failed"] != .int(0) {
            lines.append("  failed: \(objects(report["failed"]))")
            for item in report["failures"].elements {
                lines.append("    \(plain(item["object"])): \(plain(item["message"]))")
            }
        }
        if case .text(let path) = report["backup"] { lines.append("  backup: \(path)") }
        return lines
    }

    /// A report of `down`, in lines.
    package static func down(_ report: ReportValue) -> [String] {
        migration(report["down"], verb: "taken back")
    }

    /// A report of `undo`, in lines.
    package static func undo(_ report: ReportValue) -> [String] {
        let undone = report["undone"]
        let moment =
            undone == .null ? "the last migration was taken back" : "migration \(plain(undone))"
        return [
            "'\(plain(report["store"]))' is as it was before \(moment), from "
                + plain(report["restored"]),
            "what it was until now is kept in \(plain(report["kept"]))",
        ]
    }

    /// A report of `baseline`, in lines.
    package static func baseline(_ report: ReportValue) -> [String] {
        report["recorded"].elements.map {
            "\(number($0["number"])) \(plain($0["name"]))  recorded as applied, not run"
        }
    }

    /// What the lint has found, in lines.
    package static func findings(_ findings: ReportValue) -> [String] {
        guard !findings.elements.isEmpty else { return ["nothing would be lost or broken"] }
        return findings.elements.flatMap { finding in
            let objects = finding["objects"].elements.map(plain)
            var lines = ["\(plain(finding["rule"])): \(plain(finding["message"]))"]
            if !objects.isEmpty {
                let isAll = finding["count"] == .count(objects.count)
                lines.append("  " + objects.joined(separator: "; ") + (isAll ? "" : "; …"))
            }
            return lines
        }
    }

    /// Time and memory that a run has taken.
    package static func cost(_ report: ReportValue) -> String {
        guard case .int(let memory) = report["peak_memory"] else { return "" }
        return "\(plain(report["seconds"])) s, at most \(memory >> 20) MiB of memory"
    }

    private static func objects(_ number: ReportValue) -> String { count(number, "objects") }

    /// `1 value`, `2 values`.
    private static func count(_ number: ReportValue, _ what: String) -> String {
        "\(plain(number)) \(number == .int(1) ? String(what.dropLast()) : what)"
    }

    private static func number(_ value: ReportValue) -> String {
        guard case .int(let number) = value else { return "" }
        return MigrationState.number(Int(clamping: number))
    }

    /// A value as text: objects as names and values, strings in them quoted.
    static func plain(_ value: ReportValue) -> String {
        switch value {
        case .null: "nil"
        case .text(let text): text
        case .double(let number): String((number * 1000).rounded() / 1000)
        case .object(let members):
            members.map { "\($0.name) = \(inner($0.value))" }.joined(separator: ", ")
        case .array(let values): "{ \(values.map(inner).joined(separator: ", ")) }"
        default: value.json
        }
    }

    private static func inner(_ value: ReportValue) -> String {
        switch value {
        case .text(let text): text.count > 60 ? "\"\(text.prefix(57))…\"" : "\"\(text)\""
        case .double: value.json
        default: plain(value)
        }
    }
}
