import ObjectStore
import Testing

/// The plans that the planner chooses, and their explanations.
@Suite struct QueryPlanTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld()
    }

    /// People whose buddy is the next person, in more clusters than the planner scans without sampling.
    private func addMany(_ count: Int = 9000) throws {
        var rows: [ValueMap] = []
        for index in 0..<count {
            var row: ValueMap = ["name": .string("name \(index % 1000)")]
            row["age"] = .int(Int64(index % 100))
            row["rank"] = .int(Int64(index / 3))
            if index % 7 != 0 { row["height"] = .double(Double(index % 50)) }
            rows.append(row)
        }
        try world.addPeople(rows)
        let all = world.all()
        let people = try (0..<count).map { try all.object(at: $0) }
        try world.store.write {
            for index in 0..<count - 1 where index % 11 != 0 {
                try people[index].set("buddy", .object(people[index + 1].reference))
            }
        }
    }

    private func explain(_ text: String, _ arguments: Value...) throws -> [String] {
        try world.all().filtered(text, arguments).explain().split(separator: "\n").map(String.init)
    }

    @Test func `the maximum selective condition for its cost is evaluated first`() throws {
        try addMany()
        let lines = try explain("name contains 'e' and age > 10 and height == 3.0")
        #expect(lines[0].hasPrefix("scans 9,000 objects of 'Person' in 19 clusters"))
        #expect(lines[1] == "  1. height == 3.0 (leaves about \(share(lines[1])))")
        #expect(lines[2].hasPrefix("  2. age > 10 (leaves about 8"))
        #expect(lines[3].hasPrefix("  3. name contains 'e' (leaves about 100 %)"))
        #expect(lines[4].hasPrefix("an observer reads only objects that a commit changes"))
    }

    private func share(_ line: String) -> String {
        line.split(separator: "about ").last.map { String($0.dropLast()) } ?? ""
    }

    @Test func `conditions on linked objects are evaluated once`() throws {
        try addMany()
        let text = "buddy.age > 50 and buddy.name beginswith 'name 7' and age < 90"
        let lines = try explain(text)
        let joined = lines.filter { $0.contains("evaluated once for 9,000 linked objects") }
        #expect(joined.count == 1)
        #expect(joined[0].contains("buddy.age > 50 and buddy.name beginswith 'name 7'"))
        let scanned = try world.rows(text)
        let plain = (0..<8999).filter { (index: Int) -> Bool in
            let buddy = index + 1
            guard index % 11 != 0, buddy % 100 > 50, index % 100 < 90 else { return false }
            return "name \(buddy % 1000)".hasPrefix("name 7")
        }
        #expect(scanned == plain)
        let lonely = (0..<9000).filter { $0 % 11 == 0 || $0 == 8999 }
        #expect(try world.rows("buddy.age == nil") == lonely)
        let found = (0..<8998).filter { (index: Int) -> Bool in
            let (buddy, last) = (index + 1, index + 2)
            guard index % 11 != 0, buddy % 11 != 0 else { return false }
            return last % 50 == 3 && last % 7 != 0
        }
        #expect(try world.rows("not buddy.buddy.height != 3") == found)
        #expect(try world.rows("buddy.buddy.height == 3") == found)
    }

    @Test func `an index is used if it has few matching rows`() throws {
        try addMany()
        #expect(
            try explain("id == 77 and age > 3").prefix(3) == [
                "looks up 1 value in the unique index for: id == 77",
                "finds 1 candidate of 9,000 objects of 'Person'",
                "tests each of them for: id == 77 and age > 3",
            ])
        #expect(
            try explain("rank == 5").prefix(2) == [
                "looks up 1 value in the index for: rank == 5",
                "finds 3 candidates of 9,000 objects of 'Person'",
            ])
        for (text, count) in [
            ("rank between {10, 19}", 30), ("rank < 4", 12), ("rank >= 2998", 6),
            ("nick beginswith 'n77'", 111), ("nick in {'n1', 'n2', 'none'}", 2),
            ("rank in {1, 5, 99999}", 6), ("rank == 1 or nick == 'n5' or id == 8000", 4),
            ("buddy.id == 101", 1), ("buddy.rank == 100", 3), ("buddy.buddy.nick == 'n50'", 1),
            ("rank < -5", 0), ("rank > 9223372036854775807", 0),
        ] {
            let lines = try explain(text)
            #expect(lines[0].contains("index") || lines[0].contains("empty range"), "\(text)")
            #expect(try world.rows(text).count == count, "\(text)")
            #expect(try world.rows(text) == world.rows("(\(text)) or falsepredicate"), "\(text)")
        }
        for text in ["rank > 100", "nick beginswith 'n'", "rank != 5", "age == 5 or rank == 5"] {
            #expect(try explain(text)[0].hasPrefix("scans"), "\(text)")
        }
    }

    @Test func `an index includes the changes of the open write`() throws {
        try addMany(3000)
        try world.store.write {
            let person = try world.all().object(at: 5)
            try person.set("rank", .int(777_777))
            try person.set("nick", .string("renamed"))
            #expect(try world.rows("rank == 777777") == [5])
            #expect(try world.rows("rank > 777000") == [5])
            #expect(try world.rows("nick beginswith 'ren'") == [5])
            #expect(try world.rows("nick == 'n5'").isEmpty)
            #expect(try world.rows("buddy.nick == 'renamed'") == [4])
        }
    }

    @Test func `long lists become bits or a hash table`() throws {
        try addMany()
        let numbers: [Int64] = Array(0..<5000)
        let dense: [Value] = numbers.map { .int($0 * 2) }
        let sparse: [Value] = numbers.map { .int($0 * 1_000_003) }
        let names: [Value] = numbers.map { .string("name \($0 * 2)") }
        #expect(try explain("age in $1", .list(dense))[1].contains("bits of 5,000 values"))
        #expect(try explain("age in $1", .list(sparse))[1].contains("hash of 5,000 values"))
        #expect(try explain("name in $1", .list(names))[1].contains("hash of 5,000 values"))
        #expect(try world.count("age in $1", .list(dense)) == 4500)
        #expect(try world.count("age in $1", .list(sparse + [.int(.min), .int(.max)])) == 90)
        #expect(try world.count("name in $1", .list(names)) == 4500)
        #expect(try world.count("not name in $1", .list(names)) == 4500)
        var heights: [Value] = numbers.prefix(1000).map { .double(Double($0) * 5) }
        heights.append(.double(.nan))
        let found = (0..<9000).count { (index: Int) -> Bool in index % 7 != 0 && index % 5 == 0 }
        #expect(try world.count("height in $1", .list(heights)) == found)
        let all = world.all()
        let people = try stride(from: 0, to: 9000, by: 3).map {
            Value.object(try all.object(at: $0).reference)
        }
        let linked = (0..<8999).count { (index: Int) -> Bool in
            index % 11 != 0 && (index + 1) % 3 == 0
        }
        #expect(try world.count("buddy in $1", .list(people)) == linked)
    }

    @Test func `identifiers are found in long lists too`() throws {
        let codes = (0..<600).map { _ in UUIDValue.random() }
        try world.addPeople(codes.map { ["code": .uuid($0)] })
        let wanted = stride(from: 0, to: 600, by: 2).map { Value.uuid(codes[$0]) }
        #expect(
            try world.rows("code in $1", .list(wanted)) == Array(stride(from: 0, to: 600, by: 2)))
    }

    @Test func `a limit does not require all matches`() throws {
        try addMany()
        for (text, limit) in [
            ("buddy.age > 50", 1), ("buddy.age > 50", 700), ("buddy.age == 99", 80),
            ("rank == 7", 2),
            ("age > 98", 0),
        ] {
            let all = try world.rows(text)
            let first = try world.rows("\(text) limit(\(limit))")
            #expect(first == Array(all.prefix(limit)), "\(text)")
        }
    }
}
