import Testing

/// Every file in examples/ prints the output in its header.
@Suite struct ExampleTests {
    static let names = TemporaryFolder.names(in: Tool.root + "/examples").filter {
        $0.hasSuffix(".lua")
    }

    @Test(arguments: names)
    func `an example prints the output in its header`(name: String) throws {
        let path = "\(Tool.root)/examples/\(name)"
        let outcome = try Tool.run([path]).expectSuccess()
        #expect(outcome.error == "")
        let expected = Self.expectedLines(try contents(of: path))
        if let expected { #expect(outcome.output.split(separator: "\n") == expected) }
    }

    /// The indented lines of the header after "Prints:"; nil if they show only the form.
    static func expectedLines(_ source: String) -> [Substring]? {
        let header = source.split(separator: "\n", omittingEmptySubsequences: false)
            .prefix { $0.hasPrefix("--") }
        guard let start = header.firstIndex(of: "-- Prints:") else { return nil }
        return header[(start + 1)...].compactMap {
            $0.hasPrefix("--     ") ? $0.dropFirst(7) : nil
        }
    }

    /// The header's output for a run with the address of a server: the lines that begin with a bar.
    static func linesWithAddress(_ source: String) -> [Substring] {
        source.split(separator: "\n").prefix { $0.hasPrefix("--") }
            .filter { $0.hasPrefix("--  | ") }.map { $0.dropFirst(6) }
    }

    @Test func `examples exist, and maximum have their exact output in the header`() throws {
        #expect(Self.names.count >= 4)
        let exact = try Self.names.filter {
            Self.expectedLines(try contents(of: "\(Tool.root)/examples/\($0)")) != nil
        }
        #expect(exact.count >= Self.names.count - 1)
    }
}

/// Runs the example for real data with a small data set whose results are known.
@Suite struct PackagesExampleTests {
    static let list = """
        Package: editor
        Status: install ok installed
        Section: editors
        Maintainer: Ann <ann@example.org>
        Installed-Size: 2048
        Version: 1:2.0-1
        Depends: libwide (>= 1.2~rc1), mailer | postbox, spell-checker, ghost
        Description: edits
         and more
         .
         than that

        Package: libwide
        Status: install ok installed
        Section: libs
        Maintainer: Ann <ann@example.org>
        Installed-Size: 512
        Version: 1.2
        Description: wide letters

        Package: speller
        Status: install ok installed
        Section: text
        Maintainer: Bob <bob@example.org>
        Installed-Size: 1024
        Version: 0.9
        Pre-Depends: libwide (>> 1.2)
        Depends: libwide:any (<< 2)
        Provides: spell-checker (= 1), wordlist
        Description: spells

        Package: postbox
        Status: install ok installed
        Section: mail
        Maintainer: Bob <bob@example.org>
        Installed-Size: 256
        Version: 3
        Depends: libwide | speller
        Description: delivers

        Package: removed
        Status: deinstall ok config-files
        Section: mail
        Maintainer: Bob <bob@example.org>
        Version: 3
        Description: is gone

        """

    func run(_ arguments: [String] = []) throws -> Tool.Outcome {
        let folder = try TemporaryFolder()
        let list = try folder.write(Self.list, to: "status")
        let script = "\(Tool.root)/examples/packages.lua"
        return try Tool.run([script, list] + arguments, in: folder.path)
    }

    @Test func `the example of packages shows counts, the largest, links and an observer`() throws {
        let outcome = try run()
        #expect(outcome.error == "")
        let lines = outcome.lines
        #expect(
            lines.first
                == "4 packages, 2 virtual packages, 4 sections, 2 maintainers, 7 dependencies (2 unmet)"
        )
        #expect(lines.dropFirst().first?.hasPrefix("import: ") == true)
        let largest = try #require(lines.firstIndex(of: "Largest packages"))
        #expect(lines[largest + 1].contains("2.0 MB  editor"))
        let wanted = try #require(lines.firstIndex(of: "Most depended-on"))
        #expect(lines[wanted + 1].contains("    3  libwide"))
        #expect(lines.contains("editor requires 3 packages, 1.8 MB; the largest are"))
        #expect(
            lines.suffix(4) == [
                "    at first 0 packages", "    entered at 1: a-new-giant",
                "    changed at 1: a-new-giant", "    left: a-new-giant",
            ])
    }

    @Test func `the example of packages keeps the objects in a store for later`() throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/packages.moonpool"
        for _ in 0..<2 { #expect(try run([store]).exitCode == 0) }
        try Tool.lua(
            "print(#require('moonpool').open(arg[1]):objects 'Package')", store
        ).expectOutput("6\n")
    }
}

/// The shop with five migrations.
@Suite struct ShopMigrationsExampleTests {
    static let folder = Tool.root + "/examples/shop-migrations"

    @Test func `an example prints the output in its header`() throws {
        let outcome = try Tool.run([Self.folder + "/shop.lua"]).expectSuccess()
        #expect(outcome.error == "")
        let expected = ExampleTests.expectedLines(try contents(of: Self.folder + "/shop.lua"))
        #expect(outcome.output.split(separator: "\n") == expected)
    }

    @Test func `the migrations of an example pass their tests`() throws {
        let outcome = try Tool.run(["migrate", "test", Self.folder + "/migrations"]).expectSuccess()
        #expect(outcome.error == "")
        #expect(outcome.lines.last == "9 tests, none failed")
        #expect(outcome.lines.contains("ok      0002 split_names: a single name"))
    }
}
