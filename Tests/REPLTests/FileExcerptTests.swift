import Foundation
import Testing

@testable import REPL

/// Source excerpts of errors in files.
@Suite struct FileExcerptTests {
    @Test func `an error in a loaded file shows its lines`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "w\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "part.lua").path
        try Data("function broken(t)\n  return t.a.b\nend\n".utf8).write(to: URL(filePath: file))
        let session = try TestSession()
        _ = try session.run("dofile '\(file)'")
        let shown = try session.run("value = broken {}")
        #expect(shown.contains("> 2 |   return t.a.b"), "\(shown)")
        #expect(shown.contains("^"), "the name is marked")
    }
}
