import ColumnStorage
import Foundation
import TestThreads
import Testing

@testable import ObjectStore

/// Files of earlier formats.
///
/// `Fixtures/format2.moonpool` was written by the last build of format 2: Ann, Bob, and Cleo with 600 tags.
@Suite struct OlderFormatTests {
    private let folder = TemporaryFolder()

    /// Returns the path of a copy that a test can change.
    private func fixture(_ name: String) throws -> String {
        let source = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/\(name)")
        let copy = folder.file(name)
        try FileManager.default.copyItem(atPath: source.path, toPath: copy)
        return copy
    }

    private func open(_ path: String) throws -> Store {
        try Store(StoreConfiguration(.file(path)), scheduler: ManualScheduler())
    }

    private func person(_ name: String, in store: Store) throws -> LiveObject {
        try #require(try store.object("Person", primaryKey: .string(name)))
    }

    private func checkOriginal(_ store: Store) throws {
        let ann = try person("Ann", in: store)
        #expect(try ann.value("tags") == .list([.string("a"), .string("b")]))
        #expect(try ann.value("marks") == .list([.int(1), .int(3)]))
        #expect(try ann.value("scores") == .dictionary(["x": .double(1.5)]))
        #expect(try ann.value("notes") == .list([.int(1), .string("two")]))
        #expect(try ann.list("friends").count() == 2)
        #expect(try person("Bob", in: store).value("age") == .int(7))
        let tags = try person("Cleo", in: store).list("tags")
        #expect(try tags.count() == 600)
        #expect(try tags.element(at: 599) == .string("tag 600"))
        #expect(try store.verify().isEmpty)
    }

    @Test func `a file of format 2 is read, and written as before`() throws {
        let path = try fixture("format2.moonpool")
        let readOnly = try Store(
            StoreConfiguration(.file(path), isReadOnly: true), scheduler: ManualScheduler())
        try checkOriginal(readOnly)
        readOnly.close()
        let store = try open(path)
        try checkOriginal(store)
        try store.write {
            let bob = try person("Bob", in: store)
            try bob.list("tags").append([.string("new")])
            try person("Ann", in: store).list("friends").remove(at: 0)
            try bob.map("scores").set(.double(2), forKey: "y")
            try store.create("Person", .dictionary(["name": .string("Dora"), "tags": .list([])]))
        }
        #expect(try person("Bob", in: store).value("tags") == .list([.string("new")]))
        #expect(try store.verify().isEmpty)
        try store.undo()
        try checkOriginal(store)
        store.close()
    }

    @Test func `a new list in a file of format 2 is stored in rows, beside the old ones`() throws {
        let path = try fixture("format2.moonpool")
        do {
            let store = try open(path)
            let current = try store.view.schema.require("Person")
            try store.define([
                ClassSchema(
                    "Person",
                    current.properties + [Property("colors", .string, collection: .list)])
            ])
            try checkOriginal(store)
            try store.write {
                let ann = try person("Ann", in: store)
                try ann.list("colors").append([.string("red")])
                try ann.list("tags").append([.string("c")])
            }
            store.close()
        }
        let store = try open(path)
        let ann = try person("Ann", in: store)
        #expect(try ann.value("colors") == .list([.string("red")]))
        #expect(try ann.value("tags") == .list([.string("a"), .string("b"), .string("c")]))
        #expect(try store.verify().isEmpty)
        let schema = try store.view.schema.require("Person")
        #expect(schema.property(named: "colors")?.contents != nil)
        #expect(schema.property(named: "tags")?.contents == nil)
        store.close()
    }
}
