import DataFormats
import ObjectStore
import RealmFiles
import Transfer

/// Converts values of a Realm file to values of a store.
///
/// Confined to the thread of the store.
final class RealmValues {
    /// The values that could not be converted exactly.
    var losses = RealmLosses()
    /// The created objects, by class of the plan and by key in the file.
    private(set) var objects: [NumberedObjects]
    /// Whether all objects of a class have been created, by class of the plan.
    var isComplete: [Bool]
    /// The numbers of created embedded objects, by class of the plan.
    private(set) var partCounts: [Int]

    private let plan: RealmPlan
    private let file: RealmFile
    private let swapsGUIDs: Bool
    private let tables: [TableID]
    private let schemas: [ClassSchema]
    private var lookups: [Int: RealmLookup] = [:]
    /// Whether the value that is being converted links to objects that are created later.
    private var isLater = false
    /// The number of embedded objects around the value that is being converted.
    private var depth = 0
    /// The maximum nesting depth of embedded objects.
    private static let deepestParts = 100

    init(_ file: RealmFile, _ plan: RealmPlan, _ schemas: [ClassSchema], swapsGUIDs: Bool) {
        self.file = file
        self.plan = plan
        self.schemas = schemas
        self.swapsGUIDs = swapsGUIDs
        tables = schemas.map(\.table)
        objects = Array(repeating: NumberedObjects(), count: plan.classes.count)
        isComplete = Array(repeating: false, count: plan.classes.count)
        partCounts = Array(repeating: 0, count: plan.classes.count)
    }

    /// Records the object for a key of the file.
    func record(_ key: Int64, _ class: Int, _ object: ObjectKey) {
        objects[`class`].add(key, object)
    }

    /// Returns the value of a property; nil if it links to objects that are created later.
    func value(
        _ value: RealmValue, of property: RealmProperty, _ location: @autoclosure () -> String
    ) throws -> Value? {
        (isLater, depth) = (false, 0)
        let result = try convert(value, location)
        assert(depth == 0, "the conversion has left all embedded objects")
        return isLater ? nil : fitted(result, property, location)
    }

    /// Returns the value without nil if the property does not permit nil: broken links are removed from lists and sets,
    /// and required values become zero.
    private func fitted(
        _ value: Value, _ property: RealmProperty, _ location: () -> String
    ) -> Value {
        switch property.type {
        case .mixed, .table: return value
        case .link:
            // The value of a single embedded object is also a list.
            guard property.collection != nil, case .list(let elements) = value,
                elements.contains(.null)
            else { return value }
            return .list(elements.filter { $0 != .null })
        default: break
        }
        guard !property.isNullable else { return value }
        let zero = RealmPlan.type(property.type).zero
        switch value {
        case .null where property.collection == nil:
            losses.add(.requiredValues, location())
            return zero
        case .list(let elements) where elements.contains(.null):
            losses.add(.requiredValues, count: elements.count { $0 == .null }, location())
            return .list(elements.map { $0 == .null ? zero : $0 })
        case .dictionary(let entries) where entries.values.contains(.null):
            losses.add(.requiredValues, count: entries.values.count { $0 == .null }, location())
            return .dictionary(entries.mapValues { $0 == .null ? zero : $0 })
        default: return value
        }
    }

    /// Converts a date, to microseconds.
    func timestamp(_ moment: RealmTimestamp, _ location: () -> String) -> Timestamp {
        let (seconds, overflow) = moment.seconds.multipliedReportingOverflow(by: 1_000_000)
        // Rounds down, also for dates before 1970.
        let fraction = moment.nanoseconds
        let micros = fraction >= 0 || fraction % 1000 == 0 ? fraction / 1000 : fraction / 1000 - 1
        let (sum, sumOverflow) = seconds.addingReportingOverflow(micros)
        guard !overflow, !sumOverflow else {
            losses.add(.distantDates, location())
            return Timestamp(microseconds: moment.seconds < 0 ? .min : .max)
        }
        if fraction % 1000 != 0 { losses.add(.nanoseconds, location()) }
        return Timestamp(microseconds: sum)
    }

