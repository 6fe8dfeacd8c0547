import DataFormats
import ObjectStore

/// The objects that rows link to, those included whose rows are yet to come.
struct LinkTable {
    private struct Name: Hashable {
        let table: TableID
        let key: Value
    }

    private let store: Store
    /// Objects made for who links to them, with the line that did so first.
    private var pending: [Name: (key: ObjectKey, line: Int)] = [:]
    /// The objects of classes without primary key, by the numbers that the file has for them.
    private var numbered: [Name: ObjectKey] = [:]

    init(_ store: Store) { self.store = store }

    /// A link to the object with this primary key.
    mutating func object(_ key: Value, _ target: ClassSchema, _ line: Int) throws -> Value {
        if let object = try store.object(target.name, primaryKey: key) {
            return .object(object.reference)
        }
        var row = DecodedRow(target)
        if let position = target.properties.firstIndex(where: \.isPrimary) {
            row.values[position] = key
        }
        let made = try make(row)
        pending[Name(table: target.table, key: key)] = (made, line)
        return .object(ObjectReference(table: target.table, key: made))
    }

    /// A link to the object that has this number in the file.
    mutating func object(number: Int64, _ target: ClassSchema, _ line: Int) throws -> Value {
        let name = Name(table: target.table, key: .int(number))
        if let known = numbered[name] {
            return .object(ObjectReference(table: target.table, key: known))
        }
        let made = try make(DecodedRow(target))
        numbered[name] = made
        pending[name] = (made, line)
        return .object(ObjectReference(table: target.table, key: made))
    }

    /// The object that was made for this row before its row came; it is pending no longer.
    mutating func claim(_ row: DecodedRow) throws -> ObjectKey? {
        guard !pending.isEmpty, let key = row.primaryKey ?? row.number.map(Value.int) else {
            return nil
        }
        return pending.removeValue(forKey: Name(table: row.classSchema.table, key: key))?.key
    }

    /// Remembers an object by its number in the file.
    mutating func note(_ number: Int64, _ classSchema: ClassSchema, _ key: ObjectKey) {
        numbered[Name(table: classSchema.table, key: .int(number))] = key
    }

    /// Throws when something was linked to and never came.
    func finish() throws {
        guard let (name, first) = pending.min(by: { $0.value.line < $1.value.line }) else { return }
        let target = store.view.schema.find(table: name.table)?.name ?? "object"
        throw FormatError(
            line: first.line,
            "links to \(target) \(name.key.summary), which is neither in the file nor in the store"
                + (pending.count > 1 ? " (and \(pending.count - 1) more such links)" : ""))
    }

    /// An object whose values are yet to come: what is required is zero until then.
    private func make(_ row: DecodedRow) throws -> ObjectKey {
        var row = row
        for (position, property) in row.classSchema.properties.enumerated()
        where row.values[position] == nil && property.isSingle && !property.isOptional
            && property.defaultValue == nil
        {
            row.values[position] = property.type.zero
        }
        return try store.create(row.classSchema, positional: row.values)
    }
}
