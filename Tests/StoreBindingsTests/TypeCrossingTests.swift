import Glibc
import LuaHost
import Reference
import TestThreads
import Testing
import Transfer

@testable import ObjectStore
@testable import StoreBindings

/// Every type in every form of a property: each codec returns the boundary values, and each operator finds the objects
/// that a plain model finds.
@Suite struct TypeCrossingTests {
    @Test(arguments: TypeCrossing.types)
    func `every codec and operator of a type agrees with a model, in every form of a property`(
        type: PropertyType
    ) throws {
        try TypeCrossing(type).run()
    }

    @Test func `a type that a test adds to the table passes the same checks, without other code`()
        async
    {
        await #expect(processExitsWith: .success) {
            func add(_ name: String, _ size: UInt8) -> PropertyType {
                .fixed(
                    FixedType.register(
                        FixedType.Traits(
                            name: name, size: size, title: name, format: "\(name): and digits",
                            functions: [name], tags: ["$\(name)"], luaClass: "string",
                            sqlite: "\(name)_TEXT",
                            text: { "\(name):\(Hexadecimal.text(of: $0.bytes))" },
                            parse: { text in
                                guard text.hasPrefix("\(name):"),
                                    let type = FixedType.all.first(where: {
                                        $0.traits.name == name
                                    }),
                                    let bytes = Hexadecimal.bytes(
                                        of: String(text.dropFirst(name.count + 1)))
                                else { return nil }
                                return FixedValue(type, bytes: bytes)
                            },
                            generate: { FixedValue(.uuid, high: 0, low: 0) })))
            }
            for type in [add("serial", 12), add("network", 16), .mixed] {
                try TypeCrossing(type).run()
            }
        }
    }
}

/// Objects with the boundary values of a type in every form of a property.
struct TypeCrossing {
    static var types: [PropertyType] {
        PropertyType.allCases.filter { ![.object, .backlinks].contains($0) }
    }

    private let type: PropertyType
    private let values: [Value]
    private let session: Session
    private let forms: [(name: String, type: String)]
    private let rows: [ValueMap]

    init(_ type: PropertyType) throws {
        self.type = type
        values = Self.boundaries(type)
        let optional = type.rawValue + (type == .mixed ? "" : "?")
        forms =
            [
                ("single", type.rawValue), ("perhaps", optional), ("items", optional + "[]"),
                ("members", optional + "<>"), ("entries", optional + "{}"), ("extra", "mixed"),
                ("extras", "mixed[]"),
            ] + (type.canBeIndexed ? [("known", optional + " indexed")] : [])
        let fields = forms.map { "\($0.name) = \"\($0.type)\"" }.joined(separator: ", ")
        session = try Session(
            ["T", "C"].map { "\($0) = { id = \"int primary\", \(fields) }, " }.joined()
                + (type.canBePrimary ? "K = { key = \"\(type.rawValue) primary\" }" : ""))
        let values = values
        rows =
            values.indices.map { index in
                Self.row(values[index], values[(index + 1) % values.count], type)
            } + [Self.row(.null, .null, type)]
    }

    private static func row(_ value: Value, _ next: Value, _ type: PropertyType) -> ValueMap {
        // A set of mixed values contains no collections.
        let members = [value, next].filter { !$0.isCollection }.reduce(into: [Value]()) {
            (unique, member) in
            if !unique.contains(where: { order($0, member) == 0 }) { unique.append(member) }
        }
        return [
            "single": value == .null ? type.zero : value, "perhaps": value, "known": value,
            "items": .list([value, next, .null]),
            "members": .list(members.sorted { order($0, $1) < 0 }),
            "entries": .dictionary(["a": value, "b": .null]), "extra": value,
            "extras": .list([value, .dictionary(["in": value])]),
        ]
    }

