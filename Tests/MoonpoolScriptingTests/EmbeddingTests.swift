import Glibc
import MoonpoolScripting
import Synchronization
import TestThreads
import Testing

@Suite struct EmbeddingTests {
    private static let root: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/")
    }()

    private func lines(of path: String) throws -> [String] {
        let file = try #require(fopen("\(Self.root)/\(path)", "r"))
        defer { fclose(file) }
        var lines: [String] = []
        var buffer = [CChar](repeating: 0, count: 4096)
        while fgets(&buffer, Int32(buffer.count), file) != nil {
            let line = String(
                decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            lines.append(String(line.drop { $0 == " " }.prefix { $0 != "\n" }))
        }
        return lines
    }

    @Test func `the example prints the documented output`() async throws {
        let printed = Mutex<[String]>([])
        try await Shop { line in printed.withLock { $0.append(line) } }.open()
        let source = try lines(of: "examples/embedding/Sources/rules/Shop.swift")
        let begin = try #require(source.firstIndex(of: "// It prints:"))
        let promised = source[(begin + 1)...].prefix { $0.hasPrefix("//") }.map {
            String($0.dropFirst(2).drop { $0 == " " })
        }
        #expect(printed.withLock { $0 } == promised)
    }

    @Test(arguments: ["README.md", "Sources/MoonpoolScripting/MoonpoolScripting.docc/Embedding.md"])
    func `every Swift block of the pages is compiled`(page: String) throws {
        let compiled = try lines(of: "Tests/MoonpoolScriptingTests/EmbeddingSnippets.swift")
            .joined(separator: "\n")
        var block: [String]?
        var count = 0
        for line in try lines(of: page) {
            if line == "```swift" {
                block = []
            } else if line == "```", let lines = block {
                #expect(compiled.contains(lines.joined(separator: "\n")), "\(lines)")
                block = nil
                count += 1
            } else {
                block?.append(line)
            }
        }
        #expect(count > 0)
    }

    @Test func `the examples of the pages work`() async throws {
        let folder = try TemporaryFolder()
        try folder.make("data")
        try folder.make("library")
        #expect(try await EmbeddingSnippets.first() == 3)
        #expect(try await EmbeddingSnippets.typed(folder.path + "/dogs.moonpool") == 1)
        let limited = try EmbeddingSnippets.limits(folder.path)
        #expect(try await limited.run("return 1", as: Int.self) == 1)
        // The functions of a task can wait minutes for a thread while other tests use all threads.
        let engine = try ScriptEngine(.sandboxed(limits: ScriptLimits(memory: 32 << 20)))
        #expect(
            try await EmbeddingSnippets.functions(engine) == "Hello Ann. Hello Ann. unknown_key")
        #expect(try await EmbeddingSnippets.classes(engine) == 70)
        let errors = try await EmbeddingSnippets.errors(engine)
        #expect(
            errors.prefix(2) == [
                "error", "rules.lua:1: attempt to perform arithmetic on a nil value",
            ])
        #expect(errors.last?.hasPrefix("stack traceback:") == true)
        #expect(try await EmbeddingSnippets.hostErrors(engine) == ["script:1: 'table' is sold out"])
        #expect(try await EmbeddingSnippets.stores(engine, folder.path + "/zoo.moonpool") == 1)
        let other = try ScriptEngine(.sandboxed(limits: ScriptLimits(memory: 32 << 20)))
        #expect(try await EmbeddingSnippets.objects(other) == [10, 84])
        #expect(
            try await EmbeddingSnippets.identifiers(other, folder.path + "/kennel.moonpool") == 5)
        let page = try lines(of: "Sources/MoonpoolScripting/MoonpoolScripting.docc/Embedding.md")
        let begin = try #require(page.firstIndex(of: "```lua"))
        let promised = page[(begin + 1)...].prefix { $0 != "```" }.joined(separator: "\n")
        #expect(try await EmbeddingSnippets.stubs(other).contains(promised))
        #expect(try await EmbeddingSnippets.modules(other) == 100)
        #expect(try await EmbeddingSnippets.state() == [3, 2])
        #expect(try await EmbeddingSnippets.pool(folder.path) == 0)
    }
}
