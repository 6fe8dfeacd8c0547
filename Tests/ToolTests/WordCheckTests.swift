import Testing

/// `scripts/check-words` keeps the language of the project's texts.
@Suite struct WordCheckTests {
    private let folder = try! TemporaryFolder()

    private func check(_ files: [String]) throws -> Tool.Outcome {
        try Subprocess(Tool.root + "/scripts/check-words", files, in: Tool.root).finish()
    }

    @Test func `a listed word is reported with its line and the preferred word`() throws {
        let words = [
            "a" + "new", "some" + "body", "Goes" + " on", "is t" + "old of", "there is " + "no way",
        ]
        let text = words.map { "-- The script \($0) here.\n" }.joined()
        let path = try folder.write(text, to: "script.lua")
        let outcome = try check([path]).expectExit(1)
        #expect(outcome.lines.count == words.count)
        for (index, word) in words.enumerated() {
            let line = try #require(outcome.lines.dropFirst(index).first)
            #expect(line.hasPrefix("\(path):\(index + 1): "), "\(line)")
            #expect(line.contains("'\(word.prefix(4))"), "\(line)")
            #expect(line.contains(": write "), "\(line)")
        }
    }

    @Test func `the patterns for messages apply to string literals only`() throws {
        let text = """
            // the argument is \("no") decimal
            let message = "'x' is \("no") decimal"
            """
        let path = try folder.write(text, to: "message.swift")
        let outcome = try check([path]).expectExit(1)
        #expect(outcome.lines.count == 1, "\(outcome.output)")
        #expect(outcome.output.hasPrefix("\(path):2: "), "\(outcome.output)")
    }

    @Test func `parts of longer words are not reported`() throws {
        let path = try folder.write("mushrooms, recommend, classroom, a pony\n", to: "page.md")
        try check([path]).expectSuccess()
    }
}
