import EventLoops
import LuaHost
import MemoryAccounts
import ObjectStore
import Synchronization

/// Threads that many script engines share.
///
/// By default, an engine has its own thread and event loop. Engines that share threads do not need these, so a program
/// can have thousands of them. The limits apply to each engine; while one of them computes, the other engines of its
/// thread wait.
///
/// A script that waits, in `moonpool.sleep` or for an async function, lets the others run on top of it on the thread's stack, and continues
/// after those that began to wait later have ended waiting. On each thread 1,000 scripts can wait at once; the next one gets the error
/// `limit_exceeded`. A script that waits for long should use a timer (`moonpool.after`), or an engine with a thread of its own.
///
/// ```swift
/// let threads = ScriptThreads(count: 4)
/// let engines = try tenants.map { _ in try ScriptEngine(.sandboxed, on: threads) }
/// ```
///
/// Usable on any thread. The threads end when the last engine on them has ended and the last reference was released.
public final class ScriptThreads: Sendable {
    private struct Place {
        var thread: LoopThread?
        let running = RunningScript()
        var engines = 0
    }

    private let places: Mutex<[Place]>
    private let mostWaits: Int
    /// How many scripts of a thread may wait at once: each needs a part of its stack.
    private static let mostWaits = 1_000
    // 128 KiB for each waiting script; the system provides memory only for what is used.
    private static let stackSize = mostWaits << 17

    /// Creates the threads lazily, when engines need them.
    ///
    /// `count` is at least 1.
    public init(count: Int = 2) {
        mostWaits = Self.mostWaits
        places = Self.places(count)
    }

    /// Creates threads on which `mostWaits` scripts each may wait at once.
    package init(count: Int, mostWaits: Int) {
        self.mostWaits = min(mostWaits, Self.mostWaits)
        places = Self.places(count)
    }

    private static func places(_ count: Int) -> Mutex<[Place]> {
        Mutex((0..<max(1, count)).map { _ in Place() })
    }

    deinit {
        places.withLock { for place in $0 { place.thread?.loop.stop() } }
    }

    /// The number of engines that have not ended.
    public var engineCount: Int { places.withLock { $0.reduce(0) { $0 + $1.engines } } }

    /// Takes a seat on the thread with the fewest engines.
    ///
    /// Throws if the system cannot start a thread.
    func takeSeat() throws(LoopError) -> ScriptSeat {
        try places.withLock { (places) throws(LoopError) in
            let index = places.indices.min { places[$0].engines < places[$1].engines } ?? 0
            let thread: LoopThread
            if let known = places[index].thread {
                thread = known
            } else {
                thread = try Self.start(number: index + 1, places[index].running)
                places[index].thread = thread
            }
            places[index].engines += 1
            return ScriptSeat(
                loop: thread.loop, running: places[index].running, mostWaits: mostWaits,
                threads: self, index: index)
        }
    }

    fileprivate func leave(_ index: Int) { places.withLock { $0[index].engines -= 1 } }

    private static func start(
        number: Int, _ running: RunningScript
    ) throws(LoopError) -> LoopThread {
        try LoopThread(name: "scripts-\(number)", stackSize: stackSize) { loop in
            Interruption.$current.withValue(Interruption { running.isDue }) {
                _ = loop.wait { false }
            }
        }
    }
}

/// The seat of one script on a shared thread.
struct ScriptSeat: Sendable {
    let loop: EventLoop
    let running: RunningScript
    /// Keeps the threads running while the script exists.
    fileprivate let threads: ScriptThreads
    fileprivate let index: Int
    private let mostWaits: Int

    fileprivate init(
        loop: EventLoop, running: RunningScript, mostWaits: Int, threads: ScriptThreads, index: Int
    ) {
        self.loop = loop
        self.running = running
        self.mostWaits = mostWaits
        self.threads = threads
        self.index = index
    }

    /// Throws `limit_exceeded` where too many scripts wait on top of each other already.
    func checkWaits() throws {
        guard loop.nesting > mostWaits else { return }
        throw StoreError(
            .limitExceeded,
            "more than \(mostWaits) scripts wait on this thread at once; use more threads, or timers"
        )
    }

    /// Releases the seat.
    func leave() { threads.leave(index) }
}

/// The context in which a thread runs the code of one script.
///
/// On a script's own thread it is set once; on a shared thread, for each call.
struct ScriptSurroundings {
    let seat: ScriptSeat
    let interrupt: LuaInterrupt
    let account: MemoryAccount?

    /// Runs the body in the context of the script.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        let below = seat.running.begin(interrupt)
        defer { _ = seat.running.begin(below) }
        return try MemoryAccount.$current.withValue(account) { try body() }
    }
}

/// The script whose code currently runs on a shared thread, for host operations on that thread.
final class RunningScript: Sendable {
    private let interrupt = Mutex<LuaInterrupt?>(nil)

    /// Whether the running script must stop now.
    var isDue: Bool { interrupt.withLock { $0 }?.isDue ?? false }

    /// Records the running script and returns the previous one, which is below it on the stack.
    func begin(_ next: LuaInterrupt?) -> LuaInterrupt? {
        interrupt.withLock { current in
            defer { current = next }
            return current
        }
    }
}
