/// W3: reading one property of objects.
///
/// W5: finding objects by primary key first.
enum ReadWorkload {
    private static let iterate = Row(
        title: "W3 iterate and read age", unit: .nanoseconds, swift: .atMost(12), lua: .atMost(90))
    private static let held = Row(
        title: "W3 read age of a known object", unit: .nanoseconds, swift: .atMost(25),
        lua: .atMost(120))
    private static let lookup = Row(
        title: "W5 look up by key and read", unit: .nanoseconds, swift: .atMost(400),
        lua: .atMost(700))

    static func run(_ bench: Bench) throws {
        let size = bench.options.size
        if bench.options.includes("W3") {
            try bench.repeatEach(iterate, count: size) { [Double(try $0.sumOfAges())] }
            let keys = bench.people.randomKeys(min(size, 500_000), seed: 3)
            for contestant in bench.contestants { try contestant.hold(keys) }
            try bench.repeatEach(held, count: keys.count) { [Double(try $0.sumOfHeldAges())] }
            for contestant in bench.contestants { try contestant.hold([]) }
        }
        if bench.options.includes("W5") {
            let keys = bench.people.randomKeys(min(size, 100_000), seed: 5)
            try bench.repeatEach(lookup, count: keys.count) { [Double(try $0.sumOfAges(of: keys))] }
        }
    }
}
