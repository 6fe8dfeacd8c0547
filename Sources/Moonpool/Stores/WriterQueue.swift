/// The queue of the asynchronous writes of one store, in the order of the calls.
struct WriterQueue {
    /// The number of the first write that has not left the queue.
    private var first = 1
    private var lastNumber = 0
    /// The writes that have left the queue before an earlier one.
    private var left: Set<Int> = []

    /// Joins the queue, and returns the write's number.
    mutating func join() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Returns whether all earlier writes have left the queue.
    func isFirst(_ number: Int) -> Bool { number == first }

    /// Leaves the queue, in constant time on average.
    mutating func leave(_ number: Int) {
        guard number >= first else { return }
        left.insert(number)
        while left.remove(first) != nil { first += 1 }
    }
}
