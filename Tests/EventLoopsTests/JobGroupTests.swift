import EventLoops
import Testing

@Suite struct JobGroupTests {
    private struct Refusal: Error {}

    let clock = ManualClock()
    let loop: EventLoop
    let fibers = FiberPool(size: 1 << 20)
    let log = Log()

    init() throws {
        loop = try EventLoop(clock: clock)
        loop.attach()
    }

    private func group() -> JobGroup { JobGroup(on: loop, fibers) { $0() } }

    /// Starts a job that waits until its flag is set.
    private func start(_ name: String, on group: JobGroup, until flag: Flag) {
        group.run { [log] in
            log.add("\(name) waits")
            _ = group.wait { flag.isSet }
            log.add("\(name) continues")
        }
    }

    private final class Flag {
        var isSet = false
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    func `waits of groups end in any order`(order: [Int]) {
        let groups = (0..<3).map { _ in group() }
        let flags = (0..<3).map { _ in Flag() }
        for number in 0..<3 { start("\(number)", on: groups[number], until: flags[number]) }
        #expect(fibers.used == 3)
        for number in order {
            flags[number].isSet = true
            groups[number].run { [log] in log.add("job of \(number)") }
        }
        #expect(
            log.lines == ["0 waits", "1 waits", "2 waits"]
                + order.flatMap { ["job of \($0)", "\($0) continues"] })
        #expect(fibers.used == 0)
        #expect(groups.allSatisfy { $0.isIdle })
    }

