import ObjectStore
import Testing

/// Damaged predicates cause only errors, and each error has a position in the text.
@Suite struct PredicateFuzzTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld()
        try world.addPeople([
            ["name": .string("Rex"), "age": .int(3), "numbers": .list([.int(1), .null])],
            ["height": .double(2), "tags": .list([.string("a")])],
        ])
    }

    static let valid = [
        "age > 3 and name beginswith[c] 'r' or not (active == true)",
        "any items.price between {1, 2.5} sort(age desc, name) distinct(rank) limit(3)",
        "subquery(items, $x, $x.price > 5 && subquery($x.owners, $y, $y.age > 1).@count > 0).@count == 1",
        "numbers == {1, nil} or tags[first] == 'a' || items[2].name like '?*'",
        "@links.Person.buddy.age + 2 * height - 1 / rank >= -5.5e3",
        "born > 2021-03-04T10:20:30Z and code != uuid(01234567-89ab-cdef-0123-456789abcdef)",
        "none items.price in {1, 'x', $1, nil} and mark == oid(0123456789abcdef01234567)",
        "extra.a[1]['b'][*].name != 'x' and extra.@type in {'int', 'Person'} or extra.@keys.@count > 1",
        "any extra.buddy.extra.@values >= extra.@sum.price * 2 and @links.Person.extra.nick == 'a'",
        "all buddy.items.owners.height <= $2 and photo.@size == 0 and @links.@count <> 2",
    ]

    /// The values of `$1` and `$2`, as far as a text uses them.
    private func values(for text: String) -> [Value] {
        let all: [Value] = [.int(1), .double(2)]
        return Array(all.prefix(text.contains("$2") ? 2 : text.contains("$1") ? 1 : 0))
    }

    private func check(_ text: String) {
        do {
            _ = try world.all().filtered(text, values(for: text)).count()
        } catch let error as StoreError {
            #expect(
                [.invalidQuery, .unknownProperty].contains(error.code),
                "\(text): \(error.message)")
            let lines = error.message.split(separator: "\n", omittingEmptySubsequences: false)
            guard lines.count >= 3, let caret = lines.last?.firstIndex(of: "^") else {
                Issue.record("no caret for: \(text)\n\(error.message)")
                return
            }
            let column = lines[lines.count - 1].distance(
                from: lines[lines.count - 1].startIndex, to: caret)
            // At the end of the text, the caret is right after it.
            #expect(column <= lines[lines.count - 2].count, "\(error.message)")
        } catch {
            Issue.record("another error: \(error)")
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a damaged predicate is an error with a position in the text`(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        for _ in 0..<600 {
            var bytes = Array(Self.valid.randomElement(using: &generator)!.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0...4, using: &generator) {
                case 0: bytes.remove(at: place)
                case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 2:
                    bytes.insert(
                        contentsOf: Array("([{'\"$@.,)]}".utf8).shuffled(using: &generator).prefix(
                            2), at: place)
                case 3:
                    let other = Array(Self.valid.randomElement(using: &generator)!.utf8)
                    let start = Int.random(in: 0..<other.count, using: &generator)
                    bytes.insert(contentsOf: other[start...].prefix(12), at: place)
                default: bytes.removeSubrange(place...)
                }
            }
            check(String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test func `the unchanged predicates are valid`() throws {
        for text in Self.valid {
            _ = try world.all().filtered(text, values(for: text)).keys()
        }
    }

    @Test func `numbers of any size are parsed or rejected`() {
        for number in [
            "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e999",
            "-1e999", "0x7fffffffffffffff", "0xffffffffffffffff", "1e-999",
            "99999999999999999999999999999999999999999",
        ] {
            for text in [
                "age == \(number)", "age < \(number)", "age in {\(number), \(number)}",
                "age between {\(number), \(number)}", "height >= \(number)", "weight == \(number)",
                "age + \(number) > \(number) * \(number)", "-\(number) / 0 == age",
                "numbers[\(number)] == 1", "extra[\(number)][\(number)] == 1",
                "truepredicate limit(\(number))",
                "rank == \(number) and rank > \(number)", "rank <= -\(number)",
            ] {
                check(text)
            }
        }
    }
}
