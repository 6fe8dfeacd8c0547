import Foundation
import Moonpool
import Synchronization
import TestThreads
import Testing

private struct Post: Model, Equatable {
    var id = 0
    var text = ""
    var likes = 0
    static let options = ModelOptions<Post>(primaryKey: \.id)
}

@Suite struct StorePoolTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `Reads and writes of many tasks share the stores of a pool`() async throws {
        let pool = try StorePool(.file(folder.file("posts.moonpool")), models: Post.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 0..<40 {
                group.addTask {
                    try await pool.write { tx in try tx.insert(Post(id: id)) }
                    let own = try await pool.read { try $0.find(Post.self, id)?.detached() }
                    #expect(own == Post(id: id))
                }
            }
            try await group.waitForAll()
        }
        #expect(try await pool.read { $0.all(Post.self).count } == 40)
        let frozen = try await pool.read { try $0.all(Post.self).where { $0.id < 3 }.freeze() }
        #expect(frozen.map(\.id).sorted() == [0, 1, 2])
        await #expect(throws: CancellationError.self) {
            try await pool.write { _ in throw CancellationError() }
        }
        pool.close()
        #expect(
            try await eventually {
                (try? await pool.read { $0.all(Post.self).count }) == nil
            })
    }

    @Test func `Each change contains everything since the previous one`() async throws {
        let pool = try StorePool(.memory(UUID().uuidString), models: Post.self)
        try await pool.write { tx in
            try tx.insert(contentsOf: (1...5).map { Post(id: $0, text: "\($0)") })
        }
        var changes = pool.changes(of: { $0.all(Post.self).where { $0.id < 100 }.sorted(by: \.id) })
            .makeAsyncIterator()
        guard case .initial(let first) = try await changes.next() else {
            Issue.record("no rows")
            return
        }
        #expect(first.map(\.id) == [1, 2, 3, 4, 5])
        try await pool.write { tx in try tx.delete(tx.store.all(Post.self).where { $0.id == 2 }) }
        try await pool.write { tx in try tx.insert(Post(id: 9)) }
        try await pool.write { tx in try tx.insert(Post(id: 200)) }
        try await pool.write { tx in try tx.store.find(Post.self, 4)?.likes = 7 }
        try await pool.write { tx in try tx.store.find(Post.self, 9)?.likes = 1 }
        guard
            case .update(let rows, let deletions, let insertions, let modifications) =
                try await changes.next()
        else {
            Issue.record("no change")
            return
        }
        #expect(rows.map(\.id) == [1, 3, 4, 5, 9] && rows.map(\.likes) == [0, 0, 7, 0, 1])
        #expect(deletions == [1] && insertions == [4] && modifications == [2])
        // Changes that cancel each other are none.
        try await pool.write { tx in try tx.insert(Post(id: 6)) }
        try await pool.write { tx in try tx.delete(tx.store.all(Post.self).where { $0.id == 6 }) }
        try await pool.write { tx in try tx.store.find(Post.self, 1)?.text = "one" }
        #expect(try await changes.next()?.rows.first?.text == "one")
        pool.close()
        #expect(try await changes.next() == nil)
    }

    @Test func `Changes are filtered by paths, and end with their task`() async throws {
        let pool = try StorePool(.memory(UUID().uuidString), models: Post.self)
        try await pool.write { tx in try tx.insert(Post(id: 1)) }
        let seen = Mutex<[Int]>([])
        let task = Task {
            for try await change in pool.changes(of: Post.self, \.likes, where: { $0.id < 10 }) {
                seen.withLock { $0.append(change.rows[0].likes) }
            }
        }
        #expect(try await eventually { seen.withLock { $0 == [0] } })
        try await pool.write { tx in try tx.store.find(Post.self, 1)?.text = "unseen" }
        try await pool.write { tx in try tx.store.find(Post.self, 1)?.likes = 3 }
        #expect(try await eventually { seen.withLock { $0 == [0, 3] } })
        task.cancel()
        try await task.value
    }

    @Test func `A slow consumer keeps no old version of the file`() async throws {
        let path = folder.file("slow.moonpool")
        let pool = try StorePool(.file(path), models: Post.self, options: StoreOptions(history: 0))
        func write(_ round: Int) async throws {
            try await pool.write { tx in
                for post in tx.store.all(Post.self) {
                    post.text = String(repeating: "\(round % 10)", count: 200)
                }
            }
        }
        try await pool.write { tx in try tx.insert(contentsOf: (0..<900).map { Post(id: $0) }) }
        for round in 0..<20 { try await write(round) }
        let size = try fileSize(path)
        var changes = pool.changes(of: Post.self).makeAsyncIterator()
        let first = try await changes.next()
        for round in 0..<60 { try await write(round) }
        #expect(first?.rows.count == 900)
        let grown = try fileSize(path)
        #expect(grown <= 3 * size, "\(size) bytes became \(grown)")
        // No version but the newest one is pinned.
        let probe = try Store(
            .file(path), models: Post.self,
            options: StoreOptions(history: 0, maximumLiveVersions: 2),
            on: nil)
        #expect(
            try await eventually {
                (try? probe.writeNow { tx in try tx.insert(Post(id: 5000), .updating) }) != nil
            })
        #expect(try await changes.next()?.rows.count == 901)
        probe.close()
        pool.close()
    }

    private func fileSize(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
}