    /// Converts a UUID, to the byte order of its text.
    func uuid(_ id: RealmUUID) -> UUIDValue {
        guard swapsGUIDs else { return UUIDValue(high: id.high, low: id.low) }
        let first = UInt64(UInt32(truncatingIfNeeded: id.high >> 32).byteSwapped)
        let second = UInt64(UInt16(truncatingIfNeeded: id.high >> 16).byteSwapped)
        let third = UInt64(UInt16(truncatingIfNeeded: id.high).byteSwapped)
        return UUIDValue(high: first << 32 | second << 16 | third, low: id.low)
    }

    private func repaired(_ bytes: [UInt8], _ location: () -> String) -> String {
        losses.add(.malformedText, location())
        return String(decoding: bytes, as: UTF8.self)
    }

    private func convert(_ value: RealmValue, _ location: () -> String) throws -> Value {
        switch value {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return .int(number)
        case .float(let number): return .float(number)
        case .double(let number): return .double(number)
        case .string(let text): return .string(text)
        case .malformedString(let bytes): return .string(repaired(bytes, location))
        case .binary(let bytes): return .data(bytes)
        case .timestamp(let moment): return .date(timestamp(moment, location))
        case .decimal(let number): return .decimal(Self.decimal(number))
        case .objectID(let id): return .objectID(ObjectIDValue(high: id.high, low: id.low))
        case .uuid(let id): return .uuid(uuid(id))
        case .link(let link): return try resolve(link, location)
        case .list(let elements), .set(let elements):
            return .list(try elements.map { try convert($0, location) })
        case .dictionary(let entries), .object(let entries):
            return .dictionary(try map(entries, location))
        }
    }

    private func map(_ entries: [RealmEntry], _ location: () -> String) throws -> ValueMap {
        var values: ValueMap = [:]
        values.reserveCapacity(entries.count)
        for entry in entries {
            let key: String
            switch entry.key {
            case .string(let text): key = text
            case .int(let number): key = "\(number)"
            case .malformedString(let bytes): key = repaired(bytes, location)
            default:
                losses.add(.malformedKeys, location())
                continue
            }
            let value = try convert(entry.value, location)
            if values.updateValue(value, forKey: key) != nil {
                losses.add(.repeatedKeys, location())
            }
        }
        return values
    }

    static func decimal(_ number: RealmDecimal) -> DecimalValue {
        if number.isNotANumber { return .notANumber }
        if number.isInfinite {
            return DecimalValue(decimal128High: number.high & 0xF800_0000_0000_0000, low: 0)
        }
        return DecimalValue(decimal128High: number.high, low: number.low)
    }

    // MARK: - Links

    private func resolve(_ link: RealmLink, _ location: () -> String) throws -> Value {
        guard let target = plan.positions[link.target] else {
            losses.add(.unknownLinks, location())
            return .null
        }
        if schemas[target].isEmbedded { return try part(link.key, of: target, location) }
        if isComplete[target] || objects[target][link.key] != nil {
            return found(link.key, of: target, location()).map(Value.object) ?? .null
        }
        isLater = true
        return .null
    }

    /// Returns the object for a key of the file; nil if it does not exist.
    func found(_ key: Int64, of target: Int, _ location: @autoclosure () -> String)
        -> ObjectReference?
    {
        if let object = objects[target][key] {
            return ObjectReference(table: tables[target], key: object)
        }
        losses.add(.danglingLinks, location())
        return nil
    }

    /// Returns the values of an embedded object, in the order of its class.
    private func part(
        _ key: Int64, of target: Int, _ location: () -> String
    ) throws -> Value {
        let source = plan.classes[target]
        guard depth < Self.deepestParts, partCounts[target] < source.source.count * 2 + 1024 else {
            throw StoreError(
                .fileCorrupt,
                "the file is damaged: embedded objects of '\(source.name)' contain each other")
        }
        guard let (rows, row) = try find(key, of: target) else {
            losses.add(.danglingLinks, location())
            return .null
        }
        // The lookup can reuse the rows for the nested embedded objects.
        let stored = try source.columns.map { try rows.value(row, $0.index) }
        var values = [Value](repeating: .null, count: schemas[target].properties.count)
        depth += 1
        defer { depth -= 1 }
        for (column, value) in zip(source.columns, stored) {
            guard let position = schemas[target].position(of: column.name) else {
                throw StoreError(
                    .unknownProperty,
                    "'\(schemas[target].name)' has no property '\(column.name)'; define it, or leave "
                        + "the column out by mapping it to nothing")
            }
            values[position] = fitted(
                try convert(value, location), source.source.properties[column.index], location)
        }
        if !isLater { partCounts[target] += 1 }
        return .list(values)
    }

