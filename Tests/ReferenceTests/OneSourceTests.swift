import Foundation
import Reference
import Testing

/// The annotations are the only source of descriptions of the Lua API.
@Suite struct OneSourceTests {
    static let sources = String(
        ReferencePageTests.path.dropLast("/Reference/Reference.docc/LuaAPI.md".count))

    /// Every Swift file of the project.
    static var files: [String] {
        let all = FileManager.default.enumerator(atPath: sources)?.compactMap { $0 as? String }
        return (all ?? []).filter { $0.hasSuffix(".swift") }
    }

    @Test func `no source file repeats a sentence of the help catalog`() throws {
        let sentences = Set(
            HelpCatalog.entries.map(\.summary) + HelpCatalog.types.map(\.summary)
                + HelpCatalog.errors.map(\.summary))
        let files = Self.files
        #expect(files.count > 300)
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(Self.sources)/\(file)")))
            // Compare bytes of literals and of the text between them: comparing characters would take half a minute.
            for piece in bytes.split(separator: UInt8(ascii: "\""))
            where piece.last == UInt8(ascii: ".") && piece.count < 300 {
                let text = String(decoding: piece, as: UTF8.self)
                #expect(!sentences.contains(text), "\(file)")
            }
        }
    }

    @Test func `help, annotations and the reference page contain the summary of every name`() {
        let annotations = LuaLSAnnotations.api.replacing("\n---", with: " ")
        let page = ReferencePage.text
        for entry in HelpCatalog.entries {
            let owner = entry.owners[0]
            let name = owner == HelpCatalog.prompt ? entry.name : "\(owner.name).\(entry.name)"
            #expect(
                HelpText(columns: 400).page(on: name)?.contains(entry.summary) == true, "\(name)")
            #expect(page.contains(entry.summary), "\(name)")
            // Annotations are for files, which cannot use globals of the prompt.
            if owner != HelpCatalog.prompt {
                #expect(annotations.contains(entry.summary), "\(name)")
            }
        }
    }
}
