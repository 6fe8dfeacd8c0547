import EventLoops
import ObjectStore

/// Formats reports of migrations as text.
package enum MigrationText {
    /// Returns the lines of a report of `up` or of a rehearsal.
    package static func lines(_ report: UpReport) -> [String] {
        guard !report.applied.isEmpty else { return ["no pending migrations"] }
        return report.applied.flatMap {
            migration(
                $0, verb: report.isRehearsal ? "rehearsed" : "applied", isTrial: report.isRehearsal)
        }
    }

    /// Returns the lines about one migration; for a rehearsal, with the schema differences and samples.
    package static func migration(
        _ applied: AppliedMigration, verb: String = "applied", isTrial: Bool = false
    ) -> [String] {
        var lines = [
            "\(MigrationState.number(applied.file.number)) \(applied.file.name)  \(verb) in "
                + "\(rounded(applied.seconds)) s"
        ]
        if isTrial { lines += applied.report.differences.map { "  \($0)" } }
        for item in applied.report.classes {
            lines.append(
                "  \(item.name): \(count(item.before, "objects")) before, \(item.after) after; "
                    + "\(item.created) created, \(item.deleted) deleted, \(item.changed) changed")
            for sample in item.samples where isTrial {
                for change in sample.changes {
                    lines.append(
                        ControlCharacters.escaped(
                            "    \(sample.key): \(change.property) = \(short(change.old)) → \(short(change.new))",
                            onOneLine: true))
                }
            }
        }
        for item in applied.report.dropped {
            let since = applied.writtenSince?[item.qualifiedName] ?? 0
            lines.append(
                "  dropped: \(count(item.count, item.isClass ? "objects" : "values")) of \(item.qualifiedName)"
                    + (since > 0 ? ", \(since) of them written since the migration" : "")
            )
        }
        if applied.failureCount > 0 {
            lines.append("  failed: \(count(applied.failureCount, "objects"))")
            lines += applied.failures.map { "    \($0.object): \($0.message)" }
        }
        if let backup = applied.backup { lines.append("  backup: \(backup)") }
        return lines
    }

    /// Returns the lines of a report of `down`.
    package static func down(_ report: MigrationRunner.DownReport) -> [String] {
        report.undone.flatMap { migration($0, verb: "reverted") }
    }

    /// Returns the lines of a report of `undo`.
    package static func undo(_ report: MigrationRunner.UndoReport) -> [String] {
        let numbers = report.undone.map { "\($0)" }
        let moment =
            switch numbers.count {
            case 0: "the last migration was reverted"
            case 1: "migration \(numbers[0])"
            default: "migrations \(numbers[0]) to \(numbers[numbers.count - 1])"
            }
        var lines = ["'\(report.store)' has the state before \(moment), from \(report.restored)"]
        switch report.laterCommits {
        case .kept(let writes) where writes.commits > 0:
            lines.append(
                "kept \(count(writes.commits, "commits")) made since: \(count(writes.created, "objects")) "
                    + "created, \(writes.changed) changed, \(writes.deleted) deleted")
            for loss in writes.losses {
                let what = loss.qualifiedName.contains(".") ? "values" : "objects"
                lines.append(
                    loss.reason == .missingValue
                        ? "  without a value: \(loss.qualifiedName) in \(count(loss.count, "objects")) created after the migration"
                        : "  not kept: \(count(loss.count, what)) of \(loss.qualifiedName): \(loss.reason.explanation)"
                )
            }
            if writes.losses.contains(where: { $0.reason == .noSuchProperty }) {
                lines.append("  down translates such values with its functions instead")
            }
        case .lost(let number?, let isChoice) where number > 0:
            lines.append(
                "\(count(number, "commits")) made since the last migration \(number == 1 ? "is" : "are") not in it"
                    + (isChoice
                        ? ""
                        : ", because the history of the store does not contain all of them; down keeps them")
            )
        default: break
        }
        if report.commitsBetween > 0 {
            lines.append(
                "not kept: \(count(report.commitsBetween, "commits")) made while the migrations ran"
            )
        }
        return lines + ["the previous store is kept in \(report.kept)"]
    }

    /// Returns the lines of a report of `baseline`.
    package static func baseline(_ report: MigrationRunner.BaselineReport) -> [String] {
        report.recorded.map {
            "\(MigrationState.number($0.number)) \($0.name)  recorded as applied, not run"
        }
    }

    /// Returns the states of several stores as a table with one line for each.
    package static func table(_ rows: [(store: String, state: MigrationState)]) -> [String] {
        let cells =
            [["store", "version", "applied", "pending", "state"]]
            + rows.map { store, state in
                [
                    store, "\(state.schemaVersion)", "\(state.applied.count)",
                    "\(state.pending.count)",
                    state.condition.text,
                ]
            }
        let widths = (0..<4).map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { row in
            (0..<4).map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return column == 0 ? row[column] + space : space + row[column]
            }.joined(separator: "  ") + "  " + row[4]
        }
    }

    /// Returns the lines of findings of the linter.
    package static func findings(_ findings: [SchemaLint.Finding]) -> [String] {
        guard !findings.isEmpty else { return ["the change does not lose or break data"] }
        return findings.flatMap { finding in
            var lines = ["\(finding.rule.rawValue): \(finding.message)"]
            if !finding.objects.isEmpty {
                let isAll = finding.count == finding.objects.count
                lines.append("  " + finding.objects.joined(separator: "; ") + (isAll ? "" : "; …"))
            }
            return lines
        }
    }

    /// Returns the time and the memory of a run.
    package static func cost(_ report: UpReport) -> String {
        let cost = "\(rounded(report.seconds)) s, at most \(report.peakMemory >> 20) MiB of memory"
        guard let estimate = report.estimate else { return cost }
        return cost
            + " for \(estimate.copiedObjects) of \(estimate.objects) objects; all of them would take about "
            + "\(rounded(estimate.seconds)) s and \(estimate.memory >> 20) MiB"
    }

    /// Returns a number with a noun: `1 value`, `2 values`.
    static func count(_ number: Int, _ what: String) -> String {
        "\(number) \(number == 1 ? String(what.dropLast()) : what)"
    }

    private static func rounded(_ number: Double) -> String {
        String((number * 1000).rounded() / 1000)
    }

    private static func short(_ text: String?) -> String {
        guard let text else { return "nil" }
        return text.count > 60 ? "\(text.prefix(57))…" : text
    }
}
