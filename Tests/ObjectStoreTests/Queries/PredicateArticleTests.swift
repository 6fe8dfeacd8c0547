import Foundation
import ObjectStore
import Testing

/// The examples of the article about the predicate language have the documented results.
@Suite struct PredicateArticleTests {
    private static let classes = [
        ClassSchema(
            "Dog",
            "name: string, age: int?, weight: double, born: date?, tags: string[], "
                + "owner: Person, coats: string<>, notes: string{}, toys: Toy[], more: mixed, "
                + "home: Place"),
        ClassSchema("Place", "type: string, coordinates: double[]", isEmbedded: true),
        ClassSchema("Person", "name: string, age: int, favorite: Dog, dogs: backlinks Dog.owner"),
        ClassSchema("Toy", "name: string, price: double"),
    ]

    private func fill(_ world: QueryWorld) throws {
        let store = world.store
        func make(_ className: String, _ values: ValueMap) throws -> LiveObject {
            try store.create(className, .dictionary(values))
        }
        func date(_ text: String) -> Value { .date(Timestamp(text)!) }
        try store.write {
            let ann = try make("Person", ["name": .string("Ann"), "age": .int(34)])
            let bob = try make("Person", ["name": .string("Bob"), "age": .int(52)])
            var toys: ValueMap = [:]
            for (name, price) in [("ball", 3), ("rope", 5), ("bone", 9.5)] {
                toys[name] = .object(
                    try make("Toy", ["name": .string(name), "price": .double(price)]).reference)
            }
            func dog(
                _ name: String, _ weight: Double, tags: [String], toys names: [String],
                _ others: ValueMap
            ) throws -> LiveObject {
                var values = others
                values["name"] = .string(name)
                values["weight"] = .double(weight)
                values["tags"] = .list(tags.map(Value.string))
                values["toys"] = .list(names.map { toys[$0]! })
                return try make("Dog", values)
            }
            let rex = try dog(
                "Rex", 30.5, tags: ["good", "loud"], toys: ["ball", "rope"],
                ["age": .int(3), "born": date("2021-03-04"), "owner": .object(ann.reference)])
            let max = try dog(
                "Max", 12, tags: [], toys: ["bone"],
                ["age": .int(7), "born": date("2018-01-01"), "owner": .object(bob.reference)])
            let bella = try dog(
                "Bella", 8, tags: ["small"], toys: [], ["owner": .object(ann.reference)])
            let last = try dog(
                "Änne", 40, tags: ["loud"], toys: ["ball", "ball", "bone"],
                ["age": .int(7), "born": date("2018-06-30")])
            try ann.set("favorite", .object(rex.reference))
            func describe(_ dog: LiveObject, _ coats: [String], _ notes: [String: String]) throws {
                try dog.set("coats", .list(coats.map(Value.string)))
                try dog.set("notes", .dictionary(ValueMap(notes.mapValues(Value.string))))
            }
            try describe(rex, ["white", "black"], ["food": "dry", "vet": "2024"])
            try describe(max, ["brown"], [:])
            try describe(last, ["white"], ["food": "wet"])
            try rex.set(
                "more", .dictionary(["chip": .int(12), "seen": .list([.int(1), .int(4)])]))
            try max.set("more", toys["bone"]!)
            try bella.set("more", .string("shy"))
            try last.set("more", .list([.double(2.5), .int(4)]))
            try bob.set("favorite", .object(last.reference))
            for (dog, east, north) in [(rex, 13.4, 52.5), (max, 2.35, 48.85), (bella, -74, 40.7)] {
                try dog.set(
                    "home",
                    .dictionary([
                        "type": .string("Point"),
                        "coordinates": .list([.double(east), .double(north)]),
                    ]))
            }
        }
    }

    @Test func `every example matches the documented dogs`() throws {
        let world = try QueryWorld(classes: Self.classes)
        try fill(world)
        let article =
            #filePath.components(separatedBy: "/Tests/")[0]
            + "/Sources/ObjectStore/ObjectStore.docc/PredicateLanguage.md"
        let lines = try String(contentsOfFile: article, encoding: .utf8).split(separator: "\n")
        var count = 0
        for line in lines where line.contains("→") && !line.hasPrefix("|") {
            let parts = line.components(separatedBy: "→")
            let text = parts[0].trimmingCharacters(in: .whitespaces)
            let expected = parts[1].trimmingCharacters(in: .whitespaces)
            let found = try world.all("Dog").filtered(text)
            let names = try found.keys().map { key -> String in
                guard
                    case .string(let name) = try found.source.object(
                        found.classSchema(), key
                    ).value("name")
                else { return "?" }
                return name
            }
            #expect(names.joined(separator: ", ") == expected, "\(text)")
            count += 1
        }
        #expect(count >= 75)
    }
}
