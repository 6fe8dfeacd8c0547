import Glibc

/// W8: the time from the start of a commit until an observer on another thread, or in another process, has received the
/// change.
///
/// The time should not depend on the number of observed objects.
enum LatencyWorkload {
    private static let sizes = [10_000, 100_000, 1_000_000]

    static func run(_ bench: Bench) throws {
        func number(_ count: Int) -> String { Report.number(Double(count)) }
        let sizes = sizes.filter { $0 <= bench.options.size }
        let ends = [sizes.first, sizes.last].compactMap { $0 }
        for size in sizes {
            // The observer watches half of all objects.
            let rows = LatencyRows("commit to callback, \(number(size)) objects")
            try measure(bench, rows, .older(than: 50), size)
        }
        try measureWaking(bench)
        for size in Set(ends).sorted() {
            let rows = LatencyRows("the same through a link, \(number(size)) objects")
            try measure(bench, rows, .petsOfOlder(than: 50), size)
        }
        for size in Set(ends).sorted() {
            let rows = LatencyRows("the same, sorted, \(number(size)) objects")
            try measure(bench, rows, .olderByScore(than: 50), size)
        }
        for length in Set([10] + ends.suffix(1)).sorted() {
            let rows = LatencyRows("the same for a list of \(number(length))")
            try measure(bench, rows, .club, length)
        }
        for size in Set(ends).sorted() {
            let rows = LatencyRows("the same between processes, \(number(size)) objects")
            try measure(bench, rows, .older(than: 50), size, isRemote: true)
        }
    }

    /// Measures the part that every delay contains: waking a sleeping thread, without any store.
    private static func measureWaking(_ bench: Bench) throws {
        let rows = LatencyRows("waking the observer's thread alone", hasTargets: false)
        try rows.measure(bench) { contestant in
            guard contestant.name == Report.swift else { return nil }
            let calls = Calls()
            let signal = Signal()
            let thread = Thread { while signal.wait() { calls.add(1) } }
            defer {
                signal.close()
                thread.join()
            }
            return try (0..<400).map { _ in
                restAsInQuietProgram()
                let before = calls.number
                let start = nanoseconds()
                signal.raise()
                return Double(try calls.wait(for: before + 1) - start) / 1e9
            }
        }
    }

    private static func measure(
        _ bench: Bench, _ rows: LatencyRows, _ observed: Observed, _ size: Int,
        isRemote: Bool = false
    ) throws {
        let people = People(indices: 0..<size)
        try rows.measure(bench) { contestant in
            let folder = bench.folder(contestant, "observe-\(size)")
            try Files.makeEmpty(folder)
            defer { Files.remove(folder) }
            try contestant.open(folder: folder, .never)
            defer { try? contestant.close() }
            _ = try contestant.insert(people)
            switch observed {
            case .older, .olderByScore: break
            case .petsOfOlder: try contestant.insertPets()
            case .club: try contestant.insertClub()
            }
            let calls = Calls()
            guard
                let observation = try contestant.observe(
                    observed, isRemote: isRemote, called: calls.add)
            else {
                return nil
            }
            let child = isRemote ? try ChildCommitter(contestant, folder: folder) : nil
            let waits = try waits(people, observed, calls, of: child ?? contestant)
            try child?.end()
            try observation.end()
            guard calls.allRows == waits.count else {
                throw BenchmarkError(
                    "\(contestant.name): \(waits.count) commits, but the observer received "
                        + "\(calls.allRows) changes")
            }
            return waits
        }
    }

    /// Returns the delays in seconds.
    ///
    /// A contestant that runs the query again needs a tenth of a second for a million rows, so the total time is
    /// limited.
    private static func waits(
        _ people: People, _ observed: Observed, _ calls: Calls, of committer: any Committer
    ) throws -> [Double] {
        var waits: [Double] = []
        // Each key once, so that every change is visible to the observer.
        var seen: Set<Int64> = []
        let keys = people.randomKeys(400, seed: 8).filter {
            observed == .club || seen.insert($0).inserted
        }
        let deadline = nanoseconds() + 4_000_000_000
        for (number, key) in keys.enumerated() where nanoseconds() < deadline {
            committer.rest()
            let before = calls.number
            let person = people.person(Int(key))
            guard let beginning = try commit(number, person, observed, committer) else { continue }
            let end = Result { try calls.wait(for: before + 1) }
            // Called first: if the commit failed, the observer was not called.
            let start = try beginning()
            waits.append(Double(try end.get() - start) / 1e9)
        }
        return waits
    }

    /// Makes one change that notifies the observer; returns nil if there is none for this person.
    private static func commit(
        _ number: Int, _ person: Person, _ observed: Observed, _ committer: any Committer
    ) throws -> Beginning? {
        let isObserved = person.age > 50
        switch observed {
        case .older where number % 2 == 1:
            // The person stays in the result and is modified.
            return isObserved
                ? try committer.setScore(Double(2000 + number), of: person.id) : nil
        case .older, .petsOfOlder:
            // The person enters or leaves the result.
            return try committer.setAge(isObserved ? 10 : 90, of: person.id)
        case .olderByScore:
            // The person moves within the result.
            return isObserved ? try committer.setScore(1000 - person.score, of: person.id) : nil
        case .club:
            return try committer.appendToClub(person.id)
        }
    }
}
