import ObjectStore
import Reference

/// Generates objects with plausible values for every class of a store, for testing the `down` of a migration.
///
/// The values are the same in each run. The values of a property differ from each other if its type has enough values,
/// so that unique indexes hold; every third optional value is nil.
struct GeneratedFixture {
    /// The kind of the generated values; a migration can expect either kind of text.
    enum Kind: String {
        /// Small numbers, and texts of letters.
        case words
        /// Small numbers, and texts of digits.
        case digits
        /// Large and negative numbers, long texts, spaces at the ends of texts, dates before 1970.
        case boundaries
        /// Small values, and some objects with empty texts, data and collections, and with NaN.
        case empty
    }

    private let store: Store
    private let kind: Kind
    private static let count = 6
    private static let embeddedDepth = 3

    /// Creates a fixture for an open store without an open write transaction.
    init(_ store: Store, _ kind: Kind) {
        self.store = store
        self.kind = kind
    }

    /// Fills the store in one write transaction.
    ///
    /// Throws the errors of creating the objects.
    func fill() throws {
        try store.write {
            let classes = store.schema.classes.filter { !$0.isEmbedded }
            var objects: [String: [LiveObject]] = [:]
            for classSchema in classes {
                objects[classSchema.name] = try (0..<Self.count).map { row in
                    // Earlier migrations can have created objects with the same keys.
                    try store.create(
                        classSchema.name, values(of: classSchema, row, depth: 0),
                        mode: classSchema.primaryKey == nil ? .error : .all)
                }
            }
            // Links are set in a second pass, when their targets exist.
            for classSchema in classes {
                for property in classSchema.properties where property.type == .object {
                    guard let targets = property.target.flatMap({ objects[$0] }) else { continue }
                    for (row, object) in (objects[classSchema.name] ?? []).enumerated() {
                        let links = [1, 4].map { step in
                            Value.object(targets[(row + step) % Self.count].reference)
                        }
                        try object.set(property.name, Self.collected(links, property))
                    }
                }
            }
        }
    }

    private func values(of classSchema: ClassSchema, _ row: Int, depth: Int) -> Value {
        var given: ValueMap = [:]
        for (column, property) in classSchema.properties.enumerated() where !property.isBacklinks {
            if property.isSingle, property.isOptional, (row + column) % 3 == 2 { continue }
            if !property.isSingle, kind == .empty, row % 3 == 2 { continue }
            var elements: [Value] = []
            for index in 0..<2 {
                if property.type == .object {
                    guard depth < Self.embeddedDepth,
                        let target = property.target.flatMap({ store.schema.find($0) }),
                        target.isEmbedded
                    else { continue }
                    elements.append(values(of: target, row * 2 + index, depth: depth + 1))
                } else {
                    elements.append(value(property.type, row * 2 + index, column))
                }
            }
            if !elements.isEmpty {
                given[property.name] = Self.collected(elements, property)
            }
        }
        return .dictionary(given)
    }

    /// Returns the first element, or all elements if the property is a collection.
    private static func collected(_ elements: [Value], _ property: Property) -> Value {
        switch property.collection {
        case nil: elements[0]
        case .map: .dictionary(["one": elements[0], "two": elements[1]])
        default: .list(elements)
        }
    }

    private func value(_ type: PropertyType, _ row: Int, _ column: Int) -> Value {
        var number = Int64(row * 10 + column + 1)
        // Each of several rows has another sign and magnitude, and the numbers still differ from each other.
        if kind == .boundaries { number *= row / 2 % 2 == 0 ? -1_000_003 : 1_000_000_007 }
        // Only one of six objects, because the values of an index may have to be unique.
        if kind == .empty, row == 4 {
            switch type {
            case .string: return .string("")
            case .data: return .data([])
            case .float: return .float(.nan)
            case .double: return .double(.nan)
            default: break
            }
        }
        switch type {
        case .bool: return .bool(row / 2 % 2 == 0)
        case .int: return .int(number)
        case .float: return .float(Float(number) + 0.5)
        case .double: return .double(Double(number) + 0.25)
        case .string: return .string(text(number))
        case .data: return .data([UInt8(truncatingIfNeeded: number), 0, 255])
        case .date:
            let microseconds =
                kind == .boundaries
                ? number * 1_000_000 : 1_700_000_000_000_000 + number * 86_400_000_000
            return .date(Timestamp(microseconds: microseconds))
        case .fixed(let type):
            return .fixed(FixedValue(type, high: 1, low: UInt64(bitPattern: number)))
        case .decimal: return .decimal(DecimalValue("\(number).50") ?? .zero)
        case .mixed: return row % 2 == 0 ? .int(number) : .string(text(number))
        case .object, .backlinks: return .null
        }
    }

