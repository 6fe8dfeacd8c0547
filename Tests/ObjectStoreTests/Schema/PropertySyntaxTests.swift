import ObjectStore
import Testing

@Suite struct PropertySyntaxTests {
    private func parse(_ text: String) throws -> Property {
        try PropertySyntax.parse(name: "p", in: "Dog", text)
    }

    @Test(arguments: [
        "int primary", "string", "int?", "string? indexed", "Person", "Toy[]", "int[]",
        "string?[]", "backlinks Person.dogs", "object_id primary", "uuid indexed", "date?", "data",
    ])
    func `a parsed declaration is written unchanged`(text: String) throws {
        #expect(PropertySyntax.text(of: try parse(text)) == text)
    }

    @Test func `a to-one link is always optional`() throws {
        #expect(try parse("Person").isOptional)
        #expect(try parse("Person?").isOptional)
        #expect(try !parse("Person[]").isOptional)
    }

    @Test(arguments: [
        ("", "has no type"), ("int[[]", "not a type"), ("int primry", "not a modifier"),
        ("backlinks Person", "backlinks Class.property"), ("object", "name of the linked class"),
        ("backlinks?", "backlinks Class.property"), ("[]", "not a type"),
        ("backlink Person.dogs", "did you mean 'backlinks Person.dogs'?"),
        ("mixed?", "may always be nil"), ("mixed?<>", "write \"mixed<>\""),
    ])
    func `unknown syntax is reported`(text: String, part: String) {
        let error = #expect(throws: StoreError.self) { try parse(text) }
        #expect(error?.code == .invalidSchema)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("'Dog.p'") == true)
    }

    @Test func `the suggested name is similar`() {
        #expect(NearestName.find("nmae", among: ["name", "age"]) == "name")
        #expect(NearestName.find("Naem", among: ["name", "age"]) == "name")
        #expect(NearestName.find("weight", among: ["name", "age"]) == nil)
    }
}
