import Testing

/// The article about the architecture agrees with the code.
@Suite struct ArchitectureTests {
    private static let article: String = {
        let catalog = ReadmeTests.catalogs.first { $0.hasSuffix("/Moonpool.docc") } ?? ""
        return "\(Tool.root)/\(catalog)/Architecture.md"
    }()

    @Test func `the diagram and the table show the modules of the import check`() throws {
        let script = Tool.root + "/scripts/diagram"
        try Subprocess("/bin/bash", [script, "--check"], in: Tool.root).finish().expectSuccess()
    }

    @Test func `every type in the article exists`() throws {
        let modules = ["Sources", "Tests"].flatMap {
            TemporaryFolder.names(in: "\(Tool.root)/\($0)")
        }
        let known = try Self.declarations().union(modules)
            .union([
                "ArgumentParser", "Dispatch", "Logging", "Observation", "FoundationEssentials",
                "Sendable", "ServiceLifecycle", "Leaves", "Tests", "Sources",
            ])
        let named = try contents(of: Self.article)
            .matches(of: /`([A-Z][A-Za-z]+)(\.[a-z][A-Za-z]+)?`/).filter { $0.2 != ".swift" }
        #expect(named.count > 50)
        let unknown = Set(named.map { String($0.1) }).subtracting(known).sorted()
        #expect(unknown.isEmpty)
    }

    @Test func `every function in the article exists in a file of its type`() throws {
        let named = try contents(of: Self.article)
            .matches(of: /`([A-Z][A-Za-z]+)\.([a-z][A-Za-z]+)`/)
            .map { (type: $0.1, member: $0.2) }
            .filter { !["swift", "docc", "md", "init"].contains($0.member) }
        #expect(named.count > 50)
        let files = try Self.names()
        let unknown = named.filter { name in
            !files.values.contains {
                $0.types.contains(name.type) && $0.members.contains(name.member)
            }
        }
        #expect(unknown.map { "\($0.type).\($0.member)" } == [])
    }

    /// The types that each file in Sources declares or extends, and the members that it declares.
    private static func names() throws -> [Substring: (
        types: Set<Substring>, members: Set<Substring>
    )] {
        let script = """
            grep -roE '(class|struct|enum|protocol|extension|func|var|let|case) `?[A-Za-z]+' \
            --include='*.swift' Sources
            """
        let outcome = try Subprocess("/bin/sh", ["-c", script], in: Tool.root).finish()
        var files: [Substring: (types: Set<Substring>, members: Set<Substring>)] = [:]
        for line in outcome.lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            let words = parts[1].split(separator: " ")
            if words[1].first?.isUppercase == true {
                files[parts[0], default: ([], [])].types.insert(words[1])
            } else {
                files[parts[0], default: ([], [])].members.insert(words[1])
            }
        }
        return files
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
