import Dispatch
import Glibc
import Moonpool
import TestThreads
import Testing

/// A main-actor program in its own process.
@MainActor private enum MainActorProgram {
    static func run() async throws {
        let store = try Store(.memory("main-actor"), models: Book.self, Author.self, Shelf.self)
        let opened = RunningThread.currentNumber
        let deadline = ContinuousClock.now + .seconds(60)
        var number = 0
        repeat {
            // Other queues use the idle threads, so that the main queue continues on another thread.
            for _ in 0..<8 {
                DispatchQueue(label: "busy").asyncAfter(deadline: .now() + .milliseconds(1)) {
                    usleep(20_000)
                }
            }
            try await Task.sleep(for: .milliseconds(5))
            number += 1
            try await store.write { tx in try tx.insert(Book(isbn: number)) }
            try #require(store.all(Book.self).count == number)
        } while RunningThread.currentNumber == opened && ContinuousClock.now < deadline
        try #require(RunningThread.currentNumber != opened)
        store.close()
    }
}

@Suite struct MainActorTests {
    @Test func `a store of the main actor continues on the thread that the actor runs on`() async {
        await #expect(processExitsWith: .success) { try await MainActorProgram.run() }
    }
}
