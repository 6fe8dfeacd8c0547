/// W11: queries that need a planner: through links, with indexes, and with long lists.
///
/// People as in the other workloads, and as many pets, each with a random owner.
enum QueryingWorkload {
    private static let direct = ms("W11 count age > 50 and name beginswith 'A'", 4)
    private static let linked = ms("W11 the same through a link of as many objects", 8)
    private static let indexed = Row(
        title: "W11 find by an indexed string", unit: .microseconds, swift: .atMost(10))
    private static let numbers = ms("W11 count in {10,000 ints}", 20)
    private static let texts = ms("W11 count in {10,000 strings}", 20)

    private static func ms(_ title: String, _ bound: Double) -> Row {
        Row(title: title, unit: .milliseconds, swift: .atMost(bound))
    }

    static func run(_ bench: Bench) throws {
        let names = [Report.swift, Report.sqlite].filter { bench.options.includes(contestant: $0) }
        let stores: [(name: String, store: any PetStore)] = try names.map { name in
            let folder = "\(bench.folder)/\(name)-pets"
            try Files.makeEmpty(folder)
            return (
                name, name == Report.swift ? try MoonpoolPets(folder) : try SQLitePets(folder)
            )
        }
        for (_, store) in stores { try store.fill(bench.people) }
        let wanted = bench.people.randomKeys(10_000, seed: 10)
        let wantedNames = wanted.map { bench.people.person(Int($0)).name.string }
        let sought = bench.people.randomKeys(1000, seed: 11).map { "tag \($0)" }
        for (_, store) in stores { try store.prepare(numbers: wanted, names: wantedNames) }

        func measure(
            _ row: Row, count: Int = 1, _ step: (any PetStore) throws -> Int
        ) throws {
            printError("\(row.title) ...")
            for _ in 0..<bench.options.repetitions {
                for (name, store) in stores {
                    let (seconds, answer) = try timed { try step(store) }
                    bench.report.add(
                        row.unit.value(seconds, count: count), answer: [Double(answer)], to: row,
                        of: name)
                }
            }
        }
        try measure(direct) { try $0.countPeople() }
        try measure(linked) { try $0.countPets() }
        try measure(indexed, count: sought.count) { store in
            try sought.reduce(0) { try $0 + store.find(tag: $1) }
        }
        try measure(numbers) { try $0.countNumbers() }
        try measure(texts) { try $0.countNames() }
    }
}

/// The operations of a store with people and their pets.
///
/// Each method is one timed step.
protocol PetStore {
    /// Stores the people, and for each a pet with a random owner.
    func fill(_ people: People) throws
    /// Prepares the long lists. Not timed.
    func prepare(numbers: [Int64], names: [String]) throws

    /// Counts people over 50 whose name begins with an A.
    func countPeople() throws -> Int
    /// Counts pets of such people.
    func countPets() throws -> Int
    /// Counts pets with a tag, by an index.
    func find(tag: String) throws -> Int
    /// Counts people whose number, which has no index, is in the list.
    func countNumbers() throws -> Int
    /// Counts people whose name, which has no index, is in the list.
    func countNames() throws -> Int
}
