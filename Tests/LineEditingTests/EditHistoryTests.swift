import Foundation
import LineEditing
import Testing

@Suite struct EditHistoryTests {
    private func withFile(_ body: (String) throws -> Void) rethrows {
        let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "state/moonpool/history").path)
    }

    @Test func `the history keeps whole entries from session to session`() {
        withFile { file in
            let entries = ["x = 1", "do\n  y()\nend", "'\\n' .. \"\\\\\"", "日本語"]
            let first = EditHistory(file: file)
            for entry in entries { first.add(entry) }
            #expect(EditHistory(file: file).entries == entries)
        }
    }

    @Test func `the history skips blank entries and repetitions`() {
        let history = EditHistory(file: nil)
        for entry in ["", "  ", "a", "a", "a  ", "b", "a"] { history.add(entry) }
        #expect(history.entries == ["a", "b", "a"])
    }

    @Test func `the history file is readable only by its owner`() throws {
        try withFile { file in
            EditHistory(file: file).add("secret")
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `the history is truncated to its newest entries`() throws {
        try withFile { file in
            let history = EditHistory(file: file, limit: 10)
            for number in 1...25 { history.add("\(number)") }
            #expect(history.entries == (16...25).map(String.init))
            #expect(EditHistory(file: file, limit: 10).entries == (16...25).map(String.init))
            let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 10)
        }
    }

    @Test func `the history works without a writable file`() {
        let history = EditHistory(file: "/proc/moonpool/history")
        history.add("x")
        #expect(history.entries == ["x"])
    }
}