    private static func boundaries(_ type: PropertyType) -> [Value] {
        switch type {
        case .bool: return [.bool(false), .bool(true)]
        case .int: return [.min, -1, 0, 1, .max].map(Value.int)
        case .float:
            return [
                -.infinity, -.greatestFiniteMagnitude, -1.5, -0.0, 0, .leastNonzeroMagnitude, 0.1,
                .greatestFiniteMagnitude, .infinity, .nan,
            ].map(Value.float)
        case .double:
            return [
                -.infinity, -.greatestFiniteMagnitude, -1.5, -0.0, 0, .leastNonzeroMagnitude, 0.1,
                .greatestFiniteMagnitude, .infinity, .nan,
            ].map(Value.double)
        case .string:
            return [
                "", "\0", "a", "a\0", "aaaaaaaa", "aaaaaaaab", "é", "e\u{301}", "\u{10FFFF}", "-1",
            ].map(Value.string)
        case .data:
            return [[], [0], [0, 0], [97], [255], [UInt8](repeating: 97, count: 9)].map(Value.data)
        case .date:
            return [.min / 2, -1, 0, 1, .max / 2].map { .date(Timestamp(microseconds: $0)) }
        case .fixed(let type):
            return [(0, 0), (0, 1), (0x0123_4567_89AB_CDEF, 7), (1 << 63, 0), (.max, .max)].map {
                .fixed(FixedValue(type, high: $0, low: $1))
            }
        case .decimal:
            return [
                "NaN", "-Infinity", "-9.999999999999999999999999999999999E+6144", "-1", "0",
                "1E-6176", "0.10", "1234567890123456789012345678901234", "Infinity",
            ].map { .decimal(DecimalValue($0)!) }
        case .mixed:
            // The numbers are those that all types of numbers can represent, or that are beyond them.
            return [
                .bool(false), .bool(true), .int(-1), .int(.max), .float(-1), .float(1.5),
                .double(.nan), .double(0.5), .double(.infinity), .decimal(DecimalValue("0.5")!),
                .decimal(.zero), .list([]), .list([.null, .int(1), .list([.bool(true)])]),
                .dictionary([:]), .dictionary(["$date": .string("a"), "b": .list([.double(2)])]),
            ]
                + types.filter { !$0.isNumeric && $0 != .mixed && $0 != .bool }
                .flatMap { boundaries($0).suffix(3) }
        case .object, .backlinks: return []
        }
    }

    // MARK: The model

    private static func order(_ left: Value, _ right: Value) -> Int {
        func rank(_ value: Value) -> Int {
            let ranks = ["nil", "bool", "int", "string", "data", "date"]
            if value.type?.isNumeric == true { return 2 }
            if case .fixed(let fixed) = value { return 6 + Int(fixed.type.number) }
            return ranks.firstIndex(of: value.typeName) ?? 1000
        }
        func compare<C: Comparable>(_ a: C, _ b: C) -> Int { a < b ? -1 : a == b ? 0 : 1 }
        func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
            a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
        }
        func number(_ value: Value) -> (double: Double, decimal: DecimalValue?) {
            switch value {
            case .int(let number): (Double(number), DecimalValue(number))
            case .float(let number): (Double(number), nil)
            case .double(let number): (number, nil)
            case .decimal(let number): (number.double, number)
            default: (0, nil)
            }
        }
        guard rank(left) == rank(right) else { return compare(rank(left), rank(right)) }
        switch (left, right) {
        case (.bool(let a), .bool(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
        case (.int(let a), .int(let b)): return compare(a, b)
        case (.string(let a), .string(let b)): return compare(Array(a.utf8), Array(b.utf8))
        case (.data(let a), .data(let b)): return compare(a, b)
        case (.date(let a), .date(let b)): return compare(a.microseconds, b.microseconds)
        case (.fixed(let a), .fixed(let b)): return compare(a.bytes, b.bytes)
        case (.null, .null): return 0
        default:
            let (a, b) = (number(left), number(right))
            if a.double.isNaN || b.double.isNaN {
                return compare(a.double.isNaN ? 0 : 1, b.double.isNaN ? 0 : 1)
            }
            if let first = a.decimal, let second = b.decimal {
                return DecimalValue.order(first, second) ?? 0
            }
            return compare(a.double, b.double)
        }
    }

    private static func holds(_ left: Value, _ operation: String, _ right: Value) -> Bool {
        let isSame =
            left.type == right.type
            || left.type?.isNumeric == true && right.type?.isNumeric == true
        let order = order(left, right)
        switch operation {
        case "==": return order == 0
        case "!=": return order != 0
        default:
            guard isSame, left != .null else { return false }
            switch operation {
            case "<": return order < 0
            case "<=": return order <= 0
            case ">": return order > 0
            default: return order >= 0
            }
        }
    }

    // MARK: The checks

    private var store: Store { session.module.openStores[0] }
    private var objects: Results { get throws { try store.objects("T") } }

    func run() throws {
        try store.write {
            for (id, row) in rows.enumerated() {
                try store.create("T", .dictionary(values(of: row, id)))
            }
        }
        try check(store, "T", "created")
        try checkQueries()
        try checkCollections()
        try checkKeys()
        try checkTexts()
        try checkScripts()
        try checkUndo()
        try checkDefaults()
        for name in ["a.jsonl", "a.json", "a.lua", "a.sqlite"] { try checkFile(name) }
    }

    private func values(of row: ValueMap, _ id: Int) -> ValueMap {
        var values: ValueMap = ["id": .int(Int64(id))]
        for form in forms { values[form.name] = row[form.name] }
        return values
    }

    /// Compares the objects of a class with the rows, after `expected` has changed these.
    private func check(
        _ store: Store, _ className: String, _ what: String,
        _ expected: (Value, _ isMixed: Bool) -> Value = { value, _ in value }
    ) throws {
        for (id, row) in rows.enumerated() {
            let object = try #require(
                try store.object(className, primaryKey: .int(Int64(id))), "\(what) \(id)")
            for form in forms {
                let wanted = expected(row[form.name]!, form.type.hasPrefix("mixed"))
                let found = try object.value(form.name)
                #expect(found == wanted, "\(type.rawValue) \(what): \(form.name) of \(id)")
            }
        }
    }

