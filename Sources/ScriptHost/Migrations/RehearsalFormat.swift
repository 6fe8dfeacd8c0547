import ObjectStore
import StoreBindings

/// The formats of a rehearsal report for reviewers: text or JSON.
package enum RehearsalFormat: String, CaseIterable, Sendable {
    /// Lines of text.
    case text = "txt"
    /// The documented JSON format, version 1.
    case json

    /// Creates the format from the extension of a file name.
    ///
    /// Throws `invalid_argument` for other extensions.
    package init(path: String) throws {
        let ending = path.split(separator: ".").last.map(String.init) ?? ""
        guard let format = RehearsalFormat(rawValue: ending) else {
            throw StoreError(
                .invalidArgument,
                "'\(path)': expected a report file ending in .txt or .json")
        }
        self = format
    }

    /// Returns the report of a rehearsal in this format.
    package func text(_ report: UpReport) -> String {
        switch self {
        case .text:
            return (MigrationText.lines(report) + [MigrationText.cost(report)])
                .joined(separator: "\n") + "\n"
        case .json: return Self.value(report).json + "\n"
        }
    }

    /// Returns the report in the documented format for programs.
    package static func value(_ report: UpReport) -> ReportValue {
        .members([
            "version": .count(1), "store": .text(report.store),
            "seconds": .double(report.seconds), "peak_memory": .count(report.peakMemory),
            "estimate": report.estimate?.value ?? .null,
            "migrations": migrations(report),
        ])
    }

    /// Returns the migrations in the documented format.
    static func migrations(_ report: UpReport) -> ReportValue {
        .array(
            report.applied.map { migration in
                .members([
                    "number": .count(migration.file.number), "name": .text(migration.file.name),
                    "seconds": .double(migration.seconds),
                    "differences": .texts(migration.report.differences.map(\.description)),
                    "classes": .object(
                        classNames(migration).map { .init($0, value($0, migration)) }),
                    "failed": .count(migration.failureCount),
                    "failures": .array(
                        migration.failures.map {
                            .members(["object": .text($0.object), "message": .text($0.message)])
                        }),
                ])
            })
    }

    /// Returns the names of the classes with changes or losses.
    private static func classNames(_ migration: AppliedMigration) -> [String] {
        let touched = migration.report.classes.map(\.name)
        let lost = migration.report.dropped.map {
            String($0.qualifiedName.split(separator: ".").first ?? "")
        }
        return Set(touched + lost).sorted()
    }

    private static func dropped(_ name: String, _ migration: AppliedMigration) -> Int {
        migration.report.dropped.filter {
            $0.qualifiedName == name || $0.qualifiedName.hasPrefix(name + ".")
        }
        .reduce(0) { $0 + $1.count }
    }

    private static func value(_ name: String, _ migration: AppliedMigration) -> ReportValue {
        let item = migration.report.classes.first { $0.name == name }
        return .members([
            "created": .count(item?.created ?? 0), "deleted": .count(item?.deleted ?? 0),
            "changed": .count(item?.changed ?? 0),
            "dropped_values": .count(dropped(name, migration)),
            "rewritten_values": .count(item?.rewrittenValues ?? 0),
            "samples": .array(
                (item?.samples ?? []).map { sample in
                    .members([
                        "key": .text(sample.key),
                        "changes": .array(
                            sample.changes.map { change in
                                .members([
                                    "property": .text(change.property),
                                    "old": change.old.map(ReportValue.text) ?? .null,
                                    "new": change.new.map(ReportValue.text) ?? .null,
                                ])
                            }),
                    ])
                }),
        ])
    }
}
