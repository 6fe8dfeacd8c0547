import ColumnStorage

/// Creates many objects of one class in one write transaction, without intermediate values.
///
/// Takes only what needs no work: values that have exactly their property's type, and a primary key
/// that is new. For all else it declines, and ``ObjectCreation`` finds out what to do or to say.
final class BulkCreation {
    let classSchema: ClassSchema
    private let fields: [Field]
    private let rows: TableReader
    private let writer: RowWriter
    /// The readers of the classes that links lead to, by property; none for embedded ones, which are never linked
    /// but made.
    private let targets: [TableReader?]
    private let defaults: [Value?]

    /// What creation must know of a property; without references, so that a loop costs no counting.
    private struct Field {
        let column: ColumnID
        let type: PropertyType
        let isOptional: Bool
        let isCollection: Bool
        let hasDefault: Bool
        let hasFunction: Bool
    }

    init(_ classSchema: ClassSchema, _ store: Store, _ session: WriteSession) {
        let view = store.view
        let functions = store.functionDefaults[classSchema.table]
        self.classSchema = classSchema
        rows = view.table(classSchema)
        writer = session.rowWriter(classSchema.table)
        fields = classSchema.properties.map {
            Field(
                column: $0.column, type: $0.type, isOptional: $0.isOptional,
                isCollection: $0.collection != nil, hasDefault: $0.defaultValue != nil,
                hasFunction: functions?[$0.column] != nil)
        }
        targets = classSchema.properties.map { property in
            property.type == .object
                ? view.schema.target(of: property).flatMap { $0.isEmbedded ? nil : view.table($0) }
                : nil
        }
        defaults = classSchema.properties.map(\.defaultValue)
    }

    /// Creates an object from values in schema order, nil for those not given.
    ///
    /// Nil if it declines; nothing has happened then.
    func create(_ given: [Value?]) -> ObjectKey? {
        guard given.count == fields.count else { return nil }
        for position in fields.indices where !isSimple(given[position], position) { return nil }
        if let position = classSchema.primaryKeyPosition {
            guard isNewKey(given[position] ?? defaults[position], fields[position].column) else {
                return nil
            }
        }
        writer.beginRow()
        for position in fields.indices {
            if let value = given[position] {
                write(value, fields[position].column)
            } else if fields[position].hasDefault, let value = defaults[position] {
                write(value, fields[position].column)
            }
        }
        return writer.endRow()
    }

    private func isSimple(_ value: Value?, _ position: Int) -> Bool {
        let field = fields[position]
        guard let value else {
            if field.hasFunction { return false }
            if field.isCollection { return !field.hasDefault }
            if field.type == .backlinks { return true }
            if field.hasDefault { return isSimple(defaults[position], position) }
            return field.isOptional
        }
        guard !field.isCollection else { return false }
        switch (field.type, value) {
        case (.bool, .bool), (.int, .int), (.float, .float), (.double, .double),
            (.string, .string), (.data, .data), (.date, .date), (.uuid, .uuid),
            (.objectID, .objectID), (.decimal, .decimal):
            return true
        case (.object, .object(let reference)):
            guard let target = targets[position] else { return false }
            return target.id == reference.table && target.isPresent(reference.key)
        case (.backlinks, _): return false
        case (_, .null): return field.isOptional
        default: return false
        }
    }

    private func isNewKey(_ value: Value?, _ column: ColumnID) -> Bool {
        switch value {
        case .int(let number): rows.find(column, int: number) == nil
        case .string(let text): rows.find(column, bytes: Array(text.utf8)) == nil
        case .uuid(let identifier): rows.find(column, bytes: identifier.bytes) == nil
        case .objectID(let identifier): rows.find(column, bytes: identifier.bytes) == nil
        default: false
        }
    }

    private func write(_ value: Value, _ column: ColumnID) {
        switch value {
        case .null, .list, .dictionary: writer.setNull(column)
        case .bool(let flag): writer.setBool(column, flag)
        case .int(let number): writer.setInt(column, number)
        case .float(let number): writer.setFloat(column, number)
        case .double(let number): writer.setDouble(column, number)
        case .string(let text): writer.setString(column, text)
        case .data(let bytes): writer.setBytes(column, bytes)
        case .date(let moment): writer.setInt(column, moment.microseconds)
        case .uuid(let identifier): writer.setBytes(column, identifier.bytes)
        case .objectID(let identifier): writer.setBytes(column, identifier.bytes)
        case .decimal(let number): writer.setBytes(column, number.bytes)
        case .object(let reference): writer.setLink(column, reference.key)
        }
    }
}

extension ObjectWriter {
    /// The bulk creation of a class in this transaction; kept for the class that was asked for last.
    func bulkCreation(of classSchema: ClassSchema) -> BulkCreation {
        if let known = store.bulkCreation, known.classSchema === classSchema { return known }
        let creation = BulkCreation(classSchema, store, session)
        store.bulkCreation = creation
        return creation
    }
}
