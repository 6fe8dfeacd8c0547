import Foundation
import Moonpool
import Testing

private struct Person: Model, Codable, Equatable {
    var name = "unnamed"
    var email = "none"
    var visits = 7
    var born: Timestamp?
    var home = Home()
    var tags: [String] = ["new"]
    var extra: Mixed = "x"
    var friends = Backlinks(\Person.best)
    var best: Link<Person>?
    static let options = ModelOptions<Person>(primaryKey: \.name)
}
private struct Home: EmbeddedModel, Codable, Equatable {
    var city = "Bree"
    var zip = 1
}
private struct Renamed: Model, Codable, Equatable {
    var first = "a"
    var second = 2
    var secret = "hidden"
    var note: String?
    enum CodingKeys: String, CodingKey {
        case note
        case second = "SECOND"
        case first = "1st"
    }
}

/// A coder of JSON or property lists.
private enum Coder: CaseIterable {
    case json, list

    func encode(_ value: some Encodable) throws -> Data {
        switch self {
        case .json: try JSONEncoder().encode(value)
        case .list: try PropertyListEncoder().encode(value)
        }
    }
    func decode<V: Decodable>(_ type: V.Type, _ data: Data) throws -> V {
        switch self {
        case .json: try JSONDecoder().decode(type, from: data)
        case .list: try PropertyListDecoder().decode(type, from: data)
        }
    }
    func copy<V: Codable>(of value: V) throws -> V {
        try decode([V].self, encode([value]))[0]
    }
}

@Suite struct CodingTests {
    private static let mixed: [Mixed] = [
        nil, true, false, 0, 1, -1, .int(.max), .int(.min), 0.5, 3.0, .double(-0.0), .double(1e300),
        .double(1e18), .double(.infinity), .double(-.infinity), .float(1.5), .float(2),
        .float(.infinity), .float(.greatestFiniteMagnitude), "", "text", "$date", "12", "nan",
        .data([]), .data([0, 255]), .date(Timestamp(microseconds: 1)),
        .date(Timestamp(microseconds: -1_234_567)),
        .date(Timestamp("9999-12-31T23:59:59.999999Z")!),
        .date(Timestamp("-1000-01-01")!), .uuid(UUIDValue(high: 1, low: .max)),
        .objectID(.generate()), .decimal(0), .decimal(DecimalValue("12.30")!),
        .decimal(DecimalValue("1E+6000")!), .decimal(.infinity), .decimal(.notANumber),
        .decimal(DecimalValue("-9999999999999999999999999999999999")!), [], [1, [2.0, nil], "a"],
        [:], ["a": 1, "b": [1.0]], ["$date": 5], ["$map": 5], ["$date": "2026"], ["$x": nil],
        ["": 1], ["a": ["$uuid": ["$decimal": "1"]]],
    ]

    @Test(arguments: Coder.allCases)
    private func `Every value decodes from what it encodes`(coder: Coder) throws {
        for value in Self.mixed { #expect(try coder.copy(of: value) == value) }
        let notANumber = try coder.copy(of: Mixed.double(.nan))
        guard case .double(let number) = notANumber else {
            Issue.record("\(notANumber)")
            return
        }
        #expect(number.isNaN)
        for value in Self.mixed {
            switch value {
            case .date(let moment): #expect(try coder.copy(of: moment) == moment)
            case .uuid(let identifier): #expect(try coder.copy(of: identifier) == identifier)
            case .objectID(let identifier): #expect(try coder.copy(of: identifier) == identifier)
            case .decimal(let number):
                #expect(try coder.copy(of: number).description == number.description)
            default: break
            }
        }
        #expect(
            try coder.decode([DecimalValue].self, coder.encode([1, 9_007_199_254_740_993]))[1]
                .description == "9007199254740993")
    }

    @Test(arguments: Coder.allCases)
    private func `A model decodes from some of its keys`(coder: Coder) throws {
        let bob = try coder.decode(Person.self, coder.encode(["name": "Bob", "unknown": "x"]))
        #expect(bob == Person(name: "Bob"))
        let full = Person(
            name: "Ann", email: "e", visits: 1, born: Timestamp(microseconds: 5),
            home: Home(city: "Rivendell", zip: 3), tags: [], extra: [1.0, nil],
            best: Link(primaryKey: "Bob"))
        #expect(try coder.copy(of: full) == full)
        #expect(
            try coder.copy(of: Renamed(first: "x", second: 5, note: "n"))
                == Renamed(first: "x", second: 5, note: "n"))
        #expect(try coder.decode(Renamed.self, coder.encode(["1st": "y"])).first == "y")
        #expect(try coder.decode(Renamed.self, coder.encode(["first": "y"])) == Renamed())
        #expect(try coder.decode(Renamed.self, coder.encode(["secret": "y"])) == Renamed())
        #expect(throws: DecodingError.self) {
            try coder.decode(Person.self, coder.encode(["visits": "many"]))
        }
    }

    @Test func `An embedded model decodes from some of its keys`() throws {
        let json = Data(#"{"name": "Bob", "home": {"zip": 9}, "born": null, "extra": null}"#.utf8)
        let bob = try JSONDecoder().decode(Person.self, from: json)
        #expect(bob.home == Home(city: "Bree", zip: 9) && bob.born == nil && bob.extra == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Person.self, from: Data(#"{"name": null}"#.utf8))
        }
    }
}
