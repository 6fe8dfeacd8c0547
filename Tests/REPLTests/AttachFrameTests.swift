import Testing

@testable import REPL

/// The messages of an attached prompt.
@Suite struct AttachFrameTests {
    @Test func `a text of any length arrives whole`() throws {
        let long = String(repeating: "abcdefgé", count: AttachFrame.longest / 4)
        let frames = [AttachFrame(.entry, "x"), AttachFrame(.message, long), AttachFrame(.stop)]
        var reader = AttachFrameReader()
        var found: [AttachFrame] = []
        var rest = frames.flatMap(\.bytes)[...]
        while !rest.isEmpty {
            found += try reader.take(Array(rest.prefix(5_000_000)))
            rest = rest.dropFirst(5_000_000)
        }
        #expect(found == frames)
        #expect(throws: AttachFrameReader.Nonsense.self) { try reader.take([0]) }
    }
}
