/// A job that one thread passes to another.
struct Job: @unchecked Sendable {
    // Unchecked because: created from a `sending` closure, so the sender keeps no reference to it.
    let run: () -> Void
}

/// The jobs in order of arrival; a nested run also removes the oldest job first.
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
