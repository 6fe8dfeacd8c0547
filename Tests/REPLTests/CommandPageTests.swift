import Foundation
import Testing

@testable import REPL

/// Dot commands are declared once: `.help`, completion and the prompt's page show the declarations.
@Suite struct CommandPageTests {
    static let path: String = {
        let here = URL(filePath: #filePath)
        return here.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path + "/Sources/REPL/REPL.docc/REPL.md"
    }()

    private struct Declaration {
        let name: String
        let usage: String
        let summary: String
    }

    private static func declarations() throws -> [Declaration] {
        try TestSession().with { session in
            session.commands.map {
                Declaration(
                    name: $0["name"].text ?? "", usage: $0["usage"].text ?? "",
                    summary: $0["summary"].text ?? "")
            }
        }
    }

    /// The table of the page's section.
    private static func table() throws -> String {
        let rows = try declarations().map { command in
            let usage = command.usage.isEmpty ? "" : " \(command.usage)"
            let call = ".\(command.name)\(usage)".replacing("|", with: "\\|")
            return "| `\(call)` | \(command.summary) |\n"
        }
        return "| command | description |\n|---|---|\n" + rows.joined()
    }

    @Test func `the page's table matches the declarations; see scripts/reference`() throws {
        var page = try String(contentsOfFile: Self.path, encoding: .utf8)
        let start = try #require(page.range(of: "\n## Commands\n\n")?.upperBound)
        let end = try #require(page.range(of: "\n## Reloading\n")?.lowerBound)
        if ProcessInfo.processInfo.environment["MOONPOOL_WRITE_REFERENCE"] != nil {
            page.replaceSubrange(start..<end, with: try Self.table())
            try page.write(toFile: Self.path, atomically: true, encoding: .utf8)
        } else {
            #expect(try page[start..<end] == Self.table())
        }
    }

    @Test func `every command has a unique name and description`() throws {
        let all = try Self.declarations()
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(Set(all.map(\.summary)).count == all.count)
        for command in all {
            #expect(
                command.summary.first?.isUppercase == true && command.summary.last == ".",
                ".\(command.name)")
        }
    }
}
