import Moonpool
import Observation

/// The person of the other workloads as a typed model.
struct TypedPerson: Model {
    var id = 0
    var name = ""
    var age = 0
    var score = 0.0
    var active = false
    static let className = "Person"
    static let options = ModelOptions<TypedPerson>(primaryKey: \.id)

    init() {}
    init(_ person: Person) {
        id = Int(person.id)
        name = person.name.string
        age = Int(person.age)
        score = person.score
        active = person.active
    }
}

/// W16: typed models in Swift, with the workloads that the other rows measure through the untyped interface.
enum TypedWorkload {
    private static let insert = Row(
        title: "W16 typed insert, one transaction", unit: .perSecond, swift: .atLeast(3e6))
    private static let iterate = Row(
        title: "W16 typed iterate and read age", unit: .nanoseconds, swift: .atMost(8))
    private static let held = Row(
        title: "W16 typed read age of a known object", unit: .nanoseconds, swift: .atMost(20))
    private static let heldName = Row(
        title: "W16 typed read name of a known object", unit: .nanoseconds)
    private static let observable = Row(
        title: "W16 typed read age, observable store, no scope", unit: .nanoseconds)
    private static let tracked = Row(
        title: "W16 typed read age, in a tracking scope", unit: .nanoseconds)
    private static let find = Row(
        title: "W16 typed look up by key and read", unit: .nanoseconds, swift: .atMost(500))
    private static let assign = Row(
        title: "W16 typed assign age, one transaction", unit: .nanoseconds)
    private static let query = Row(
        title: "W16 typed query, 2 conditions", unit: .milliseconds)
    private static let delivery = Row(
        title: "W16 commit to async sequence on an actor", unit: .microseconds,
        swift: .atMost(100))
    private static let deliveryTail = Row(
        title: "W16 commit to async sequence on an actor, p99", unit: .microseconds)

    static func run(_ bench: Bench) throws {
        let contestants = bench.contestants.filter { $0.name == Report.swift }
        guard let contestant = contestants.first else { return }
        let folder = bench.folder(contestant, "typed")
        defer { Files.remove(folder) }
        let people = bench.people
        try bench.repeatEach(
            insert, repetitions: min(3, bench.options.repetitions), isNeeded: true,
            among: contestants
        ) { _ in
            try Files.makeEmpty(folder)
            let store = try open(folder)
            defer { store.close() }
            let seconds = try seconds {
                try store.writeNow { tx in
                    try tx.insert(
                        contentsOf: people.indices.lazy.map { TypedPerson(people.person($0)) })
                }
            }
            return (insert.unit.value(seconds, count: people.count), [])
        }
        let store = try open(folder)
        defer { store.close() }
        try read(bench, store, contestants)
        try observe(bench, folder, contestants)
        try deliver(bench, folder, store)
    }

    private static func location(_ folder: String) -> StoreLocation {
        .file("\(folder)/typed.moonpool")
    }

    private static var options: StoreOptions {
        var options = StoreOptions()
        options.durability = .memory
        return options
    }

    private static func open(_ folder: String, isObservable: Bool = false) throws -> Store {
        var options = options
        options.isObservable = isObservable
        return try Store(location(folder), models: TypedPerson.self, options: options, on: nil)
    }

    private static func read(
        _ bench: Bench, _ store: Store, _ contestants: [any Contestant]
    ) throws {
        let people = bench.people
        func measure(_ row: Row, count: Int, _ body: () throws -> Double) throws {
            try bench.repeatEach(row, among: contestants) { _ in
                let (seconds, answer) = try timed(body)
                return (row.unit.value(seconds, count: count), [answer])
            }
        }
        try measure(iterate, count: people.count) {
            var sum = 0
            for person in store.all(TypedPerson.self) { sum += person.age }
            return Double(sum)
        }
        let keys = people.randomKeys(min(people.count, 500_000), seed: 3).map { Int($0) }
        let objects = try keys.compactMap { try store.find(TypedPerson.self, $0) }
        try measure(held, count: objects.count) {
            var sum = 0
            for object in objects { sum += object.age }
            return Double(sum)
        }
        try measure(heldName, count: objects.count) {
            var sum = 0
            for object in objects { sum += object.name.utf8.count }
            return Double(sum)
        }
        let some = keys.prefix(100_000)
        try measure(find, count: some.count) {
            var sum = 0
            for key in some { sum += try store.find(TypedPerson.self, key)?.age ?? 0 }
            return Double(sum)
        }
        try measure(assign, count: min(objects.count, 100_000)) {
            try store.writeNow { _ in
                for object in objects.prefix(100_000) { object.age = object.age }
            }
            return 0
        }
        try measure(query, count: 1) {
            Double(
                store.all(TypedPerson.self)
                    .where { $0.age > 50 && $0.name.hasPrefix("A") }.count)
        }
    }

    /// Reads of a store whose reads register with `withObservationTracking`, outside and inside of its scopes.
    private static func observe(
        _ bench: Bench, _ folder: String, _ contestants: [any Contestant]
    ) throws {
        let store = try open(folder, isObservable: true)
        defer { store.close() }
        let keys = bench.people.randomKeys(min(bench.people.count, 500_000), seed: 3)
        let objects = try keys.compactMap { try store.find(TypedPerson.self, Int($0)) }
        func measure(_ row: Row, _ objects: some Sequence<Live<TypedPerson>>, count: Int) throws {
            try bench.repeatEach(row, among: contestants) { _ in
                let (seconds, answer) = try timed {
                    var sum = 0
                    for object in objects { sum += object.age }
                    return Double(sum)
                }
                return (row.unit.value(seconds, count: count), [answer])
            }
        }
        try measure(observable, objects, count: objects.count)
        let some = objects.prefix(500)
        try withObservationTracking {
            Result { try measure(tracked, some, count: some.count) }
        } onChange: {
        }.get()
    }

    /// The time from the start of a commit until an actor that follows a query has the change.
    private static func deliver(_ bench: Bench, _ folder: String, _ store: Store) throws {
        guard bench.options.includes(delivery) || bench.options.includes(deliveryTail) else {
            return
        }
        printError("\(delivery.title) ...")
        let calls = Calls()
        let follower = Follower()
        let following = Task { try await follower.follow(folder, calls) }
        defer { following.cancel() }
        _ = try calls.wait(for: 1)
        let keys = Set(bench.people.randomKeys(1_000, seed: 8)).map { Int($0) }
        var waits: [Double] = []
        for key in keys {
            guard let person = try store.find(TypedPerson.self, key) else { continue }
            restAsInQuietProgram()
            let before = calls.number
            let start = nanoseconds()
            try store.writeNow { _ in person.age = person.age > 50 ? 10 : 90 }
            waits.append(Double(try calls.wait(for: before + 1) - start) / 1e9)
        }
        for (row, part) in [(delivery, 0.5), (deliveryTail, 0.99)] {
            guard let value = percentile(part, of: waits) else { continue }
            bench.report.add(row.unit.value(value), to: row, of: Report.swift)
        }
    }

    private actor Follower {
        func follow(_ folder: String, _ calls: Calls) async throws {
            let store = try Store(
                location(folder), models: TypedPerson.self, options: options)
            defer { store.close() }
            let old = store.all(TypedPerson.self).where { $0.age > 50 }
            for try await _ in old.changes(\.age) { calls.add(1) }
        }
    }
}
