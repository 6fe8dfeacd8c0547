import ObjectStore
import Synchronization
import Testing

/// The order in which schedulers are woken after a commit.
@Suite struct WakingOrderTests {
    /// The names of the woken schedulers, in order.
    private final class Log: Sendable {
        private let names = Mutex<[String]>([])
        func add(_ name: String) { names.withLock { $0.append(name) } }

        func take() -> [String] {
            names.withLock { names in
                defer { names = [] }
                return names
            }
        }
    }

    /// A scheduler that records its wakeups, and runs callbacks when the test requests it.
    private struct LoggingScheduler: Scheduler {
        let name: String
        let log: Log
        let inner = ManualScheduler()

        var isOnThread: Bool { inner.isOnThread }
        var canDeliver: Bool { true }
        func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
            LoggingWakeup(scheduler: self, inner: inner.makeWakeup(handler))
        }
    }

    private struct LoggingWakeup: Wakeup {
        let scheduler: LoggingScheduler
        let inner: any Wakeup
        func wake() {
            scheduler.log.add(scheduler.name)
            inner.wake()
        }
        func cancel() { inner.cancel() }
    }

    private let log = Log()
    private let folder = TemporaryFolder()

    private func open(_ name: String) throws -> (store: Store, scheduler: LoggingScheduler) {
        let scheduler = LoggingScheduler(name: name, log: log)
        let configuration = StoreConfiguration(
            .file(folder.file("test.moonpool")),
            schema: [ClassSchema("Dog", "name: string")], durability: .memory)
        return (try Store(configuration, scheduler: scheduler), scheduler)
    }

    @Test func `stores with observers are woken before those without`() throws {
        let writer = try open("writer")
        let idle = try open("idle")
        let first = try open("first")
        let second = try open("second")
        func woken() throws -> [String] {
            for one in [idle, first, second] { one.scheduler.inner.settle() }
            _ = log.take()
            try writer.store.write { try writer.store.create("Dog", .list([.string("Rex")])) }
            return log.take()
        }
        #expect(try woken() == ["idle", "first", "second"])
        let dogs = try second.store.objects("Dog").observe { _ in }
        #expect(try woken() == ["second", "idle", "first"])
        let token = try first.store.observe { _, _ in }
        let another = try second.store.objects("Dog").observe { _ in }
        #expect(try woken() == ["first", "second", "idle"])
        dogs.invalidate()
        #expect(try woken() == ["first", "second", "idle"])
        another.invalidate()
        token.invalidate()
        #expect(try woken() == ["idle", "first", "second"])
        for one in [writer, idle, first, second] { one.store.close() }
    }
}