    @Test func `jobs of one group run on top of the waiting one`() {
        let (one, outer, inner) = (group(), Flag(), Flag())
        start("outer", on: one, until: outer)
        start("inner", on: one, until: inner)
        outer.isSet = true
        one.run { [log] in log.add("job") }
        inner.isSet = true
        one.run {}
        #expect(
            log.lines == [
                "outer waits", "inner waits", "job", "inner continues", "outer continues",
            ])
        #expect(one.isIdle)
    }

    @Test func `waits with a time end in the order of their ends`() {
        let durations = [30, 10, 20, 10]
        for (number, duration) in durations.enumerated() {
            let one = group()
            one.run { [log] in
                let holds = one.wait(for: .milliseconds(duration)) { false }
                log.add("\(number) \(holds)")
            }
        }
        for _ in 0..<3 {
            clock.advance(by: .milliseconds(10))
            loop.runOnce()
        }
        #expect(log.lines == ["1 false", "3 false", "2 false", "0 false"])
        #expect(fibers.used == 0)
    }

    @Test func `a condition is checked at its interval, and its error ends the wait`() {
        let one = group()
        one.run { [log] in
            var checks = 0
            do {
                _ = try one.wait(recheck: { .milliseconds(5) }) { () throws(Refusal) in
                    checks += 1
                    if checks == 3 { throw Refusal() }
                    return false
                }
            } catch {
                log.add("error at check \(checks)")
            }
        }
        for _ in 0..<2 {
            clock.advance(by: .milliseconds(5))
            loop.runOnce()
        }
        #expect(log.lines == ["error at check 3"])
        #expect(one.isIdle)
    }

    /// Starts a job that suspends its group until its flag is set.
    private func startSuspended(_ name: String, on group: JobGroup, until flag: Flag) {
        group.run { [log] in
            log.add("\(name) begins")
            group.suspend { flag.isSet }
            log.add("\(name) continues")
        }
    }

    @Test func `jobs of a suspended group run after its code has ended`() {
        let (one, two, flag) = (group(), group(), Flag())
        startSuspended("one", on: one, until: flag)
        for number in 1...2 { one.run { [log] in log.add("job \(number)") } }
        two.run { [log] in log.add("two") }
        #expect(log.lines == ["one begins", "two"])
        #expect(!one.isIdle)
        flag.isSet = true
        one.recheck()
        #expect(log.lines == ["one begins", "two", "one continues", "job 1", "job 2"])
        #expect(one.isIdle)
        #expect(fibers.used == 0)
    }

    @Test func `a job continues suspended code whose condition holds, and runs after it`() {
        let (one, flag) = (group(), Flag())
        startSuspended("one", on: one, until: flag)
        flag.isSet = true
        one.run { [log] in log.add("job") }
        #expect(log.lines == ["one begins", "one continues", "job"])
    }

    @Test func `delayed jobs keep their order when one of them suspends the group again`() {
        let (one, first, second) = (group(), Flag(), Flag())
        startSuspended("first", on: one, until: first)
        one.run { [log] in log.add("job 1") }
        startSuspended("second", on: one, until: second)
        one.run { [log] in log.add("job 2") }
        first.isSet = true
        one.recheck()
        one.run { [log] in log.add("job 3") }
        #expect(log.lines == ["first begins", "first continues", "job 1", "second begins"])
        second.isSet = true
        one.recheck()
        #expect(log.lines.suffix(3) == ["second continues", "job 2", "job 3"])
        #expect(one.isIdle)
    }

    @Test func `delayed jobs run when the suspended code begins to wait`() {
        let (one, suspension, wait) = (group(), Flag(), Flag())
        one.run { [log] in
            one.suspend { suspension.isSet }
            log.add("waits")
            _ = one.wait { wait.isSet }
            log.add("continues")
        }
        one.run { [log] in log.add("job") }
        suspension.isSet = true
        one.recheck()
        #expect(log.lines == ["waits", "job"])
        wait.isSet = true
        one.recheck()
        #expect(log.lines == ["waits", "job", "continues"])
    }

    @Test func `code that runs on top of waiting code can suspend the group`() {
        let (one, outer, inner) = (group(), Flag(), Flag())
        start("outer", on: one, until: outer)
        startSuspended("inner", on: one, until: inner)
        outer.isSet = true
        one.run { [log] in log.add("job") }
        #expect(log.lines == ["outer waits", "inner begins"])
        inner.isSet = true
        one.recheck()
        #expect(log.lines.suffix(3) == ["inner continues", "outer continues", "job"])
    }

    @Test func `suspended code checks its condition at its interval, and rethrows its error`() {
        let one = group()
        one.run { [log] in
            var checks = 0
            do {
                try one.suspend(recheck: { .milliseconds(5) }) { () throws(Refusal) in
                    checks += 1
                    if checks == 3 { throw Refusal() }
                    return false
                }
            } catch {
                log.add("error at check \(checks)")
            }
        }
        one.run { [log] in log.add("job") }
        clock.advance(by: .milliseconds(5))
        loop.runOnce()
        #expect(log.lines == ["error at check 3", "job"])
        #expect(one.isIdle)
    }

    private enum Local {
        @TaskLocal static var name = "none"
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    func `waiting jobs keep their task-local values`(order: [Int]) {
        let groups = (0..<3).map { _ in group() }
        let flags = (0..<3).map { _ in Flag() }
        func name() { log.add(Local.name) }
        for (number, one) in groups.enumerated() {
            one.run {
                Local.$name.withValue("outer \(number)") {
                    Local.$name.withValue("inner \(number)") {
                        _ = one.wait { flags[number].isSet }
                        name()
                    }
                    name()
                }
                name()
            }
        }
        Local.$name.withValue("thread") {
            name()
            for number in order {
                flags[number].isSet = true
                groups[number].run {}
            }
            name()
        }
        name()
        #expect(
            log.lines == ["thread"]
                + order.flatMap { ["inner \($0)", "outer \($0)", "none"] } + ["thread", "none"])
    }

    @Test
    func `a job has the values that its group binds, but not those of the code that runs it`() {
        let (log, flag) = (log, Flag())
        let one = JobGroup(
            on: loop, fibers, bind: { job in Local.$name.withValue("group", operation: job) },
            surround: { $0() })
        let two = group()
        two.run {
            Local.$name.withValue("two") {
                one.run {
                    log.add(Local.name)
                    _ = one.wait { flag.isSet }
                    log.add(Local.name)
                }
                group().run { log.add(Local.name) }
                log.add(Local.name)
            }
        }
        // The fibers are used again.
        two.run { log.add(Local.name) }
        one.run { log.add(Local.name) }
        flag.isSet = true
        one.recheck()
        #expect(log.lines == ["group", "none", "two", "none", "group", "group"])
    }

    @Test func `the group's wrapper runs around each part of a job`() {
        let log = log
        func group(_ name: String) -> JobGroup {
            JobGroup(on: loop, fibers) { part in
                log.add("+\(name)")
                part()
                log.add("-\(name)")
            }
        }
        let (one, two, flag) = (group("1"), group("2"), Flag())
        start("one", on: one, until: flag)
        two.run { one.run { log.add("on top") } }
        flag.isSet = true
        one.run {}
        #expect(
            log.lines == [
                "+1", "one waits", "-1", "+2", "+1", "on top", "-1", "-2", "+1", "one continues",
                "-1",
            ])
    }

    @Test func `without memory for a stack a job runs on the thread's own, and can wait there`() {
        let fibers = FiberPool(size: 1 << 60)
        let one = JobGroup(on: loop, fibers) { $0() }
        let (flag, log) = (Flag(), log)
        loop.timer(after: .zero) { flag.isSet = true }
        one.run {
            #expect(!one.canPark)
            log.add("\(one.wait { flag.isSet })")
        }
        #expect(log.lines == ["true"])
        #expect(one.isIdle)
    }

    @Test func `a thousand waiting jobs keep their local values`() {
        let groups = (0..<1000).map { _ in group() }
        let flag = Flag()
        var sum = 0
        for (number, one) in groups.enumerated() {
            one.run {
                let values = [number, number * 2]
                _ = one.wait { flag.isSet }
                sum += values[0] + values[1]
            }
        }
        #expect(fibers.used == 1000)
        flag.isSet = true
        for one in groups.reversed() { one.run {} }
        #expect(sum == 3 * 999 * 500)
        #expect(fibers.used == 0)
    }
}
