import TestThreads
import Testing

@testable import REPL

@Suite struct TutorialTests {
    /// Returns the text on one line, without the breaks of wrapping.
    private func words(of text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private struct Step {
        let title: String
        let entry: String
    }

    /// The steps of the tutorial's file.
    private func steps(_ session: TestSession) throws -> [Step] {
        try session.with { session in
            let steps = try? session.module.file("tutorial")["steps"].table?.array
            return (steps ?? []).compactMap(\.table).map {
                Step(title: $0["title"].text ?? "", entry: $0["entry"].text ?? "")
            }
        }
    }

    @Test(arguments: [60, 120])
    func `typing the entry of each step completes the tutorial`(columns: Int) throws {
        let session = try TestSession(columns: columns)
        let steps = try steps(session)
        #expect(steps.count == 10)
        var shown = try session.run(".tutorial")
        for (index, step) in steps.enumerated() {
            #expect(shown.contains("\(index + 1)/10  \(step.title)"), "\(shown)")
            #expect(words(of: shown).contains(words(of: step.entry)))
            #expect(shown.split(separator: "\n").allSatisfy { $0.count < columns }, "\(shown)")
            shown = try session.run(step.entry)
            #expect(!shown.contains("did you mean"), "\(shown)")
            #expect(!shown.contains("attempt to"), "\(shown)")
        }
        #expect(shown.hasSuffix("You have finished the tutorial."))
        #expect(try session.run("1") == "1")
    }

    @Test(arguments: 1...10) func `the tutorial starts at any step`(_ number: Int) throws {
        let session = try TestSession()
        var shown = try session.run(".tutorial \(number)")
        for step in try steps(session).dropFirst(number - 1) {
            #expect(shown.contains(step.title) && !shown.contains("attempt to"), "\(shown)")
            shown = try session.run(step.entry)
        }
        #expect(shown.hasSuffix("You have finished the tutorial."), "\(shown)")
    }

    @Test func `other entries do not complete a step`() throws {
        let session = try TestSession()
        _ = try session.run(".tutorial 2")
        #expect(try session.run("1 + 1") == "2")
        #expect(try session.run(".tutorial").contains("2/10"))
        #expect(try session.run(".tutorial 1").contains("1/10"))
        #expect(try session.run(".tutorial 11") == "expected a step from 1 to 10, got 11")
        #expect(try session.run(".tutorial x").hasPrefix("expected a step from 1 to 10"))
        #expect(try session.run(".tutorial off") == "the tutorial has ended")
    }

    @Test func `the tutorial does not write to the store of a file`() throws {
        let folder = try TemporaryFolder()
        let session = try TestSession()
        _ = try session.run("store = moonpool.open { path = '\(folder.path)/zoo', schema = {} }")
        let refusal = try session.run(".tutorial")
        let advice = "choose one in memory first: "
        let entry = try #require(refusal.split(separator: advice).dropFirst().first)
        _ = try session.run(String(entry))
        #expect(try session.run(".tutorial").contains("1/10"))
    }
}
