import Glibc
import Synchronization
import Testing

@testable import ObjectStore

/// A scheduler that runs wakeups when the test requests it, on the thread that created it.
final class ManualScheduler: TimingScheduler, @unchecked Sendable {
    // Unchecked because handlers are created and run only on the owner's thread, and the mutex protects `pending`,
    // which other threads access.
    private var handlers: [Int: () -> Void] = [:]
    private var next = 0
    private let pending = Mutex<Set<Int>>([])
    private let owner = pthread_self()
    let canDeliver: Bool

    init(canDeliver: Bool = true) {
        self.canDeliver = canDeliver
    }

    var isOnThread: Bool { pthread_equal(owner, pthread_self()) != 0 }

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
        next += 1
        handlers[next] = handler
        return ManualWakeup(scheduler: self, number: next)
    }

    struct ManualWakeup: Wakeup {
        let scheduler: ManualScheduler
        let number: Int
        func wake() { _ = scheduler.pending.withLock { $0.insert(number) } }
        func cancel() {
            scheduler.handlers[number] = nil
            _ = scheduler.pending.withLock { $0.remove(number) }
        }
    }

    // Timers that fire when the test requests it, on the owner's thread only.
    private var clock = Duration.zero
    private var deadlines: [ObjectIdentifier: (due: Duration, timer: ManualTimer)] = [:]

    func makeTimer(_ handler: @escaping () -> Void) -> any SchedulerTimer {
        ManualTimer(self, handler)
    }

    final class ManualTimer: SchedulerTimer {
        private weak var scheduler: ManualScheduler?
        fileprivate let handler: () -> Void

        init(_ scheduler: ManualScheduler, _ handler: @escaping () -> Void) {
            self.scheduler = scheduler
            self.handler = handler
        }

        func start(after time: Duration) {
            guard let scheduler else { return }
            scheduler.deadlines[ObjectIdentifier(self)] = (scheduler.clock + time, self)
        }

        func cancel() { scheduler?.deadlines[ObjectIdentifier(self)] = nil }
    }

    /// Advances the time: fires the due timers, and runs the callbacks that they request.
    func pass(_ time: Duration) {
        clock += time
        for (number, entry) in deadlines where entry.due <= clock {
            deadlines[number] = nil
            entry.timer.handler()
        }
        settle()
    }

    /// Runs one turn of the loop: all callbacks that were requested before its start.
    func turn() {
        let due = pending.withLock { pending in
            defer { pending = [] }
            return pending.sorted()
        }
        for number in due { handlers[number]?() }
    }

    /// Runs turns until no callbacks are pending.
    func settle() {
        for _ in 0..<1000 where pending.withLock({ !$0.isEmpty }) { turn() }
    }

    /// Runs turns until a condition is true that depends on another thread.
    func settle(until condition: () -> Bool) {
        let deadline = ContinuousClock.now + .seconds(300)
        settle()
        while !condition(), ContinuousClock.now < deadline {
            sched_yield()
            settle()
        }
    }
}

/// A folder for one test, which is removed at the end.
final class TemporaryFolder {
    let path: String

    convenience init() { self.init(in: "/tmp") }

    /// A folder in memory, where flushes cost nothing, if the system has one with enough space.
    static func inMemory() -> TemporaryFolder {
        var status = statvfs()
        let isLarge =
            statvfs("/dev/shm", &status) == 0 && status.f_bavail * status.f_bsize > 1 << 30
        return TemporaryFolder(in: isLarge && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")
    }

    private init(in parent: String) {
        var template = Array("\(parent)/moonpool-test-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    deinit {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { unlink(path + "/" + name) }
            }
            closedir(folder)
        }
        rmdir(path)
    }

    func file(_ name: String) -> String { path + "/" + name }
}

/// Two stores of one file, as on two threads, but driven by one test.
struct StorePair {
    let folder = TemporaryFolder()
    let scheduler = ManualScheduler()
    let otherScheduler = ManualScheduler()
    let store: Store
    let other: Store

    init(_ classes: [ClassSchema]) throws {
        let path = folder.file("test.moonpool")
        store = try Store.file(path, classes, on: scheduler)
        other = try Store.file(path, classes, on: otherScheduler)
    }

    /// Runs one turn of both loops; the loop of the first store is the last one.
    func settle() {
        otherScheduler.settle()
        scheduler.settle()
    }
}

extension Store {
    /// A store in a file, on a manual scheduler; its commits do not wait for the device.
    static func file(
        _ path: String, _ classes: [ClassSchema]? = nil, version: UInt64 = 0, history: Int = 100,
        maximumSize: Int? = nil, on scheduler: ManualScheduler = ManualScheduler()
    ) throws -> Store {
        let configuration = StoreConfiguration(
            .file(path), schema: classes, schemaVersion: version, durability: .memory,
            history: history, maximumSize: maximumSize)
        return try Store(configuration, scheduler: scheduler)
    }

    /// An in-memory store without other handles, on a manual scheduler.
    static func temporary(
        _ classes: [ClassSchema], scheduler: ManualScheduler = ManualScheduler()
    ) throws -> Store {
        var configuration = StoreConfiguration(
            .memory(UUIDValue.random().description), schema: classes)
        // Several threads read every table with more than one cluster.
        configuration.scanThreads = ScanThreads(count: 3, minRows: 0, clusters: 1)
        return try Store(configuration, scheduler: scheduler)
    }
}

extension ClassSchema {
    /// Describes a class by short forms of its properties, as in `id: int primary, toys: Toy[]`.
    convenience init(
        _ name: String, _ properties: String, defaults: [String: Value] = [:],
        isEmbedded: Bool = false, indexes: [CompositeIndex] = []
    ) {
        let properties = properties.split(separator: ", ").map { text -> Property in
            let parts = text.split(separator: ": ").map(String.init)
            // Safe because the short forms are constants of the tests.
            var property = try! PropertySyntax.parse(name: parts[0], in: name, parts[1])
            property.defaultValue = defaults[property.name]
            return property
        }
        self.init(name, properties, isEmbedded: isEmbedded, indexes: indexes)
    }
}

/// Returns the error that a body throws, for tests of codes and messages.
func storeError(
    _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) -> StoreError? {
    let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.code == code, "\(error?.message ?? "no error")", sourceLocation: sourceLocation)
    return error
}
