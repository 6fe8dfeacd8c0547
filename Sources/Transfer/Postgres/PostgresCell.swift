import DataFormats
import ObjectStore

/// Converts fields of PostgreSQL rows to values of properties.
struct PostgresCell {
    private let importer: Importer
    private let classSchema: ClassSchema
    private let rows: PostgresCopyReader

    init(_ importer: Importer, _ classSchema: ClassSchema, rows: PostgresCopyReader) {
        self.importer = importer
        self.classSchema = classSchema
        self.rows = rows
    }

    /// Returns the value of a field for a property; nil for a collection that is NULL.
    func value(
        at index: Int, in column: PostgresTablePlan.Column, of property: Property,
        location: RowLocation
    ) throws -> Value? {
        if rows.isNull(index) { return property.isSingle ? .null : nil }
        if column.isArray { return try list(at: index, in: column, of: property) }
        let target = importer.store.view.schema.target(of: property)
        if property.isSingle, property.type == .object, let target, !target.isEmbedded {
            return try link(at: index, in: column, of: property, to: target, location: location)
        }
        if column.type == .json || !property.isSingle || target?.isEmbedded == true {
            return try JSONField.value(
                rows.text(index), of: property, in: classSchema, importer: importer, at: location,
                container: "PostgreSQL columns")
        }
        guard let found = Self.single(rows.bytes(index), column.type) else {
            throw invalidDate(column)
        }
        return try converted(found, property)
    }

    private func link(
        at index: Int, in column: PostgresTablePlan.Column, of property: Property,
        to target: ClassSchema, location: RowLocation
    ) throws -> Value {
        guard let found = Self.single(rows.bytes(index), column.type) else {
            throw invalidDate(column)
        }
        guard let key = target.primaryKey else {
            guard case .int(let number) = found else {
                throw importer.mismatch(
                    property, classSchema, got: found.summary, ValueText.text(found))
            }
            return try importer.link(toNumber: number, of: target, location)
        }
        return try importer.link(to: converted(found, key), of: target, location)
    }

    private func list(
        at index: Int, in column: PostgresTablePlan.Column, of property: Property
    ) throws -> Value {
        guard let elements = rows.elements(index) else {
            throw FormatError(
                "column '\(column.name)' holds an array of several dimensions; select one dimension in "
                    + "a view, and import the view with --table")
        }
        guard property.collection != nil else {
            throw importer.mismatch(property, classSchema, got: "an array", nil)
        }
        return .list(
            try elements.map { element in
                guard let element else { return .null }
                guard let found = Self.single(element, column.type) else {
                    throw invalidDate(column)
                }
                if column.type == .json, case .string(let text) = found {
                    return try json(text)
                }
                return try converted(found, property)
            })
    }

    /// Returns the value of a JSON text for an element of a list.
    private func json(_ text: String) throws -> Value {
        let tape = JSONTape()
        try JSONText.read(Array(text.utf8), onto: tape)
        return try MixedJSON(link: { name, _ in
            throw FormatError("an array of JSON cannot link to '\(name)'")
        }).value(JSONNode(tape))
    }

    private func invalidDate(_ column: PostgresTablePlan.Column) -> FormatError {
        FormatError(
            "column '\(column.name)' holds 'infinity', which is not a date; leave the column out with "
                + "--map \(column.name)=, or select another value in a view")
    }

    /// Returns the value of a field; nil for a date that is infinite.
    private static func single(_ bytes: [UInt8], _ type: PostgresType) -> Value? {
        switch type {
        case .bool: .bool(bytes.first == 1)
        case .int: .int(Int64(bitPattern: number(bytes)))
        case .float: .float(Float(bitPattern: UInt32(truncatingIfNeeded: number(bytes))))
        case .double: .double(Double(bitPattern: number(bytes)))
        case .text, .numeric, .json: .string(String(decoding: bytes, as: UTF8.self))
        case .bytes: .data(bytes)
        case .timestamp:
            PostgresMoment.moment(Int64(bitPattern: number(bytes))).map(Value.date)
        case .uuid: UUIDValue(bytes: bytes).map(Value.uuid)
        }
    }

    private static func number(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Converts a value to the type of a property.
    private func converted(_ value: Value, _ property: Property) throws -> Value {
        switch (value, property.type) {
        case (.bool, .bool), (.int, .int), (.float, .float), (.double, .double),
            (.string, .string), (.data, .data), (.date, .date), (.uuid, .uuid), (_, .mixed):
            return value
        case (.float(let number), .double): return .double(Double(number))
        case (.data(let bytes), .uuid):
            if let identifier = UUIDValue(bytes: bytes) { return .uuid(identifier) }
        case (.data(let bytes), .objectID):
            if let identifier = ObjectIDValue(bytes: bytes) { return .objectID(identifier) }
        default: break
        }
        let text = ValueText.text(value)
        if let text, let converted = importer.value(text, as: property.type) { return converted }
        throw importer.mismatch(property, classSchema, got: value.summary, text)
    }

    // MARK: Reports

    /// Writes a field as JSON.
    static func write(
        _ rows: PostgresCopyReader, _ index: Int, _ column: PostgresTablePlan.Column,
        to json: inout JSONWriter
    ) {
        guard !rows.isNull(index) else { return json.null() }
        guard column.isArray else {
            return write(single(rows.bytes(index), column.type) ?? .null, to: &json)
        }
        json.beginArray()
        for element in rows.elements(index) ?? [] {
            write(element.flatMap { single($0, column.type) } ?? .null, to: &json)
        }
        json.endArray()
    }

    private static func write(_ value: Value, to json: inout JSONWriter) {
        switch value {
        case .bool(let flag): json.bool(flag)
        case .int(let number): json.int(number)
        case .float(let number): json.double(Double(number))
        case .double(let number): json.double(number)
        default: if let text = ValueText.text(value) { json.string(text) } else { json.null() }
        }
    }
}