    /// Returns the rows that contain an object, and its index in these rows; nil if it does not exist, and in formats
    /// below 10.
    private func find(_ key: Int64, of position: Int) throws -> (rows: RealmRows, row: Int)? {
        let lookup = lookups[position] ?? RealmLookup(file, plan.classes[position].source)
        lookups[position] = lookup
        return try lookup.find(key)
    }

    // MARK: - Rejected objects

    /// Returns an object as a row of JSON Lines, which an import accepts.
    ///
    /// `read` are the properties that `rows` contain. Values that cannot be read are omitted. A link is the primary key of
    /// its object, or the number of the object in the file.
    func record(
        _ rows: RealmRows, _ row: Int, read: [Int], of position: Int, _ encoder: RowEncoder
    ) -> [UInt8] {
        let schema = schemas[position]
        let key = rows.key(row)
        // The object is not stored, so that nothing is lost in a conversion.
        let lossesBefore = losses
        defer { losses = lossesBefore }
        depth = 0
        var json = JSONWriter()
        json.beginObject()
        json.member("$class", schema.name)
        if schema.primaryKey == nil { json.member("$key", key) }
        if let (all, row) = try? find(key, of: position) {
            writeMembers(all, row, of: position, encoder, to: &json)
        } else {
            writeMembers(rows, row, of: position, only: Set(read), encoder, to: &json)
        }
        json.endObject()
        return json.bytes
    }

    private func writeMembers(
        _ rows: RealmRows, _ row: Int, of position: Int, only read: Set<Int>? = nil,
        _ encoder: RowEncoder, to json: inout JSONWriter
    ) {
        let found = plan.classes[position]
        // The lookup can reuse the rows for the objects that they link to.
        let stored = found.columns.compactMap { column -> (Property, RealmValue)? in
            guard read?.contains(column.index) ?? true,
                let property = found.property(column, in: schemas[position]),
                let value = try? rows.value(row, column.index)
            else { return nil }
            return (property, value)
        }
        for (property, value) in stored {
            json.key(property.name)
            write(value, property, encoder, to: &json)
        }
    }

    private func write(
        _ value: RealmValue, _ property: Property, _ encoder: RowEncoder,
        to json: inout JSONWriter
    ) {
        switch value {
        case .list(let elements), .set(let elements):
            json.beginArray()
            for element in elements { write(element, property, encoder, to: &json) }
            json.endArray()
        case .dictionary(let entries), .object(let entries):
            json.beginObject()
            for entry in entries {
                guard let key = try? convert(entry.key, { "" }), let name = ValueText.text(key)
                else { continue }
                json.key(name)
                write(entry.value, property, encoder, to: &json)
            }
            json.endObject()
        case .link(let link): write(link, isMixed: property.type == .mixed, encoder, to: &json)
        default:
            guard let plain = try? convert(value, { "" }),
                (try? encoder.write(plain, property, to: &json)) != nil
            else { return json.null() }
        }
    }

    private func write(
        _ link: RealmLink, isMixed: Bool, _ encoder: RowEncoder, to json: inout JSONWriter
    ) {
        guard let position = plan.positions[link.target], depth < Self.deepestParts else {
            return json.null()
        }
        let schema = schemas[position]
        let found = try? find(link.key, of: position)
        guard !schema.isEmbedded else {
            depth += 1
            defer { depth -= 1 }
            guard let (rows, row) = found else { return json.null() }
            json.beginObject()
            writeMembers(rows, row, of: position, encoder, to: &json)
            return json.endObject()
        }
        if isMixed {
            json.beginObject()
            json.key("$link")
            json.beginArray()
            json.string(schema.name)
        }
        if let primary = schema.primaryKey, let (rows, row) = found,
            let column = plan.classes[position].columns.first(where: {
                plan.classes[position].property($0, in: schema)?.name == primary.name
            }), let value = try? rows.value(row, column.index)
        {
            write(value, primary, encoder, to: &json)
        } else {
            json.beginObject()
            json.member("$key", link.key)
            json.endObject()
        }
        if isMixed {
            json.endArray()
            json.endObject()
        }
    }
}
