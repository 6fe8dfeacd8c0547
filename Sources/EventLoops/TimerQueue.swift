/// The active timers of one loop, earliest first; among equals the older one.
///
/// A sorted array, latest first, so that the next one is taken from the end: scripts have a handful of timers.
struct TimerQueue {
    private var timers: [LoopTimer] = []
    private var ages: UInt64 = 0
    private var firing = 0
    private(set) var keepingAlive = 0

    /// The age of the timer made last: a turn calls no timer that was made during it.
    var newestAge: UInt64 { ages }
    var nextDeadline: Duration? { timers.last?.deadline }

    mutating func nextAge() -> UInt64 {
        ages += 1
        return ages
    }

    mutating func insert(_ timer: LoopTimer) {
        var low = 0
        var high = timers.count
        while low < high {
            let middle = (low + high) / 2
            let other = timers[middle]
            if (other.deadline, other.age) > (timer.deadline, timer.age) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        timers.insert(timer, at: low)
        if timer.keepsAlive { keepingAlive += 1 }
    }

    mutating func remove(_ timer: LoopTimer) {
        guard let index = timers.lastIndex(where: { $0 === timer }) else { return }
        timers.remove(at: index)
        if timer.keepsAlive { keepingAlive -= 1 }
    }

    /// Takes out the earliest timer that is due, if it is not younger than the turn.
    mutating func takeDue(at now: Duration, notAfter age: UInt64) -> LoopTimer? {
        guard
            let index = timers.lastIndex(where: { $0.age <= age }), timers[index].deadline <= now
        else { return nil }
        let timer = timers.remove(at: index)
        if timer.keepsAlive { keepingAlive -= 1 }
        return timer
    }

    mutating func removeAll() {
        for timer in timers { timer.forgetHandler() }
        timers = []
        keepingAlive = 0
    }
}
