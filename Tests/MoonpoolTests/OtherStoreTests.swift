import Foundation
import Moonpool
import Testing

private struct Pup: Model {
    var id = 0
    var name = ""
    var best: Link<Pup>?
    var friends: [Link<Pup>] = []
    var fans: Set<Link<Pup>> = []
    var by: [String: Link<Pup>] = [:]
    var extra: Mixed = nil
    var tail = Tail()
    var admirers = Backlinks(\Pup.best)
    static let options = ModelOptions<Pup>(primaryKey: \.id)
}
private struct Tail: EmbeddedModel { var length = 1 }

@Suite struct OtherStoreTests {
    private let home: Store
    private let abroad: Store
    private let mine: [Live<Pup>]
    private let theirs: [Live<Pup>]

    init() throws {
        let name = UUID().uuidString
        home = try Store(.memory("home \(name)"), models: Pup.self, Tail.self, on: nil)
        abroad = try Store(.memory("abroad \(name)"), models: Pup.self, Tail.self, on: nil)
        mine = try home.writeNow { tx in
            try (1...3).map { try tx.insert(Pup(id: $0, name: "mine")) }
        }
        theirs = try abroad.writeNow { tx in
            try (1...5).map { try tx.insert(Pup(id: $0 + 10, name: "theirs")) }
        }
        try abroad.writeNow { _ in
            theirs[0].friends.append(theirs[1])
            theirs[0].fans.insert(theirs[1])
            theirs[0].by["x"] = theirs[1]
        }
    }

    @Test func `no write accepts an object of another store`() throws {
        let (one, other) = (mine[0], theirs[1])
        let writes: [(Transaction) throws -> Void] = [
            { _ in one.best = other }, { _ in try one.set(\.best, to: Link(other)) },
            { _ in try one.set(\.best, to: Link(other.objectID)) },
            { _ in one.friends.append(other) }, { _ in one.friends = [Link(other)] },
            { _ in one.friends = theirs[0].friends },
            { _ in one.friends.append(contentsOf: theirs[0].friends) },
            { _ in one.fans.insert(other) }, { _ in one.fans = theirs[0].fans },
            { _ in one.by["x"] = other }, { _ in one.by = theirs[0].by },
            { _ in one.extra = Mixed(other) }, { _ in one.extra = [[Mixed(other)]] },
            { _ in one.extra = ["a": Mixed(Link(other))] },
            { tx in try tx.insert(Pup(id: 9, best: Link(other))) },
            { tx in try tx.insert(Pup(id: 9, best: Link(other.objectID))) },
            { tx in try tx.insert(Pup(id: 9, friends: [Link(other)])) },
            { tx in try tx.insert(Pup(id: 9, extra: Mixed(other))) },
            { tx in try tx.delete(other) }, { tx in try tx.delete(abroad.all(Pup.self)) },
        ]
        for (index, write) in writes.enumerated() {
            let error = #expect(throws: (any Error).self, "\(index)") {
                try home.writeNow { tx in try write(tx) }
            }
            #expect((error as? any MoonpoolError)?.code == .invalidObject, "\(index)")
        }
        #expect(mine.filter(\.isValid).count == 3 && home.all(Pup.self).count == 3)
        #expect(theirs.filter(\.isValid).count == 5)
        #expect(one.best == nil && one.friends.isEmpty && one.by.isEmpty && one.extra == nil)
    }

    @Test func `no read finds an object by the identity of another store's`() throws {
        // The keys of both are equal.
        #expect(mine[0] != theirs[0] && mine[0].objectID != theirs[0].objectID)
        #expect(home[theirs[0].objectID] == nil && home[mine[0].objectID] == mine[0])
        #expect(try home.freeze()[theirs[0].objectID] == nil)
        #expect(try home.freeze()[mine[0].objectID] != nil)
        #expect(try theirs[0].freeze().objectID == theirs[0].objectID)
        #expect(home.all(Pup.self).firstIndex(of: theirs[0]) == nil)
        #expect(!home.all(Pup.self).contains(theirs[0]) && home.all(Pup.self).contains(mine[0]))
        #expect(!mine[0].admirers.contains(theirs[0]))
        #expect(!mine[0].friends.contains(theirs[0]) && !mine[0].fans.contains(theirs[0]))
    }

    @Test func `an identity is valid in every store of its file`() throws {
        let path = FileManager.default.temporaryDirectory.path + "/\(UUID()).moonpool"
        defer {
            for end in ["", "-lock", "-log"] {
                try? FileManager.default.removeItem(atPath: path + end)
            }
        }
        let first = try Store(.file(path), models: Pup.self, Tail.self, on: nil)
        let id = try first.writeNow { tx in try tx.insert(Pup(id: 1)).objectID }
        let second = try Store(.file(path), models: Pup.self, Tail.self, on: nil)
        #expect(second[id]?.id == 1)
        try second.writeNow { tx in try tx.insert(Pup(id: 2, best: Link(id))) }
        first.close()
        second.close()
        let third = try Store(.file(path), models: Pup.self, Tail.self, on: nil)
        #expect(third[id]?.id == 1)
        third.close()
    }

    @Test func `a detached link leads to the object with its primary key`() throws {
        try abroad.writeNow { _ in theirs[0].best = theirs[1] }
        let copy = try theirs[0].detached()
        let error = #expect(throws: (any Error).self) {
            try home.writeNow { tx in try tx.insert(copy) }
        }
        #expect((error as? any MoonpoolError)?.code == .invalidObject)
        try home.writeNow { tx in try tx.insert(Pup(id: 12, name: "same key")) }
        let best = try home.writeNow { tx in
            try tx.insert(Pup(id: 20, best: copy.best)).best?.name
        }
        #expect(best == "same key")
    }
}
