import Charts
import ObjectStore
import StoreBindings

/// A finding of `check`, `lint` or `test`, as text and for CI systems.
package struct MigrationFinding: Sendable {
    /// The kind of finding.
    package enum Kind: String, Sendable {
        /// The store and the folder do not match.
        case drift
        /// A file does not compile, or its migration fails.
        case failure
        /// A test fails, or has no migration.
        case test
        /// The migration drops values or objects.
        case drops
        /// The migration changes values of properties that existed before.
        case rewrites
        /// A change of the schema would lose data, or is not possible with the existing data.
        case data
    }

    /// The kind of finding.
    package let kind: Kind
    /// The code of the error or the rule, such as `type_mismatch`.
    package let code: String
    /// The message, with the advice.
    package let message: String
    /// What to do about it; nil if nothing general can be said.
    package let advice: String?
    /// The path of the affected file.
    package let path: String?
    /// The line in the file, starting at 1.
    package let line: Int?
    /// The number of the migration.
    package let number: Int?
    /// The affected object, such as `Person id = 17`.
    package let object: String?
    /// The path of the store, if several stores were checked.
    package private(set) var store: String?

    init(
        _ kind: Kind, code: String? = nil, _ message: String, advice: String? = nil,
        path: String? = nil, line: Int? = nil, number: Int? = nil, object: String? = nil
    ) {
        self.kind = kind
        self.code = code ?? kind.rawValue
        self.message = message
        self.advice = advice
        self.path = path
        self.line = line
        self.number = number
        self.object = object
    }

    /// Creates a finding from the error that has ended a rehearsal of some files.
    package init(_ error: any Error, in files: [MigrationFile]) {
        let (code, message) = MigrationFailure.describe(error)
        let failure = error as? MigrationFailure
        let file = failure?.file ?? files.first { message.contains($0.path) }
        self.init(
            .failure, code: code, message, advice: MigrationFailure.advice(of: error),
            path: file?.path,
            line: failure?.line ?? file.flatMap { Self.line(in: message, of: $0.path) },
            number: file?.number, object: failure?.object)
    }

    /// Returns the same finding with the path of a store.
    package func about(_ store: String) -> MigrationFinding {
        var finding = self
        finding.store = store
        return finding
    }

    /// The message, with the path of the store if several stores were checked.
    fileprivate var storeMessage: String { (store.map { "\($0): " } ?? "") + message }

    /// Creates a finding from a finding of the schema linter.
    package init(data finding: SchemaLint.Finding, schemaPath: String?) {
        self.init(
            .data, code: finding.rule.rawValue, finding.message, advice: finding.advice,
            path: schemaPath,
            object: finding.qualifiedName)
    }

    /// Returns the line in a Lua message about a file: `path:12: …`.
    static func line(in message: String, of path: String) -> Int? {
        guard let range = message.firstRange(of: path + ":") else { return nil }
        return Int(message[range.upperBound...].prefix { $0.isNumber })
    }

    /// Returns the findings of the kinds in `gate` for migrations that were applied or rehearsed.
    package static func gated(_ report: UpReport, _ gate: Set<Kind>) -> [MigrationFinding] {
        report.applied.flatMap { migration -> [MigrationFinding] in
            var findings: [MigrationFinding] = []
            if gate.contains(.drops) {
                for dropped in migration.report.dropped {
                    findings.append(
                        MigrationFinding(
                            .drops,
                            MigrationText.count(
                                dropped.count, dropped.isClass ? "objects" : "values")
                                + " of \(dropped.qualifiedName) would be dropped",
                            advice:
                                "keep them with a rename or in another property, or accept the loss",
                            path: migration.file.path,
                            number: migration.file.number,
                            object: dropped.qualifiedName))
                }
            }
            if gate.contains(.rewrites) {
                for item in migration.report.classes where item.rewrittenValues > 0 {
                    findings.append(
                        MigrationFinding(
                            .rewrites,
                            MigrationText.count(item.rewrittenValues, "values")
                                + " of \(item.name) would be rewritten",
                            advice: "compare the samples of moonpool migrate up --dry-run",
                            path: migration.file.path, number: migration.file.number,
                            object: item.name))
                }
            }
            return findings
        }
    }

    /// The finding for programs.
    package var value: ReportValue {
        .members([
            "kind": .text(kind.rawValue), "code": .text(code), "message": .text(message),
            "advice": advice.map(ReportValue.text) ?? .null,
            "file": path.map(ReportValue.text) ?? .null,
            "line": line.map(ReportValue.count) ?? .null,
            "number": number.map(ReportValue.count) ?? .null,
            "object": object.map(ReportValue.text) ?? .null,
            "store": store.map(ReportValue.text) ?? .null,
        ])
    }
}

