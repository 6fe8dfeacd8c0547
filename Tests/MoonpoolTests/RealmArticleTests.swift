import Foundation
import Moonpool
import TestThreads
import Testing

@Suite struct RealmArticleTests {
    private typealias Dog = RealmArticle.Dog
    private typealias Person = RealmArticle.Person

    private func lines(of path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.drop { $0 == " " } }.joined(separator: "\n")
    }

    @Test(arguments: [("RealmSwift", "RealmArticle", 31), ("TypedModels", "TypedArticle", 12)])
    func `every Swift block of the articles is compiled`(
        article: String, source: String, count: Int
    ) throws {
        // The examples of Realm's documentation are in a separate file.
        let compiled = try [source, "RealmExamples"].map {
            try lines(of: "Tests/MoonpoolTests/\($0).swift")
        }.joined().replacing("static func", with: "func")
        let parts = try lines(of: "Sources/Moonpool/Moonpool.docc/\(article).md")
            .components(separatedBy: "```")
        let blocks = parts.filter { $0.hasPrefix("swift\n") }.map { $0.dropFirst(6) }
            .filter { !$0.hasPrefix("// Realm Swift\n") }
        #expect(blocks.count == count)
        for block in blocks { #expect(compiled.contains(block), "\(block)") }
    }

    @Test func `the tests that the article about Realm's behavior names exist`() throws {
        let article = try lines(of: "Sources/Moonpool/Moonpool.docc/RealmBehavior.md")
        let rows = article.split(separator: "\n").filter {
            $0.hasSuffix("Tests` |") || $0.hasSuffix(".lua` |")
        }
        #expect(rows.count > 50)
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        let sources = try (files?.compactMap { $0 as? URL } ?? [])
            .filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        let suites = Set(
            rows.flatMap { $0.matches(of: /`(\w+Tests)`/).map { String($0.output.1) } })
        for suite in suites {
            #expect(
                sources.contains("struct \(suite) ") || sources.contains("class \(suite) "),
                "\(suite)")
        }
        let specifications = rows.flatMap {
            $0.matches(of: /`(\w+\.lua)`/).map { String($0.output.1) }
        }
        for file in Set(specifications) {
            let url = root.appending(path: "Specifications/\(file)")
            #expect(FileManager.default.fileExists(atPath: url.path), "\(file)")
        }
    }

    @Test func `the functions of the article about typed models work`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("cats.moonpool")
        let store = try Store(
            .file(path), models: TypedArticle.Cat.self, TypedArticle.Owner.self,
            TypedArticle.Toy.self, on: nil)
        let id = try await TypedArticle.add(to: store)
        #expect(store[id]?.tags.contains("calm") == true)
        #expect(TypedArticle.expensive(in: store) == ["Tom of Ann"])
        #expect(TypedArticle.census(of: store) == ["\"gray\" 3: 1"])
        let cards = try TypedArticle.cards(in: store)
        #expect(cards.map(\.toys) == [1] && cards.map(\.owner) == ["Ann"])
        #expect(try await TypedArticle.adopt("Tim", in: store) == "Tim is new")
        #expect(try await TypedArticle.adopt("Tom", in: store) == "Tom is known")
        store.close()
    }

    @Test func `the functions of the articles can be called on every actor`() async throws {
        let expected = ["Tom is known", "Tom of Ann"]
        #expect(try await ArticleCaller().use() == expected)
        #expect(try await ArticleCaller.useOnMainActor() == expected)
    }

    @Test func `the functions of the article work`() async throws {
        let store = try Store(
            .memory("article"), models: Dog.self, Person.self, RealmArticle.Address.self, on: nil)
        defer { store.close() }
        let article = RealmArticle()
        let id = try await article.add(Dog(id: 1, name: "Rex", age: 3), to: store)
        let rex = try #require(store[id])
        #expect(rex.age == 4 && rex.home?.city == "Hobbiton" && rex.notes["food"] == "dry")
        #expect(rex.siblings.map(\.name) == ["Max"] && Array(rex.tags) == ["good"])
        #expect(try article.old(in: store) == [])
        try await store.write { tx in rex.owner = try tx.insert(Person(name: "ann")) }
        #expect(try article.old(in: store) == ["Rex"])
        #expect(try #require(try store.find(Person.self, "ann")).dogs.first == rex)
    }
}
