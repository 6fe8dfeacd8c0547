/// The active timers of one loop, earliest first; equal deadlines in order of creation.
///
/// A binary heap in which every timer stores its index, so that adding, removing and canceling take logarithmic time.
/// New timers are not in the heap until `settle`, because a turn must not call timers that were created during it.
struct TimerQueue {
    private var heap: [LoopTimer] = []
    private var incoming: [LoopTimer?] = []  // nil if one was canceled in the meantime
    private var ages: UInt64 = 0
    private(set) var keepingAlive = 0

    /// The deadline of the earliest timer.
    var nextDeadline: Duration? {
        let newest = incoming.lazy.compactMap { $0?.deadline }.min()
        guard let first = heap.first?.deadline else { return newest }
        return newest.map { min($0, first) } ?? first
    }

    mutating func nextAge() -> UInt64 {
        ages += 1
        return ages
    }

    mutating func insert(_ timer: LoopTimer) {
        timer.queuePosition = .incoming(incoming.count)
        incoming.append(timer)
        if timer.keepsAlive { keepingAlive += 1 }
    }

    /// Moves the new timers into the heap, before a turn calls due timers.
    mutating func settle() {
        for case let timer? in incoming {
            timer.queuePosition = .heap(heap.count)
            heap.append(timer)
            rise(heap.count - 1)
        }
        incoming.removeAll(keepingCapacity: true)
    }

    mutating func remove(_ timer: LoopTimer) {
        switch timer.queuePosition {
        case .nowhere:
            return
        case .incoming(let index):
            incoming[index] = nil
        case .heap(let index):
            removeFromHeap(index)
        }
        timer.queuePosition = .nowhere
        if timer.keepsAlive { keepingAlive -= 1 }
    }

    /// Removes and returns the earliest timer that is due.
    mutating func takeDue(at now: Duration) -> LoopTimer? {
        guard let timer = heap.first, timer.deadline <= now else { return nil }
        remove(timer)
        return timer
    }

    mutating func removeAll() {
        for timer in heap + incoming.compactMap({ $0 }) {
            timer.forgetHandler()
            timer.queuePosition = .nowhere
        }
        heap = []
        incoming = []
        keepingAlive = 0
    }

    private mutating func removeFromHeap(_ index: Int) {
        let last = heap.removeLast()
        guard index < heap.count else { return }
        heap[index] = last
        last.queuePosition = .heap(index)
        sink(index)
        rise(index)
    }

    private mutating func rise(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].isBefore(heap[parent]) else { return }
            exchange(index, parent)
            index = parent
        }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var first = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].isBefore(heap[first]) {
                first = child
            }
            if first == index { return }
            exchange(index, first)
            index = first
        }
    }

    private mutating func exchange(_ a: Int, _ b: Int) {
        heap.swapAt(a, b)
        heap[a].queuePosition = .heap(a)
        heap[b].queuePosition = .heap(b)
    }
}
