import Foundation
import Moonpool
import Synchronization
import TestThreads
import Testing

private struct Dog: Model {
    var id = 0
    var age = 0
    static let options = ModelOptions<Dog>(primaryKey: \.id)
}

private final class Counts: Sendable {
    private let counts = Mutex([Int](repeating: 0, count: 8))
    var all: [Int] { counts.withLock { $0 } }
    func add(_ number: Int) { counts.withLock { $0[number] += 1 } }
}

/// Writers of one file, in tasks that write without a pause.
@Suite struct WriteFairnessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [0, 8])
    func `Writers that wait in a task and writers that block a thread alternate`(
        blocking: Int
    ) async throws {
        let path = folder.file("dogs.moonpool")
        let store = try Store(.file(path), models: Dog.self, on: nil)
        try store.writeNow { tx in try tx.insert(Dog()) }
        let counts = Counts()
        let isDone = Flag()
        let others = (0..<8).map { number in
            Task.detached {
                let other = try Store(.file(path), models: Dog.self, on: nil)
                defer { other.close() }
                while !isDone.isSet {
                    if number < blocking {
                        try other.writeNow { _ in try other.find(Dog.self, 0)?.age += 1 }
                    } else {
                        try await other.write { _ in try other.find(Dog.self, 0)?.age += 1 }
                    }
                    counts.add(number)
                    await Task.yield()
                }
            }
        }
        let hasBegun = try await eventually { !counts.all.contains(0) }
        #expect(hasBegun)
        let before = counts.all.reduce(0, +)
        for id in 1...50 { try await store.write { tx in try tx.insert(Dog(id: id)) } }
        let during = counts.all.reduce(0, +) - before
        isDone.set()
        for other in others { try await other.value }
        // Each of the others has its turn once for each write of this task, or a few times, if this task was late.
        #expect(during <= 50 * 8 * 10, "the others wrote \(during) times meanwhile")
        #expect(store.all(Dog.self).count == 51)
        store.close()
    }
}
