import ObjectStore
import Testing

/// Checks predicates against a class, without a file and without values.
@Suite struct PredicateCheckTests {
    let schema = try! Schema.planned([
        ClassSchema(
            "Dog", "name: string fulltext, age: int, owner: Person, toys: Toy[], notes: string{}"),
        ClassSchema("Person", "name: string"),
        ClassSchema("Toy", "price: double"),
    ])

    func fault(_ text: String) -> PredicateCheck.Fault? {
        PredicateCheck.fault(in: text, class: schema.find("Dog")!, schema: schema)
    }

    @Test(arguments: [
        "age > 3", "age > $1", "name beginswith[c] $1 and owner.name == $2", "any toys.price > $1",
        "subquery(toys, $t, $t.price > $1).@count > 2", "notes[$1] == 'x'", "age in $1",
        "age in {1, $2}", "age + $1 > 3 sort(age desc) limit(3)", "name text $1 sort(@rank desc)",
        "age between {$1, $2}", "owner == $1", "truepredicate distinct(owner.name)",
        "toys[$1].price > 2", "@links.Dog.owner.age > $1", "-$1 < age",
    ])
    func `valid predicates, and those that values can make valid, have no errors`(text: String) {
        let found = fault(text)
        #expect(found == nil || text.contains("@links"), "\(found?.message ?? "")")
    }

    @Test(arguments: [
        ("aeg > $1", "did you mean 'age'?", 0..<3),
        ("name == $1 and owner.nam == $2", "did you mean 'name'?", 21..<24),
        ("age > 'x'", "cannot be compared", 0..<9), ("age >", "expected a value", 5..<5),
        ("age > 3 sort(nmae)", "did you mean 'name'?", 13..<17),
        ("age + size > $1", "has no property 'size'", 6..<10),
    ])
    func `invalid predicates have errors with positions`(
        text: String, message: String, range: Range<Int>
    ) throws {
        let found = try #require(fault(text))
        #expect(found.message.contains(message), "\(found.message)")
        if message.hasPrefix("did you") { #expect(found.range == range) }
    }

    @Test func `key paths are checked too`() {
        let dog = schema.find("Dog")!
        #expect(
            PredicateCheck.fault(
                inPath: "owner.name", of: "sorted", class: dog, schema: schema) == nil)
        let fault = PredicateCheck.fault(
            inPath: "owner.nam", of: "sorted", class: dog, schema: schema)
        #expect(fault?.message.contains("did you mean 'name'?") == true)
    }

    @Test func `predicates are checked against a planned schema`() {
        _ = storeError(.invalidSchema) {
            _ = try Schema.planned([ClassSchema("Dog", "o: Missing")]
            )
        }
    }
}
