import Testing

@testable import REPL

@Suite struct TranscriptTextTests {
    @Test func `the entries, their output, and the width are parsed`() {
        let text = TranscriptText(
            """
            -- A session of moonpool in 100 columns; `moonpool transcript FILE` runs it again.
            moonpool> for i = 1, 2 do
                   >> print(i) end
            1
            2

            zoo v4 write 1 observer> dogs

            \\moonpool> no prompt
            > 1 | an excerpt
            """)
        #expect(text.columns == 100 && text.firstEntry == 1)
        let later = TranscriptText(TranscriptText.header(columns: 90, firstEntry: 7))
        #expect(later.columns == 90 && later.firstEntry == 7)
        #expect(text.steps.map(\.entry) == ["for i = 1, 2 do\nprint(i) end", "dogs"])
        #expect(text.steps.map(\.prompt) == ["moonpool", "zoo v4 write 1 observer"])
        #expect(text.steps[0].expected == ["1", "2"])
        #expect(text.steps[1].expected == ["", "moonpool> no prompt", "> 1 | an excerpt"])
        #expect(text.steps.map(\.line) == [2, 7])
    }

    @Test(arguments: [
        "> 1 | x", "a > b", "x = 3> 2", "moonpool", "", ">> more", "v4> x", "> x", "zoo 4> x",
        "moonpool>x",
    ]) func `no other line is an entry`(_ line: String) {
        #expect(TranscriptText(line).steps.isEmpty)
    }

    @Test(arguments: [
        "plain", "moonpool> x", "   >> x", "\\back", "> 1 | x", "zoo v2> x", "tab\tx",
    ])
    func `the parsed output equals the shown output`(_ line: String) {
        let text = TranscriptText("moonpool> x\n" + TranscriptText.text(ofShown: line) + "\nend")
        #expect(text.steps.count == 1)
        #expect(text.steps.first?.expected == [TranscriptText.trimmed(line), "end"])
    }

    @Test(arguments: [
        (["a"], ["a"], true), (["a"], ["b"], false), (["a"], [], false), ([], ["a"], false),
        (["a…d"], ["abcd"], true), (["a…d"], ["abc"], false), (["…"], [""], true),
        (["a…a"], ["a"], false), (["…b…"], ["abc"], true), (["…b…b"], ["ab"], false),
        (["..."], [], true), (["...", "z"], ["x", "y", "z"], true), (["...", "z"], ["x"], false),
        (["a", "..."], ["a", "b", "c"], true), (["...", "b", "..."], ["a", "b"], true),
    ]) func `outputs with gaps are compared`(
        _ expected: [String], _ shown: [String], _ isSame: Bool
    ) {
        #expect(TranscriptText.matches(expected, shown) == isSame)
    }
}
