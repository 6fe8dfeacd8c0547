/// A job in transit from one thread to another.
struct Job: @unchecked Sendable {
    // Unchecked because: made from a `sending` closure, so the sender holds nothing of it any more.
    let run: () -> Void
}

/// Jobs in the order they came, taken one by one so that a nested run takes the oldest first as well.
struct JobQueue {
    private var jobs: [Job?] = []
    private var head = 0

    var count: Int { jobs.count - head }
    var isEmpty: Bool { head == jobs.count }

    mutating func append(_ job: Job) { jobs.append(job) }

    mutating func popFirst() -> Job? {
        guard head < jobs.count else { return nil }
        defer {
            jobs[head] = nil
            head += 1
            if head == jobs.count {
                jobs.removeAll(keepingCapacity: jobs.capacity <= 256)
                head = 0
            }
        }
        return jobs[head]
    }
}