    private func text(_ number: Int64) -> String {
        switch kind {
        case .digits: "\(number)"
        case .boundaries:
            switch number.magnitude % 3 {
            case 0: "  Mixed Case \(number) "
            case 1: "\t\(number)\n"
            default: String(repeating: "long ", count: 60) + "\(number)"
            }
        case .words, .empty:
            // 20 becomes "Ca": the text contains only letters, so that it matches patterns for names and words.
            String(
                "\(number)".utf8.enumerated().map { index, digit in
                    Character(Unicode.Scalar((index == 0 ? 65 : 97) + digit - 48))
                })
        }
    }
}

/// The values of a store's objects as text, for comparing the state before and after migrations.
struct StoreContents {
    /// The location of a value: an object, by its class and key, and a property.
    ///
    /// The name of an embedded object is that of its owner and its place there.
    struct Cell: Hashable, CustomStringConvertible {
        let className: String
        let property: String
        let object: String
        var description: String { "'\(className).\(property)' of \(object)" }
    }

    /// The whole values as text.
    private var values: [Cell: String] = [:]
    private let lost: Set<String>

    /// Records the content of a store.
    ///
    /// Objects whose primary key is in `lost`, as `Class.property`, are named by their numbers.
    init(_ store: Store, losing lost: Set<String>) throws {
        self.lost = lost
        for classSchema in store.schema.classes where !classSchema.isEmbedded {
            let results = try store.objects(classSchema.name)
            for index in 0..<(try results.count()) {
                let object = try results.object(at: index).reference
                try record(object, classSchema, name(object, store), store)
            }
        }
    }

    private mutating func record(
        _ object: ObjectReference, _ classSchema: ClassSchema, _ name: String, _ store: Store
    ) throws {
        for property in classSchema.properties where !property.isBacklinks {
            let value = try store.view.value(property, of: object.key, in: classSchema)
            let cell = Cell(className: classSchema.name, property: property.name, object: name)
            values[cell] = try text(value, property, "\(name), \(property.name)", store)
        }
    }

    /// Returns the first location in alphabetical order whose values differ, with both values; nil if there is none.
    ///
    /// Ignores the properties and classes in `lost`, named `Class.property` or by the name of the class.
    func difference(to other: StoreContents, except lost: Set<String>) -> String? {
        let cells = Set(values.keys).union(other.values.keys).filter { cell in
            values[cell] != other.values[cell] && !lost.contains(cell.className)
                && !lost.contains("\(cell.className).\(cell.property)")
        }
        func short(_ text: String?) -> String? {
            text.map { $0.count > 80 ? "\($0.prefix(80))… (\($0.count) characters)" : $0 }
        }
        return cells.min { $0.description < $1.description }.map { cell in
            switch (short(values[cell]), short(other.values[cell])) {
            case (let old?, let new?): "\(cell) was \(old) and is \(new)"
            case (let old?, nil): "\(cell) was \(old) and is missing"
            default: "\(cell) did not exist before"
            }
        }
    }

    private func name(_ reference: ObjectReference, _ store: Store) -> String {
        let classSchema = store.schema.find(table: reference.table)
        let className = classSchema?.name ?? "object"
        if let key = classSchema?.primaryKey, lost.contains("\(className).\(key.name)") {
            return "\(className) object \(reference.key.rawValue)"
        }
        return "\(className) \(store.view.name(of: reference))"
    }

    /// Returns the text of a value, and records the embedded objects in it; `place` is its name.
    private mutating func text(
        _ value: Value, _ property: Property, _ place: String, _ store: Store
    ) throws -> String {
        switch value {
        case .object(let reference):
            guard let target = store.schema.find(table: reference.table), target.isEmbedded else {
                return name(reference, store)
            }
            try record(reference, target, place, store)
            return "an object"
        case .list(let elements):
            let texts = try elements.enumerated().map { index, element in
                try text(element, property, "\(place)[\(index + 1)]", store)
            }
            return "{ "
                + (property.isSet ? texts.sorted() : texts).joined(separator: ", ") + " }"
        case .dictionary(let entries):
            return try "{ "
                + entries.sorted { $0.key < $1.key }.map {
                    "\($0.key) = \(try text($0.value, property, "\(place).\($0.key)", store))"
                }.joined(separator: ", ") + " }"
        // The summary of a long text does not contain its end.
        case .string, .data: return LuaLiteral.value(value)
        default: return value.summary
        }
    }
}
