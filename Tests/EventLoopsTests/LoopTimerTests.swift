import EventLoops
import TestThreads
import Testing

@Suite struct LoopTimerTests {
    let clock = ManualClock()
    let loop: EventLoop
    let log = Log()

    init() throws {
        loop = try EventLoop(clock: clock)
        loop.attach()
    }

    func advance(_ step: Duration) {
        clock.advance(by: step)
        loop.runOnce()
    }

    @Test func `a loop calls a due timer once`() {
        let log = log
        let timer = loop.timer(after: .seconds(1)) { log.add("due") }
        advance(.milliseconds(999))
        #expect(log.lines.isEmpty)
        #expect(timer.isActive)
        advance(.milliseconds(1))
        #expect(log.lines == ["due"])
        #expect(!timer.isActive)
        advance(.seconds(5))
        #expect(log.lines == ["due"])
        #expect(!loop.isAlive)
    }

    @Test func `a loop calls timers in the order of their times and creation`() {
        let log = log
        loop.timer(after: .seconds(2)) { log.add("late") }
        loop.timer(after: .seconds(1)) { log.add("older") }
        loop.timer(after: .seconds(1)) { log.add("younger") }
        advance(.seconds(3))
        #expect(log.lines == ["older", "younger", "late"])
    }

    @Test func `a timer repeats until canceled, keeps its interval and skips missed calls`() {
        let log = log
        let clock = clock
        let timer = loop.timer(after: .seconds(1), every: .seconds(1)) {
            log.add("\(clock.now().components.seconds)")
        }
        for _ in 1...3 { advance(.seconds(1)) }
        advance(.seconds(10))
        advance(.seconds(1))
        #expect(log.lines == ["1", "2", "3", "13", "14"])
        timer.cancel()
        timer.cancel()
        advance(.seconds(1))
        #expect(log.lines.count == 5)
        #expect(!loop.isAlive)
    }

    @Test func `a timer can be canceled inside its own handler`() {
        let log = log
        var timer: LoopTimer?
        timer = loop.timer(after: .zero, every: .seconds(1)) {
            log.add("once")
            timer?.cancel()
        }
        for _ in 1...3 { advance(.seconds(1)) }
        #expect(log.lines == ["once"])
    }

    @Test func `a timer is not called while its own handler waits`() {
        let log = log
        let loop = loop
        let clock = clock
        loop.timer(after: .seconds(1), every: .seconds(1)) {
            log.add("in")
            loop.post { clock.advance(by: .seconds(5)) }
            _ = loop.wait(for: .seconds(3)) { false }
            log.add("out")
        }
        advance(.seconds(1))
        #expect(log.lines == ["in", "out"])
    }

    @Test func `a timer does not keep the loop alive if this is requested`() {
        loop.timer(after: .seconds(1), keepsAlive: false) {}
        #expect(!loop.isAlive)
        loop.run()
    }

    @Test func `a loop does not call a timer that was created in the same turn`() {
        let log = log
        let loop = loop
        loop.timer(after: .zero) {
            log.add("first")
            loop.timer(after: .zero) { log.add("second") }
        }
        loop.runOnce()
        #expect(log.lines == ["first"])
        loop.runOnce()
        #expect(log.lines == ["first", "second"])
    }

    @Test func `a loop supports a hundred thousand timers, half of which are canceled`() {
        let log = log
        let timers = (0..<100_000).map { number in
            loop.timer(after: .milliseconds(number % 977)) {
                if number % 50_000 == 1 { log.add("\(number)") }
            }
        }
        for number in stride(from: 0, to: timers.count, by: 2) { timers[number].cancel() }
        #expect(loop.isAlive)
        advance(.seconds(1))
        #expect(log.lines == ["1", "50001"].sorted { Int($0)! % 977 < Int($1)! % 977 })
        #expect(!loop.isAlive)
    }

    @Test func `random timers are called as in a plain list of times`() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            var expected: [(time: Int, age: Int)] = []
            let log = Log()
            for age in 0..<Int.random(in: 1...20, using: &generator) {
                let time = Int.random(in: 0...9, using: &generator)
                let timer = loop.timer(after: .seconds(time)) { log.add("\(time) \(age)") }
                if Bool.random(using: &generator), Bool.random(using: &generator) {
                    timer.cancel()
                } else {
                    expected.append((time, age))
                }
            }
            loop.runOnce()
            for _ in 0..<10 { advance(.seconds(1)) }
            expected.sort { ($0.time, $0.age) < ($1.time, $1.age) }
            #expect(log.lines == expected.map { "\($0.time) \($0.age)" })
        }
    }
}
