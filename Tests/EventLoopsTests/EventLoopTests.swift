import EventLoops
import Synchronization
import Testing

@Suite struct EventLoopTests {
    let clock = ManualClock()
    let loop: EventLoop

    init() throws {
        loop = try EventLoop(clock: clock)
        loop.attach()
    }

    @Test func `a loop returns immediately if nothing keeps it alive`() {
        loop.run()
        #expect(!loop.isAlive)
    }

    @Test func `a loop runs jobs in the order they were posted`() {
        let log = Log()
        for number in 1...5 { loop.post { log.add("\(number)") } }
        loop.run()
        #expect(log.lines == ["1", "2", "3", "4", "5"])
    }

    @Test func `a loop runs a job that a job posts in the next turn, after wakeups and timers`() {
        let log = Log()
        let wakeup = loop.makeWakeup { log.add("wake-up") }
        let loop = loop
        loop.timer(after: .zero) { log.add("timer") }
        loop.post {
            log.add("first")
            loop.post { log.add("second") }
            wakeup.wake()
        }
        loop.run()
        #expect(log.lines == ["first", "wake-up", "timer", "second"])
    }

    @Test func `a loop combines many wakeups into one call`() {
        let log = Log()
        let wakeup = loop.makeWakeup { log.add("called") }
        for _ in 1...10 { wakeup.wake() }
        loop.run()
        #expect(log.lines == ["called"])
        wakeup.cancel()
        wakeup.wake()
        loop.run()
        #expect(log.lines == ["called"])
    }

    @Test func `a loop calls a wakeup that was signaled while a handler waited`() {
        let log = Log()
        let loop = loop
        let wakeup = loop.makeWakeup {
            log.add("wake-up")
            loop.stop()
        }
        loop.timer(after: .zero) {
            var looks = 0
            let held = loop.wait {
                looks += 1
                if looks == 2 { wakeup.wake() }
                return looks == 3
            }
            log.add("\(held)")
        }
        loop.timer(after: .seconds(60)) {
            log.add("too late")
            loop.stop()
        }
        loop.run()
        #expect(log.lines == ["true", "wake-up"])
    }

    @Test func `a loop is kept alive by a hold until its release, once`() {
        let hold = loop.hold()
        let second = loop.hold()
        #expect(loop.isAlive)
        hold.release()
        hold.release()
        #expect(loop.isAlive)
        second.release()
        #expect(!loop.isAlive)
    }

    @Test func `a loop ends when the last hold is dropped`() {
        var hold: LoopHold? = loop.hold()
        #expect(loop.isAlive)
        _ = hold
        hold = nil
        #expect(!loop.isAlive)
    }

    @Test func `a loop stops after the requesting job and keeps the others`() {
        let log = Log()
        let loop = loop
        loop.post {
            log.add("first")
            loop.stop()
        }
        loop.post { log.add("second") }
        loop.run()
        #expect(log.lines == ["first"])
        loop.run()
        #expect(log.lines == ["first", "second"])
    }

    @Test func `a stop before the run takes effect`() {
        let log = Log()
        loop.stop()
        loop.post { log.add("job") }
        loop.run()
        #expect(log.lines.count <= 1)
        #expect(!loop.isStopped)
    }

    @Test func `a loop waits inside a job while other jobs run`() {
        let log = Log()
        let loop = loop
        loop.post {
            loop.post { log.add("inner") }
            let held = loop.wait { log.lines.contains("inner") }
            log.add("waited \(held) at depth \(loop.nesting)")
        }
        loop.post { log.add("later") }
        loop.run()
        #expect(log.lines == ["later", "inner", "waited true at depth 1"])
    }

    @Test func `a loop stops waiting at the deadline`() {
        let loop = loop
        let clock = clock
        let outcome = Log()
        loop.post {
            loop.post { clock.advance(by: .seconds(2)) }
            outcome.add("\(loop.wait(for: .seconds(1)) { false })")
        }
        loop.run()
        #expect(outcome.lines == ["false"])
    }

    @Test func `a loop drops jobs when it is closed and accepts no more`() throws {
        let other = try EventLoop()
        let log = Log()
        other.post { log.add("never") }
        other.close()
        #expect(!other.post { log.add("never") })
        #expect(log.lines.isEmpty)
    }

    @Test func `a loop ignores wakeups and releases after its end`() throws {
        let other = try EventLoop()
        let wakeup = other.makeWakeup {}
        let hold = other.hold()
        other.close()
        wakeup.wake()
        wakeup.cancel()
        hold.release()
    }

    @Test func `a loop refuses a second thread`() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            let thread = try LoopThread(name: "second") { _ in loop.attach() }
            loop.attach()
            thread.join()
        }
    }
}
