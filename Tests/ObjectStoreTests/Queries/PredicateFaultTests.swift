import ObjectStore
import Testing

/// The errors of invalid predicates; any text causes at most an error.
@Suite struct PredicateFaultTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld()
    }

    @Test func `the compiler marks an unknown property and suggests a similar one`() {
        #expect(
            world.fault("age > 3 and nmae == 'Rex'") == """
                'Person' has no property 'nmae'; did you mean 'name'?
                  age > 3 and nmae == 'Rex'
                              ^~~~
                """)
        #expect(
            world.fault("buddy.buddy.agee == 3") == """
                'Person' has no property 'agee'; did you mean 'age'?
                  buddy.buddy.agee == 3
                              ^~~~
                """)
    }

    @Test func `the compiler reports type mismatches before the query runs`() {
        #expect(
            world.fault("name == 5") == """
                'Person.name' (string?) cannot be compared with an int
                  name == 5
                          ^
                """)
        for text in [
            "age == 'x'", "active == 2", "born > 5", "photo == 5", "mark == 5", "code == 'x'",
            "buddy == 5", "age == name", "active > false", "age == 'a' + 1",
        ] {
            #expect(world.fault(text).contains("^"), "\(text)")
        }
        #expect(world.fault("age == 2.5") == "no error")
        #expect(world.fault("active == 1") == "no error")
        #expect(world.fault("height == age") == "no error")
    }

    @Test func `the compiler refuses string operators on other types`() {
        #expect(
            world.fault("age beginswith 'x'") == """
                'beginswith' searches strings, not 'Person.age' (int?)
                  age beginswith 'x'
                      ^~~~~~~~~~
                """)
        for text in ["active contains 'x'", "born like 'x'", "buddy endswith 'x'", "age ==[c] 3"] {
            #expect(world.fault(text).contains("^"), "\(text)")
        }
        #expect(world.fault("name <[c] 'x'").hasPrefix("'<' has no options such as [c]"))
    }

    @Test func `the compiler checks the number of arguments`() {
        #expect(
            world.fault("age == $2", .int(1)) == """
                there is no argument $2: 1 was given
                  age == $2
                         ^~
                """)
        #expect(world.fault("age == $0").contains("counted from 1"))
        #expect(world.fault("age == $").contains("the first argument is $1"))
    }

    @Test func `the compiler requires two constants for between`() {
        for text in [
            "age between 3", "age between {1}", "age between {1, 2, 3}", "age between {1, height}",
            "name between {'a', 'b'}", "active between {true, false}", "age between {'a', 'b'}",
        ] {
            #expect(world.fault(text).contains("^"), "\(text)")
        }
    }

    @Test func `the compiler refuses a quantifier without a list`() {
        #expect(
            world.fault("all buddy.age > 3") == """
                'all' needs a list in the path; 'Person.age' is reached without one
                  all buddy.age > 3
                  ^~~~~~~~~~~~~
                """)
    }

    @Test func `the compiler refuses to compare lists and backlinks with nil or a list of values`()
    {
        #expect(world.fault("age != {1, 2}").contains("use 'in'"))
        #expect(world.fault("admirers == nil").contains("is never nil"))
        #expect(world.fault("age in 5").contains("'in': expected a list"))
    }

    @Test(arguments: [
        ("", "expected a condition"), ("age >", "got the end"), ("age > 3 and", "got the end"),
        ("(age > 3", "expected ')'"), ("age > 3)", "expected 'and', 'or' or the end"),
        ("name == 'Rex", "this string is not closed"), ("age = = 3", "expected a value"),
        ("age >> 3", "expected a value"), ("age > 3 adn active", "did you mean 'and'?"),
        ("name matches 'x'", "'matches' is not an operator"), ("age", "expected a condition"),
        ("3", "expected a condition"), ("age ? 3", "'?' is not valid here"),
        ("age > 3 sort(nam)", "did you mean 'name'?"), ("age > 3 limit(-1)", "expected an integer"),
        ("age > 3 limit(2.7)", "expected an integer"), ("age > 3 limit(x)", "expected an integer"),
        ("sort(age)", "must follow a condition"), ("name == 'a\\q'", "unknown escape"),
        ("1 < age < 3", "cannot be chained"), ("age > 3 & active", "write '&&'"),
        ("uuid(12) == code", "this is not a valid UUID"), ("items[0].price > 3", "counted from 1"),
        ("items.@values > 3", "needs a map"), ("tags.@keys == 'x'", "needs a map"),
        ("items.@cuont > 3", "did you mean 'count'?"),
        ("age.@count > 3", "counts lists"), ("items.@sum > 3", "needs a property"),
        ("subquery(buddy, $x, $x.age > 3).@count > 0", "needs a list of objects"),
        ("subquery(items, $x, $x.price > 3) > 0", "must be followed by .@count"),
        ("subquery(items, $x, price > 3).@count > 0", "begins with its variable"),
        ("truepredicate sort(items.price)", "goes through the list"),
        ("truepredicate sort(buddy)", "ends in the link"), ("truepredicate sort(photo)", "data"),
        ("age.foo == 3", "not a link"), ("numbers.foo == 3", "not a link"),
        ("2021-13-01 < born", "not a date"),
    ])
    func `the compiler reports the cause of an error`(text: String, part: String) {
        let message = world.fault(text)
        #expect(message.contains(part), "\(text): \(message)")
        #expect(message.contains("\n  "))
    }

    @Test(arguments: [
        ("name = %@", "write $1"), ("name = ?", "write $1"), ("name = :name", "write $1"),
        ("name MATCHES 'x'", "write 'like'"), ("name ilike 'x*'", "write 'like[c]'"),
        ("name startswith 'x'", "write 'beginswith'"), ("name is null", "write '= nil'"),
        ("name is not null", "'!= nil'"), ("SELF.name = 'x'", "without 'SELF.'"),
        ("name = Rex", "write text in quotes: 'Rex'"), ("name = nam", "did you mean 'name'?"),
    ])
    func `the compiler suggests the syntax for operators of other languages`(
        text: String, advice: String
    ) {
        let message = world.fault(text).prefix { $0 != "\n" }
        #expect(message.contains(advice), "\(text): \(message)")
        #expect(message.split(separator: "; ").count == 2, "\(text): \(message)")
    }

    @Test func `the compiler limits nesting instead of exhausting the stack`() {
        for count in [99, 100, 100_000] {
            let text =
                String(repeating: "(", count: count) + "age > 3"
                + String(repeating: ")", count: count)
            #expect((world.fault(text) == "no error") == (count < 100))
        }
        let list = String(repeating: "{", count: 100_000)
        #expect(world.fault("age in \(list)").contains("nested too deeply"))
        let sum = "age > 0" + String(repeating: "+1", count: 100_000)
        #expect(world.fault(sum).contains("too many operations"))
        let negations = String(repeating: "not ", count: 100_001) + "age > 3"
        #expect(world.fault(negations) == "no error")
        let chain = Array(repeating: "age > 3", count: 20_000).joined(separator: " or ")
        #expect(world.fault(chain) == "no error")
    }

    @Test func `the compiler limits the length of a path instead of exhausting the stack`() throws {
        for (first, step) in [("", "buddy."), ("any ", "admirers.")] {
            for count in [99, 100, 100_000] {
                let text = first + String(repeating: step, count: count) + "age > 3"
                #expect((world.fault(text) == "no error") == (count < 100), "\(count) \(step)")
            }
        }
        let people = world.all()
        let far = String(repeating: "buddy.", count: 100_000) + "age"
        #expect(throws: StoreError.self) { try people.sorted([(far, true)]) }
        #expect(throws: StoreError.self) { try people.distinct([far]) }
        #expect(throws: StoreError.self) { try people.minimum(far) }
    }

    @Test func `the compiler shortens a long text to the part around the error`() {
        let filler = Array(repeating: "age > 3", count: 1000).joined(separator: " and ")
        let message = world.fault(filler + " and nmae == 'x' and " + filler)
        #expect(message.count < 300)
        let lines = message.split(separator: "\n")
        let caret = lines[2].distance(
            from: lines[2].startIndex, to: lines[2].firstIndex(of: "^")!)
        #expect(String(lines[1].dropFirst(caret)).hasPrefix("nmae"))
    }

    @Test func `random text causes at most an error`() {
        var generator = SplitMix(seed: 7)
        let words = [
            "age", "name", "items", ".", "price", "@count", "@sum", "any", "all", "not", "and",
            "or", "==", "!=", "<", ">=", "between", "in", "{", "}", "(", ")", ",", "$1", "$x", "3",
            "2.5", "-", "+", "*", "/", "'a'", "\"", "[c]", "[", "nil", "true", "subquery",
            "beginswith", "like", "sort", "limit", "distinct", "uuid(", "2021-01-01", "é", "\u{0}",
            "\\", "truepredicate", "@links", "Person", "buddy", "@", "$", "🙂", "\n", "0x",
        ]
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...12, using: &generator)
            var text = ""
            for _ in 0..<count {
                text += words.randomElement(using: &generator)!
                if Bool.random(using: &generator) { text += " " }
            }
            _ = try? world.all().filtered(text, [.int(1)]).count()
        }
    }
}
