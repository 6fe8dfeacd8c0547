import Testing

@testable import REPL

@Suite struct TutorialTests {
    @Test func `typing what each of the ten steps says leads to its end`() throws {
        #expect(Tutorial.steps.count == 10)
        let session = try TestSession(columns: 100)
        var shown = try session.run(".tutorial")
        for (index, step) in Tutorial.steps.enumerated() {
            #expect(shown.contains("\(index + 1)/10  \(step.title)"), "\(shown)")
            #expect(shown.contains(step.entry))
            #expect(shown.split(separator: "\n").allSatisfy { $0.count <= 150 })
            shown = try session.run(step.entry)
            #expect(!shown.contains("did you mean"), "\(shown)")
            #expect(!shown.contains("attempt to"), "\(shown)")
        }
        #expect(shown.hasSuffix("That was the tutorial."))
        #expect(try session.run("1") == "1")
    }

    @Test func `something else than what was asked for does not lead on`() throws {
        let session = try TestSession()
        _ = try session.run(".tutorial 2")
        #expect(try session.run("1 + 1") == "2")
        #expect(try session.run(".tutorial").contains("2/10"))
        #expect(try session.run(".tutorial 9").contains("9/10"))
        #expect(try session.run(".tutorial 11") == ".tutorial has steps 1 to 10")
        #expect(try session.run(".tutorial x").hasPrefix(".tutorial takes a number"))
        #expect(try session.run(".tutorial off") == "the tutorial is over")
    }
}
