import Glibc
import ObjectStore

/// The long run: a thousand commits a second, a hundred observers of different kinds, and their long-term effect on
/// memory and file.
final class Soak {
    /// Later deliveries are counted as late.
    private static let late = 0.1

    private let store: Store
    private let scheduler = BenchmarkScheduler()
    private let writer = SoakWriter()
    private let counter = SoakCounter()
    private let device = SoakDevice()
    private let folder: String
    private let seconds: Int
    private var followers: [any SoakFollower] = []
    private var clock: NotificationToken?
    private var samples: [SoakSample] = []
    /// The delays since the last report, in seconds.
    private var waits: [Double] = []
    private var seenCommits = 0
    private var wrong = 0
    private var lateCount = 0
    private var slowest = 0.0

    /// Runs for some seconds.
    ///
    /// Returns whether all changes were delivered and nothing has grown.
    static func run(_ options: Options, seconds: Int) throws -> Bool {
        let folder = "\(options.folder)/moonpool-soak-\(getpid())"
        try Files.makeEmpty(folder)
        defer { Files.remove(folder) }
        let soak = try Soak(folder, seconds)
        defer { soak.store.close() }
        return try soak.run()
    }

    private init(_ folder: String, _ seconds: Int) throws {
        self.folder = folder
        self.seconds = seconds
        store = try Store(SoakWorld.configuration(folder), scheduler: scheduler)
        store.notifications.errorHandler = { error, _ in printError("soak: \(error)") }
        try SoakWorld.fill(store)
        followers = try SoakFollowers.make(store, counter)
        clock = try SoakWorld.only("Clock", in: store).observe { [unowned self] change in
            for property in change.properties {
                guard case .int(let number) = try property.new else { continue }
                if property.name == "moment" {
                    record(UInt64(number))
                } else {
                    seenCommits = Int(number)
                }
            }
        }
        try store.refresh()
    }

    /// Records a delivery whose newest commit began at a time.
    private func record(_ moment: UInt64) {
        let wait = Double(nanoseconds() - moment) / 1e9
        waits.append(wait)
        slowest = max(slowest, wait)
        if wait > Self.late { lateCount += 1 }
    }

    private func run() throws -> Bool {
        print("\(followers.count) observers, \(SoakWriter.commitsPerSecond) commits a second\n")
        print(SoakSample.head)
        let start = nanoseconds()
        let interval = UInt64(max(1, min(60, seconds / 5))) * 1_000_000_000
        var due = start + interval
        let flushing = try device.start(folder)
        let thread = writer.start(folder, seconds: seconds) { [scheduler] in scheduler.end() }
        while scheduler.turn() {
            guard nanoseconds() >= due else { continue }
            due += interval
            try report(Double(nanoseconds() - start) / 1e9)
        }
        thread.join()
        device.end()
        flushing.join()
        try writer.throwFailure()
        try store.refresh()
        try report(Double(nanoseconds() - start) / 1e9)
        return verdict(Double(nanoseconds() - start) / 1e9)
    }

    private func report(_ second: Double) throws {
        try store.refresh()
        for follower in followers where try follower.isWrong() {
            wrong += 1
            print("\(follower.title): its reported elements differ from the store's")
        }
        let statistics = try store.statistics()
        let sample = SoakSample(
            second: second, commits: writer.count, calls: counter.calls,
            memory: try SoakSample.ownMemory(), file: Double(statistics.fileBytes) / 1_048_576,
            used: Double(statistics.usedBytes) / 1_048_576, pins: statistics.pins.count,
            wrong: wrong, late: lateCount, median: (percentile(0.5, of: waits) ?? 0) * 1e3,
            tail: (percentile(0.99, of: waits) ?? 0) * 1e3, flush: device.takeSlowest())
        waits.removeAll(keepingCapacity: true)
        samples.append(sample)
        print(sample.line)
        fflush(nil)
    }

    private func verdict(_ second: Double) -> Bool {
        // During the first part of the run, caches fill and the file reaches its size.
        let settled = samples.dropFirst(samples.count / 3)
        guard let first = settled.first, let last = samples.last else { return false }
        let isComplete = wrong == 0 && seenCommits == writer.count
        let memory = Growth("memory", first.memory, last.memory)
        let file = Growth("file", first.file, last.file)
        let rate = Int(Double(writer.count) / second)
        print("")
        print(
            "\(writer.count) commits in \(Int(second)) s, \(rate) a second, \(counter.calls) calls")
        print(memory.line)
        print(file.line)
        print("missed or wrong: \(wrong); the last commit seen: \(seenCommits) of \(writer.count)")
        print(
            "later than \(Int(Self.late * 1000)) ms: \(lateCount); the latest: "
                + "\(Report.number(slowest * 1000)) ms")
        print("the longest flush of another file: \(Report.number(device.slowestSoFar)) ms")
        let isFine = isComplete && !memory.isTooMuch && !file.isTooMuch
        print(isFine ? "verdict: nothing grows, nothing is missed" : "verdict: NOT fine")
        return isFine
    }
}

/// The growth of a measured value in the steady part of a run.
private struct Growth {
    let line: String
    let isTooMuch: Bool

    init(_ name: String, _ before: Double, _ after: Double) {
        let share = before > 0 ? (after / before - 1) * 100 : 0
        line =
            "\(name): \(Report.number(before)) MiB after a third of the time, "
            + "\(Report.number(after)) MiB at the end (\(Report.number(share)) %)"
        // An allocator varies slightly; a leak of a byte for each commit is far more.
        isTooMuch = after > before * 1.05 + 1
    }
}
