import Moonpool
import TestThreads
import Testing

private struct Twin: Model {
    var id = 0
    var text = ""
    static let options = ModelOptions<Twin>(primaryKey: \.id)
}
private struct OtherTwin: Model {
    var id = 0
    var text = 0
    static let className = "Twin"
    static let options = ModelOptions<OtherTwin>(primaryKey: \.id)
}
private final class Reference: Model {}
private struct Keyless: Model { var id = 0 }
private struct Failed: Error {}

@Suite struct ErrorTests {
    private func code(
        _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) -> ErrorCode? {
        do {
            try body()
            Issue.record("nothing was thrown", sourceLocation: sourceLocation)
        } catch let error as any MoonpoolError {
            #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
            #expect("\(error)".contains(error.message), sourceLocation: sourceLocation)
            return error.code
        } catch {
            Issue.record("without a code: \(error)", sourceLocation: sourceLocation)
        }
        return nil
    }

    @Test func `errors of writes and reads have a code`() throws {
        let store = try Store(.memory("codes"), models: Twin.self, on: nil)
        let twin = try store.writeNow { tx in try tx.insert(Twin(id: 1)) }
        let gone = try store.writeNow { tx in try tx.insert(Twin(id: 2)) }
        try store.writeNow { tx in try tx.delete(gone) }
        #expect(code { try twin.set(\.text, to: "a") } == .notInWrite)
        #expect(code { _ = try gone.get(\.text) } == .invalidObject)
        #expect(code { try store.writeNow { tx in try tx.insert(Twin(id: 1)) } } == .duplicateKey)
        #expect(code { try store.writeNow { _ in try store.writeNow { _ in } } } == .alreadyInWrite)
        #expect(code { _ = try store.all(Twin.self).where("age > 2") } == .unknownProperty)
        #expect(code { _ = try store.all(Twin.self).where("id >") } == .invalidQuery)
        #expect(code { _ = try store.find(Twin.self, "one") } == .typeMismatch)
        #expect(code { _ = try Int(stored: "one") } == .typeMismatch)
        #expect(code { _ = try store.observe { _, _ in } } == .invalidArgument)
        store.close()
        #expect(code { _ = try store.refresh() } == .closed)
    }

    @Test func `a savepoint rolls back what fails in it, and the write continues`() throws {
        let store = try Store(.memory("savepoints"), models: Twin.self, on: nil)
        defer { store.close() }
        var lost: [Live<Twin>] = []
        let kept = try store.writeNow { tx in
            let one = try tx.insert(Twin(id: 1, text: "a"))
            #expect(throws: Failed.self) {
                try tx.savepoint {
                    lost.append(try tx.insert(Twin(id: 2)))
                    one.text = "b"
                    throw Failed()
                }
            }
            #expect(one.text == "a" && !lost[0].isValid)
            // A failed assignment fails the savepoint, not the write.
            #expect(
                code {
                    try tx.savepoint {
                        lost[0].text = "c"; one.text = "d"
                    }
                } == .invalidObject)
            let two = try tx.savepoint {
                try tx.savepoint { one.text = "e" }
                return try tx.insert(Twin(id: 2, text: "f"))
            }
            #expect(code { try tx.savepoint { try store.writeNow { _ in } } } == .alreadyInWrite)
            return [one, two]
        }
        #expect(kept.map(\.text) == ["e", "f"])
        #expect(throws: Failed.self) {
            try store.writeNow { tx in
                lost.append(try tx.insert(Twin(id: 3)))
                throw Failed()
            }
        }
        let three = try store.writeNow { tx in try tx.insert(Twin(id: 3, text: "g")) }
        #expect(lost.filter(\.isValid).isEmpty && lost.allSatisfy { $0 != three })
    }

    @Test func `an upsert sets only what is given`() throws {
        let store = try Store(.memory("partial"), models: Twin.self, Keyless.self, on: nil)
        defer { store.close() }
        try store.writeNow { tx in
            try tx.insert(Twin(id: 1, text: "kept"))
            let one = try tx.upsert(Twin.self, key: 1) { _ in }
            #expect(one.text == "kept")
            let two = try tx.upsert(Twin.self, key: 2) { $0.text += "new" }
            #expect(two.id == 2 && two.text == "new")
            try tx.upsert(Twin.self, key: 2) { $0.text += "er" }
            #expect(two.text == "newer" && store.all(Twin.self).count == 2)
            #expect(try tx.findOrInsert(Twin(id: 1, text: "other")) == one && one.text == "kept")
            let three = try tx.findOrInsert(Twin(id: 3, text: "third"))
            #expect(three.text == "third")
            #expect(code { try tx.upsert(Twin.self, key: "x") { _ in } } == .typeMismatch)
            #expect(code { try tx.upsert(Keyless.self, key: 1) { _ in } } == .invalidArgument)
            #expect(code { try tx.findOrInsert(Keyless()) } == .invalidArgument)
            try tx.delete([one, three])
            #expect(store.all(Twin.self).map(\.id) == [2])
            #expect(code { try tx.delete([two, one]) } == .invalidObject)
        }
    }

    @Test func `messages contain names of Swift functions and no Lua terms`() throws {
        let store = try Store(.memory("words"), models: Twin.self, on: nil)
        defer { store.close() }
        let twin = try store.writeNow { tx in try tx.insert(Twin(id: 1)) }
        func message(_ body: () throws -> Void) -> String {
            do { try body() } catch let error as any MoonpoolError { return error.message } catch {}
            return ""
        }
        let outside = message { try twin.set(\.text, to: "a") }
        #expect(outside.contains("; make the change in store.write {"))
        try store.writeNow { tx in try tx.delete(twin) }
        let deleted = message { _ = try twin.get(\.text) }
        #expect(deleted.contains("check isValid before"))
        for text in [outside, deleted] {
            #expect(!text.contains("function()") && !text.contains("is_valid"))
        }
    }

    @Test func `errors of opening and of migrations have a code`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("twins.moonpool")
        #expect(code { _ = try Store(.memory("m"), models: Reference.self) } == .invalidSchema)
        #expect(code { _ = try Store(.memory("m"), models: Book.self) } == .invalidSchema)
        var missing = StoreOptions()
        missing.isReadOnly = true
        #expect(
            code { _ = try Store(.file(path), models: Twin.self, options: missing) }
                == .invalidArgument)
        try Store(.file(path), models: Twin.self, version: 2, on: nil).close()
        #expect(
            code { _ = try Store(.file(path), models: Twin.self, version: 1) } == .versionTooLow)
        #expect(
            code { _ = try Store(.file(path), models: OtherTwin.self, version: 2) }
                == .migrationNeeded)
        #expect(
            code {
                _ = try Store(.file(path), models: Twin.self, version: 3) { migration in
                    try migration.rename(\Twin.text, from: "nothing")
                }
            } == .invalidSchema)
    }

    @Test func `an error of a migration is thrown unchanged`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("twins.moonpool")
        try Store(.file(path), models: Twin.self, version: 1, on: nil).close()
        #expect(throws: Failed.self) {
            _ = try Store(.file(path), models: Twin.self, version: 2, on: nil) { _ in
                throw Failed()
            }
        }
    }
}