/// The output formats of `check`, `lint` and `test`.
package enum FindingFormat: String, CaseIterable, Sendable {
    /// Lines of text.
    case text
    /// One JSON object: `{"version":1,"findings":[…]}`.
    case json
    /// Annotations of GitHub Actions.
    case github
    /// A JUnit report, which most CI systems show.
    case junit

    /// Returns the findings in this format; `suite` is the name of the checked item, and `passed` contains the names
    /// without findings.
    package func text(_ findings: [MigrationFinding], suite: String, passed: [String]) -> String {
        switch self {
        case .text:
            if findings.isEmpty { return "no findings" }
            return findings.map { finding in
                let location = [finding.path, finding.line.map(String.init)].compactMap { $0 }
                    .joined(separator: ":")
                let object = finding.object.map { " (\($0))" } ?? ""
                return (finding.store.map { "\($0): " } ?? "")
                    + (location.isEmpty || finding.message.contains(location)
                        ? "" : "\(location): ")
                    + "\(finding.code): \(finding.message)\(object)"
            }.joined(separator: "\n")
        case .json:
            return ReportValue.members([
                "version": .count(1), "suite": .text(suite),
                "findings": .array(findings.map(\.value)), "passed": .texts(passed),
            ]).json
        case .github:
            return findings.map { finding in
                var fields = ["title=\(Self.escaped(finding.code, isProperty: true))"]
                if let path = finding.path {
                    fields.append("file=\(Self.escaped(path, isProperty: true))")
                }
                if let line = finding.line { fields.append("line=\(line)") }
                let level = [.drops, .rewrites].contains(finding.kind) ? "warning" : "error"
                let object = finding.object.map { " (\($0))" } ?? ""
                return "::\(level) \(fields.joined(separator: ","))::"
                    + Self.escaped(finding.storeMessage + object, isProperty: false)
            }.joined(separator: "\n")
        case .junit: return Self.junit(findings, suite, passed)
        }
    }

    /// Returns a text escaped for a workflow command of GitHub Actions.
    private static func escaped(_ text: String, isProperty: Bool) -> String {
        var result = text.replacing("%", with: "%25").replacing("\r", with: "%0D")
            .replacing("\n", with: "%0A")
        if isProperty { result = result.replacing(":", with: "%3A").replacing(",", with: "%2C") }
        return result
    }

    private static func junit(
        _ findings: [MigrationFinding], _ suite: String, _ passed: [String]
    ) -> String {
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<testsuites>",
            "<testsuite name=\"\(MarkupText.escaped(suite))\" tests=\"\(findings.count + passed.count)\" "
                + "failures=\"\(findings.count)\">",
        ]
        for name in passed { lines.append("<testcase name=\"\(MarkupText.escaped(name))\"/>") }
        for finding in findings {
            let name = [finding.store, finding.path, finding.object].compactMap { $0 }.joined(
                separator: " ")
            lines.append(
                "<testcase name=\"\(MarkupText.escaped(name.isEmpty ? finding.code : name))\""
                    + (finding.path.map { " file=\"\(MarkupText.escaped($0))\"" } ?? "")
                    + (finding.line.map { " line=\"\($0)\"" } ?? "") + ">")
            lines.append(
                "<failure type=\"\(MarkupText.escaped(finding.code))\" "
                    + "message=\"\(MarkupText.escaped(finding.storeMessage))\"/>")
            lines.append("</testcase>")
        }
        return (lines + ["</testsuite>", "</testsuites>"]).joined(separator: "\n")
    }
}
