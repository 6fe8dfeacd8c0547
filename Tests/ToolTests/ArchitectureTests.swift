import Testing

/// The article about the architecture agrees with the code.
@Suite struct ArchitectureTests {
    private static let article: String = {
        let catalog = ReadmeTests.catalogs.first { $0.hasSuffix("/Moonpool.docc") } ?? ""
        return "\(Tool.root)/\(catalog)/Architecture.md"
    }()

    @Test func `the diagram and the table show the modules of the import check`()
        throws
    {
        let script = Tool.root + "/scripts/diagram"
        let outcome = try Subprocess("/bin/bash", [script, "--check"], in: Tool.root).finish()
        #expect(outcome.exitCode == 0, "\(outcome.error)")
    }

    @Test func `every type in the article exists`() throws {
        let modules = ["Sources", "Tests"].flatMap {
            TemporaryFolder.names(in: "\(Tool.root)/\($0)")
        }
        let known = try Self.declarations().union(modules)
            .union([
                "ArgumentParser", "Dispatch", "Logging", "Observation", "FoundationEssentials",
                "Sendable",
                "Leaves", "Tests", "Sources",
            ])
        let named = try contents(of: Self.article)
            .matches(of: /`([A-Z][A-Za-z]+)(\.[a-z][A-Za-z]+)?`/).filter { $0.2 != ".swift" }
        #expect(named.count > 50)
        let unknown = Set(named.map { String($0.1) }).subtracting(known).sorted()
        #expect(unknown.isEmpty)
    }

    /// The names of all types in Sources.
    private static func declarations() throws -> Set<String> {
        let script = """
            grep -rhoE '(class|struct|enum|protocol|actor|typealias) [A-Z][A-Za-z]+' \
            --include='*.swift' Sources | sort -u
            """
        let outcome = try Subprocess("/bin/sh", ["-c", script], in: Tool.root).finish()
        return Set(outcome.lines.compactMap { $0.split(separator: " ").last.map(String.init) })
    }
}
