import Glibc
import ObjectStore
import Synchronization

/// Commits a thousand times a second from its own thread, with each kind of change in turn.
final class SoakWriter: Sendable {
    static let commitsPerSecond = 1_000

    private let commits = Atomic(0)
    private let failure = Mutex<String?>(nil)

    /// The number of commits.
    var count: Int { commits.load(ordering: .acquiring) }

    /// Starts writing.
    ///
    /// `done` is called on the writer's thread after the last commit.
    func start(
        _ folder: String, seconds: Int, done: @escaping @Sendable () -> Void
    ) -> Thread {
        Thread {
            do {
                let store = try Store(
                    SoakWorld.configuration(folder), scheduler: BenchmarkScheduler())
                defer { store.close() }
                try self.write(store, seconds)
            } catch {
                self.failure.withLock { $0 = "\(error)" }
            }
            done()
        }
    }

    func throwFailure() throws {
        if let failure = failure.withLock({ $0 }) { throw BenchmarkError("soak: \(failure)") }
    }

    private func write(_ store: Store, _ seconds: Int) throws {
        let clock = try SoakWorld.only("Clock", in: store)
        let club = try SoakWorld.only("Club", in: store)
        let start = nanoseconds()
        var draws = Draws(state: 4)
        for number in 0..<(seconds * Self.commitsPerSecond) {
            let due = start + UInt64(number) * (1_000_000_000 / UInt64(Self.commitsPerSecond))
            let now = nanoseconds()
            if now < due { usleep(UInt32((due - now) / 1_000)) }
            guard nanoseconds() < start + UInt64(seconds) * 1_000_000_000 else { break }
            let moment = nanoseconds()
            try store.write {
                try change(number, store, club, &draws)
                try clock.set("commits", .int(Int64(number + 1)))
                try clock.set("moment", .int(Int64(moment)))
            }
            commits.add(1, ordering: .releasing)
        }
    }

    private func change(
        _ number: Int, _ store: Store, _ club: LiveObject, _ draws: inout Draws
    ) throws {
        let draw = draws.next()
        let person = try SoakWorld.person(Int64(draw % UInt64(SoakWorld.people)), in: store)
        let value = Int64((draw >> 32) % 100)
        let place = Int((draw >> 40) % UInt64(SoakWorld.members))
        switch number % 12 {
        case 0, 1, 2: try person.set("score", .double(Double(value * 10)))
        case 3, 4: try person.set("age", .int(value))
        case 5:
            // Adds one person, who is deleted two commits later.
            var guest = People(indices: 0..<1).person(Int(value))
            guest.id = Int64(SoakWorld.people)
            try SoakWorld.create(guest, in: store)
        case 6: try person.set("name", .string("name \(value)"))
        case 7: try store.delete(SoakWorld.person(Int64(SoakWorld.people), in: store))
        case 8:
            let members = try club.list("members")
            try members.remove(at: place)
            try members.append([.object(person.reference)])
        case 9: try club.list("members").move(from: place, to: Int(value))
        case 10:
            let numbers = try club.list("numbers")
            try numbers.insert(.int(value), at: place)
            try numbers.remove(at: Int(value))
            guard let pet = try store.objects("Pet").first() else { return }
            let owner = try SoakWorld.person(value % 4, in: store)
            try pet.set("owner", .object(owner.reference))
        default:
            let first = try SoakWorld.person(0, in: store)
            let (tags, notes) = (try first.set("tags"), try first.map("notes"))
            if try tags.insert(.int(value)) == false { _ = try tags.remove(.int(value)) }
            try notes.set(.int(Int64(number)), forKey: "key \(value)")
        }
    }
}
