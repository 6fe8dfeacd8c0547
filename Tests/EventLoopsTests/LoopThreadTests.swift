import EventLoops
import Synchronization
import SystemCalls
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct LoopThreadTests {
    @Test func `a thread runs jobs from another thread and ends when released`() throws {
        let log = Log()
        let hold = Mutex<LoopHold?>(nil)
        let thread = try LoopThread(name: "worker-0123456789") { loop in
            hold.withLock { $0 = loop.hold() }
            loop.post { log.add("ready") }
            loop.run()
            log.add("end")
        }
        for number in 1...100 { thread.loop.post { log.add("\(number)") } }
        thread.loop.post { hold.withLock { $0?.release() } }
        thread.join()
        #expect(log.lines.filter { $0 != "ready" } == (1...100).map(String.init) + ["end"])
    }

    @Test func `a thread has its name, shortened to the kernel's limit`() throws {
        let log = Log()
        let thread = try LoopThread(name: "zoo-3f2a5c1e-77aa") { _ in
            log.add(ThreadIdentity.nameOfCurrent ?? "")
        }
        thread.join()
        #expect(thread.name == "zoo-3f2a5c1e-77aa")
        #expect(log.lines == ["zoo-3f2a5c1e-77"])
    }

    @Test func `a thread has a stack for deep recursion`() throws {
        let log = Log()
        let thread = try LoopThread(name: "deep") { _ in
            func descend(_ depth: Int) -> Int {
                withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
                    buffer[0] = UInt8(truncatingIfNeeded: depth)
                    return depth == 0 ? Int(buffer[0]) : descend(depth - 1) + 1
                }
            }
            log.add("\(descend(9_000))")
        }
        thread.join()
        #expect(log.lines == ["9000"])
    }

    @Test func `a thread blocks the terminal's signals and lets the interrupt signal through`()
        throws
    {
        let log = Log()
        let thread = try LoopThread(name: "signals") { _ in
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            log.add("INT \(sigismember(&mask, SIGINT)) URG \(sigismember(&mask, SIGURG))")
        }
        thread.join()
        #expect(log.lines == ["INT 1 URG 0"])
    }

    @Test func `a thread calls real timers no earlier than their times`() throws {
        let log = Log()
        let thread = try LoopThread(name: "timers") { loop in
            let start = loop.clock.now()
            loop.timer(after: .milliseconds(20)) {
                log.add("\(loop.clock.now() - start >= .milliseconds(20))")
            }
            loop.timer(after: .zero, every: .milliseconds(3), keepsAlive: false) { log.add("beat") }
            loop.run()
        }
        thread.join()
        #expect(log.lines.filter { $0 != "beat" } == ["true"])
        #expect(log.lines.first == "beat")
    }

    @Test func `a thread calls due timers before the loop waits`() throws {
        let log = Log()
        let thread = try LoopThread(name: "hurried") { loop in
            for round in 0..<40 {
                for step in 0..<20 {
                    loop.timer(after: .microseconds(round * 50 + step)) {
                        if step == 19 { log.add("\(round)") }
                    }
                }
            }
            loop.run()
        }
        thread.join()
        #expect(log.lines.count == 40)
    }

    @Test func `a thread coalesces wakeups of several threads and loses none`() throws {
        let end = Exchange()
        let thread = try LoopThread(name: "woken") { loop in
            end.shared.withLock { $0.hold = loop.hold() }
            let created = loop.makeWakeup {
                end.shared.withLock { $0.seen = $0.sent }
                if end.shared.withLock({ $0.seen == 4_000 }) { loop.stop() }
            }
            end.shared.withLock { $0.wakeup = created }
            loop.run()
        }
        while end.shared.withLock({ $0.wakeup == nil }) { sched_yield() }
        let created = end.shared.withLock { $0.wakeup }
        let senders = try (0..<4).map { _ in
            try LoopThread(name: "sender") { _ in
                for _ in 0..<1_000 {
                    end.shared.withLock { $0.sent += 1 }
                    created?.wake()
                }
            }
        }
        for sender in senders { sender.join() }
        thread.join()
        #expect(end.shared.withLock { $0.seen } == 4_000)
    }
}

/// The state that the threads of a test share.
private final class Exchange: Sendable {
    struct State {
        var hold: LoopHold?
        var wakeup: LoopWakeup?
        var sent = 0
        var seen = 0
    }
    let shared = Mutex(State())
}