    private func ids(_ results: Results) throws -> [Int] {
        try (0..<results.count()).map { position in
            guard case .int(let id) = try results.object(at: position).value("id") else {
                return -1
            }
            return Int(id)
        }
    }

    private func expectFound(
        _ text: String, _ arguments: [Value], _ wanted: (ValueMap) -> Bool
    ) throws {
        let expected = rows.indices.filter { wanted(rows[$0]) }
        let found = try ids(objects.filtered(text, arguments)).sorted()
        #expect(found == expected, "\(type.rawValue): \(text) with \(arguments.map(\.summary))")
    }

    private var constants: [Value] { values.filter { !$0.isCollection } + [.null] }

    /// Usually, of many constants, another third for each path.
    private func constants(forPath number: Int) -> [Value] {
        let isSample = !RandomSeeds.areAll && constants.count > 12
        return constants.enumerated().filter { !isSample || ($0.offset + number) % 3 == 0 }
            .map(\.element)
    }

    private func operators(_ constant: Value) -> [String] {
        let hasOrder = type != .bool && constant.type != .bool && constant != .null
        return ["==", "!="] + (hasOrder ? ["<", "<=", ">", ">="] : [])
    }

    private func checkQueries() throws {
        let paths = ["single", "perhaps", "known", "extra"].filter { path in
            forms.contains { $0.name == path }
        }
        for (number, path) in paths.enumerated() {
            for constant in constants(forPath: number) {
                for operation in operators(constant) {
                    try expectFound("\(path) \(operation) $1", [constant]) {
                        Self.holds($0[path]!, operation, constant)
                    }
                    try expectFound("not \(path) \(operation) $1", [constant]) {
                        !Self.holds($0[path]!, operation, constant)
                    }
                }
                try expectFound("\(path) in {$1, $2}", [constant, constants[0]]) {
                    Self.holds($0[path]!, "==", constant)
                        || Self.holds($0[path]!, "==", constants[0])
                }
            }
            guard type != .data else { continue }
            for ascending in [true, false] {
                let sorted = try ids(objects.sorted([(path, ascending)]))
                let expected = rows.indices.sorted { first, second in
                    let order = compare(rows[first][path]!, rows[second][path]!)
                    return order == 0 ? first < second : (order < 0) == ascending
                }
                #expect(sorted == expected, "\(type.rawValue): sorted by \(path) \(ascending)")
            }
            let different = rows.indices.filter { index in
                !rows[..<index].contains { compare($0[path]!, rows[index][path]!) == 0 }
            }
            #expect(
                try ids(objects.distinct([path])) == different, "\(type.rawValue): distinct \(path)"
            )
            let keys = try SectionedResults(objects, by: [(path, true)]).keys()
            let groups = different.map { rows[$0][path]! }.sorted { compare($0, $1) < 0 }
            #expect(keys.count == groups.count)
            for (key, group) in zip(keys, groups) {
                #expect(compare(key, group) == 0, "\(type.rawValue): section \(group.summary)")
            }
            let isDate = type == .date && path != "extra"
            guard type.isNumeric || isDate || type == .mixed else { continue }
            let numbers = rows.map { $0[path]! }.filter { value in
                value.type == type || value.type?.isNumeric == true
            }.filter { $0.type == .date || !(Self.order($0, .double(.nan)) == 0) }
                .sorted { Self.order($0, $1) < 0 }
            #expect(Self.order(try objects.minimum(path), numbers[0]) == 0, "\(path)")
            #expect(Self.order(try objects.maximum(path), numbers.last!) == 0, "\(path)")
        }
    }

    /// Compares values that may contain collections, with the order of the store.
    private func compare(_ left: Value, _ right: Value) -> Int {
        left.isCollection || right.isCollection
            ? ValueOrder.order(left, right) : Self.order(left, right)
    }

    private func elements(_ value: Value) -> [Value] {
        switch value {
        case .list(let values): values
        case .dictionary(let entries): Array(entries.values)
        default: []
        }
    }

    private func checkCollections() throws {
        for (number, path) in ["items", "members", "entries"].enumerated() {
            for constant in constants(forPath: number) {
                for operation in ["==", "!="] {
                    func found(_ row: ValueMap) -> Int {
                        elements(row[path]!).count { Self.holds($0, operation, constant) }
                    }
                    try expectFound("any \(path) \(operation) $1", [constant]) { found($0) > 0 }
                    try expectFound("none \(path) \(operation) $1", [constant]) { found($0) == 0 }
                    try expectFound("all \(path) \(operation) $1", [constant]) {
                        found($0) == elements($0[path]!).count
                    }
                }
            }
            try expectFound("\(path).@count == $1", [.int(2)]) { elements($0[path]!).count == 2 }
        }
    }

    private func checkKeys() throws {
        guard type.canBePrimary else { return }
        try store.write {
            for value in values { try store.create("K", .dictionary(["key": value])) }
        }
        for value in values {
            let object = try #require(try store.object("K", primaryKey: value))
            #expect(try object.value("key") == value)
        }
    }

    private func checkTexts() throws {
        for value in values {
            guard let type = value.type, type != .data, let text = value.text else { continue }
            #expect(ValueText.value(text, as: type) == value, "\(type.rawValue): \(text)")
            let written = ExactConversion.convert(value, to: Property("x", .string))
            #expect(written == .string(text))
            #expect(ExactConversion.convert(.string(text), to: Property("x", type)) == value)
        }
    }

    /// Returns the value that a script reads from a mixed property: Lua has one type for floats and doubles, and one for
    /// strings and data.
    private func inLua(_ value: Value, _ isMixed: Bool) -> Value {
        switch value {
        case .float(let number) where isMixed: .double(Double(number))
        case .data(let bytes) where isMixed:
            String(validating: bytes, as: UTF8.self).map(Value.string) ?? value
        default: value
        }
    }

    private func checkScripts() throws {
        let names = forms.map { "\($0.name) = object.\($0.name)" }.joined(separator: ", ")
        session.expect(
            """
            store:write(function()
              for object in store:objects("T"):each() do store:create("C", { id = object.id, \(names) }) end
            end)
            """)
        // A set of mixed values has another order if its elements have other types.
        if type != .mixed { try check(store, "C", "copied by a script", inLua) }
        let handle = session.module.handles[0]
        let bridge = ValueBridge(handle, nil)
        for value in values {
            let created = try session.run("return \(LuaLiteral.value(value))")[0]
            var wanted = value
            if case .float(let number) = value { wanted = .double(Double(number)) }
            if !value.isCollection {
                #expect(try bridge.mixed(created) == wanted, "\(value.summary)")
            }
            guard value.type != nil else { continue }
            let sent = try Parcel([handle.json.exact(value)], of: session.module) { "\($0)" }
            #expect(try bridge.mixed(sent.open(in: session.module)[0]) == value)
        }
    }

    private func checkUndo() throws {
        let names = forms.map { "object.\($0.name) = last.\($0.name)" }.joined(separator: " ")
        session.expect(
            """
            store:write(function()
              local last = store:object("T", \(rows.count - 1))
              for object in store:objects("T"):each() do \(names) end
            end)
            store:undo()
            """)
        try check(store, "T", "undone")
    }

    /// A second store reads the defaults from the stored schema.
    private func checkDefaults() throws {
        let flat = values.filter { !elements($0).contains(where: \.isCollection) }
        let properties = flat.enumerated().map { Property("d\($0)", type, defaultValue: $1) }
        let all = Property(
            "all", type, collection: .list, defaultValue: .list(flat.filter { !$0.isCollection }))
        let location = StoreConfiguration.Location.memory("defaults \(UUIDValue.random())")
        let first = try Store(
            StoreConfiguration(location, schema: [ClassSchema("D", properties + [all])]),
            scheduler: session.manual)
        let second = try Store(StoreConfiguration(location), scheduler: session.manual)
        try second.write {
            let object = try second.create("D", .dictionary([:]))
            for property in properties + [all] {
                #expect(try object.value(property.name) == property.defaultValue)
            }
        }
        second.close()
        first.close()
    }

    private func checkFile(_ name: String) throws {
        let path = "/tmp/moonpool-types-\(UUIDValue.random())-\(name)"
        defer { unlink(path) }
        let format = try TransferFormat(path: name)
        _ = try Exporter(.store(store), as: format).write(to: path)
        let other = try Store(
            StoreConfiguration(.memory("types \(UUIDValue.random())")), scheduler: session.manual)
        defer { other.close() }
        _ = try Importer(into: other).read(path, as: format)
        try check(other, "T", name)
    }
}
