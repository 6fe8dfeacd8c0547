/// The asynchronous writes of one store that wait for their turn, first come first served.
struct WriteTurns {
    private var waiting: [Int] = []
    private var lastNumber = 0

    /// Joins the queue, and returns the write's number.
    mutating func join() -> Int {
        lastNumber += 1
        waiting.append(lastNumber)
        return lastNumber
    }

    /// Whether all earlier writes have left.
    func isFirst(_ number: Int) -> Bool { waiting.first == number }

    /// Leaves the queue.
    mutating func leave(_ number: Int) { waiting.removeAll { $0 == number } }
}
