import Charts
import ObjectStore
import StoreBindings

/// The formats of a rehearsal report for reviewers: text, JSON, Markdown or a self-contained HTML page.
package enum RehearsalFormat: String, CaseIterable, Sendable {
    /// Lines of text.
    case text = "txt"
    /// The documented JSON format, version 1.
    case json
    /// Markdown with tables.
    case markdown = "md"
    /// A self-contained HTML page.
    case html

    /// Creates the format from the extension of a file name.
    ///
    /// Throws `invalid_argument` for other extensions.
    package init(path: String) throws {
        let ending = path.split(separator: ".").last.map(String.init) ?? ""
        guard let format = RehearsalFormat(rawValue: ending == "htm" ? "html" : ending) else {
            throw StoreError(
                .invalidArgument,
                "'\(path)': expected a report file ending in .txt, .json, .md or .html")
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
        case .markdown: return Self.markdown(report)
        case .html: return Self.html(report)
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

    /// Returns a row of the table of classes.
    private static func row(_ name: String, _ migration: AppliedMigration) -> [String] {
        let item = migration.report.classes.first { $0.name == name }
        return [
            name, "\(item?.created ?? 0)", "\(item?.deleted ?? 0)", "\(item?.changed ?? 0)",
            "\(dropped(name, migration))", "\(item?.rewrittenValues ?? 0)",
        ]
    }

    private static let columns = [
        "Class", "Created", "Deleted", "Changed", "Dropped values", "Rewritten values",
    ]

    private static func title(_ migration: AppliedMigration) -> String {
        "\(MigrationState.number(migration.file.number)) \(migration.file.name)"
    }

    // MARK: Markdown

    private static func markdown(_ report: UpReport) -> String {
        func cell(_ text: String) -> String {
            text.replacing("|", with: "\\|").replacing("\n", with: " ")
        }
        func code(_ text: String?) -> String {
            text.map { "`\(cell($0).replacing("`", with: "'"))`" } ?? "–"
        }
        var lines = ["# Rehearsal of \(cell(report.store))", ""]
        if report.applied.isEmpty { lines += ["Nothing is pending.", ""] }
        for migration in report.applied {
            lines += ["## \(cell(title(migration)))", ""]
            lines += migration.report.differences.map { "- \(cell($0.description))" }
            if !migration.report.differences.isEmpty { lines.append("") }
            let names = classNames(migration)
            if !names.isEmpty {
                lines.append("| " + columns.joined(separator: " | ") + " |")
                lines.append(
                    "|---|" + columns.dropFirst().map { _ in "---:" }.joined(separator: "|") + "|")
                for name in names {
                    lines.append(
                        "| " + row(name, migration).map(cell).joined(separator: " | ") + " |")
                }
                lines.append("")
            }
            for item in migration.report.classes where !item.samples.isEmpty {
                lines += [
                    "| Object of \(cell(item.name)) | Property | Before | After |",
                    "|---|---|---|---|",
                ]
                for sample in item.samples {
                    for change in sample.changes {
                        lines.append(
                            "| \(cell(sample.key)) | \(cell(change.property)) | \(code(change.old)) | "
                                + "\(code(change.new)) |")
                    }
                }
                lines.append("")
            }
            if migration.failureCount > 0 {
                lines += ["**\(migration.failureCount) objects fail:**", ""]
                lines += migration.failures.map { "- \(cell($0.object)): \(cell($0.message))" }
                lines.append("")
            }
        }
        lines.append(MigrationText.cost(report))
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: HTML

    private static func html(_ report: UpReport) -> String {
        func cell(_ text: String?) -> String { text.map(MarkupText.escaped) ?? "<i>nil</i>" }
        var body = "<h1>Rehearsal of \(cell(report.store))</h1>\n"
        if report.applied.isEmpty { body += "<p>Nothing is pending.</p>\n" }
        for migration in report.applied {
            body += "<h2>\(cell(title(migration)))</h2>\n"
            if !migration.report.differences.isEmpty {
                body += "<ul>\n"
                for difference in migration.report.differences {
                    body += "<li>\(cell(difference.description))</li>\n"
                }
                body += "</ul>\n"
            }
            let names = classNames(migration)
            if !names.isEmpty {
                body += "<table>\n<tr>" + columns.map { "<th>\($0)</th>" }.joined() + "</tr>\n"
                for name in names {
                    body +=
                        "<tr>" + row(name, migration).map { "<td>\(cell($0))</td>" }.joined()
                        + "</tr>\n"
                }
                body += "</table>\n"
            }
            for item in migration.report.classes where !item.samples.isEmpty {
                body += "<h3>Changed objects of \(cell(item.name))</h3>\n<table>\n"
                body += "<tr><th>Object</th><th>Property</th><th>Before</th><th>After</th></tr>\n"
                for sample in item.samples {
                    for change in sample.changes {
                        body +=
                            "<tr><td>\(cell(sample.key))</td><td>\(cell(change.property))</td>"
                            + "<td class=old>\(cell(change.old))</td><td class=new>\(cell(change.new))</td></tr>\n"
                    }
                }
                body += "</table>\n"
            }
            if migration.failureCount > 0 {
                body += "<h3 class=bad>\(migration.failureCount) objects fail</h3>\n<ul>\n"
                for failure in migration.failures {
                    body += "<li>\(cell(failure.object)): \(cell(failure.message))</li>\n"
                }
                body += "</ul>\n"
            }
        }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <title>Rehearsal of \(cell(report.store))</title>
            <style>
            body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
            table { border-collapse: collapse; margin: 1rem 0; }
            th, td { border: 1px solid #ccc; padding: .25rem .6rem; text-align: left; vertical-align: top; }
            th { background: #f3f3f3; }
            .old { background: #fdeaea; } .new { background: #e9f7ec; } .bad { color: #b00020; }
            </style>
            </head>
            <body>
            \(body)<p>\(cell(MigrationText.cost(report)))</p>
            </body>
            </html>

            """
    }
}
