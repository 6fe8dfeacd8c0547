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

    /// The table of the page's section.
    static var table: String {
        let rows = MetaCommand.all.map { command in
            let usage = command.usage.isEmpty ? "" : " \(command.usage)"
            let call = ".\(command.name)\(usage)".replacing("|", with: "\\|")
            return "| `\(call)` | \(command.summary) |\n"
        }
        return "| command | description |\n|---|---|\n" + rows.joined()
    }

    @Test func `the page's table matches the declarations; scripts/reference regenerates it`()
        throws
    {
        var page = try String(contentsOfFile: Self.path, encoding: .utf8)
        let start = try #require(page.range(of: "\n## Commands\n\n")?.upperBound)
        let end = try #require(page.range(of: "\n## Reloading\n")?.lowerBound)
        if ProcessInfo.processInfo.environment["MOONPOOL_WRITE_REFERENCE"] != nil {
            page.replaceSubrange(start..<end, with: Self.table)
            try page.write(toFile: Self.path, atomically: true, encoding: .utf8)
        } else {
            #expect(page[start..<end] == Self.table)
        }
    }

    @Test func `every command has a unique name and description`() {
        #expect(Set(MetaCommand.all.map(\.name)).count == MetaCommand.all.count)
        #expect(Set(MetaCommand.all.map(\.summary)).count == MetaCommand.all.count)
        for command in MetaCommand.all {
            #expect(
                command.summary.first?.isUppercase == true && command.summary.last == ".",
                ".\(command.name)")
        }
    }
}
