import DataFormats
import ObjectStore

/// The objects that rows link to, including objects whose rows have not been read.
struct LinkTable {
    private let store: Store
    /// The objects that were created for links and whose rows have not been read.
    private var awaited = AwaitedObjects()
    /// The objects of classes without primary key.
    private var numbered: [TableID: NumberedObjects] = [:]
    /// The objects created for the links of the current row, with their numbers in the file.
    private var madeInRow: [(object: ObjectReference, number: Int64?)] = []
    /// Objects with numbers below these are found by their own number if the file does not number them.
    private var ownNumbers: [TableID: Int64] = [:]

    /// Whether objects of classes without a primary key get the numbers of the file.
    private var keepsNumbers = false
    /// Whether an object that rows link to is created before its own row is read.
    var createsObjects = true
    /// The number of links that were omitted, because ``createsObjects`` is false.
    private(set) var unresolved = 0
    /// The number of unused numbers that are still allowed: each costs a little space in the store.
    private var leftOut: Int64 = 1 << 20

    /// A link to an object without a row.
    struct Missing {
        let object: ObjectReference
        let location: RowLocation
        let reason: String
    }

    init(_ store: Store) { self.store = store }

    /// Whether the rows of all linked objects have been read.
    var isSettled: Bool { awaited.isEmpty }

    /// Returns the object with this number in the file; nil if no row has this number.
    func object(numbered number: Int64, _ classSchema: ClassSchema) -> ObjectReference? {
        numbered[classSchema.table]?[number].map {
            ObjectReference(table: classSchema.table, key: $0)
        }
    }

    /// Allows objects to keep their numbers in the file, if these are free.
    mutating func keepNumbers() { keepsNumbers = true }

    /// Creates the object of a row that has a number, if its number is free, for ``claim(_:)``.
    ///
    /// An object whose number is the next one gets this number without preparation.
    mutating func prepare(_ row: DecodedRow) throws {
        let classSchema = row.classSchema
        guard keepsNumbers, let number = row.number else { return }
        let table = classSchema.table
        let hasPrimaryKey = classSchema.primaryKey != nil
        var bare = DecodedRow(classSchema)
        let known: ObjectReference?
        if hasPrimaryKey {
            guard try number != store.view.table(classSchema).keyBound,
                let identity = row.primaryKey
            else { return }
            known = try store.object(classSchema.name, primaryKey: identity)?.reference
            if let position = classSchema.properties.firstIndex(where: \.isPrimary) {
                bare.values[position] = identity
            }
        } else {
            known = object(numbered: number, classSchema)
        }
        if let known, awaited.contains(known) { return }
        guard let key = try create(bare, number) else { return }
        if !hasPrimaryKey { numbered[table, default: NumberedObjects()].add(number, key) }
        wait(
            for: ObjectReference(table: table, key: key), hasPrimaryKey ? nil : number,
            RowLocation(table: classSchema.name, line: 0))
    }

    /// Creates an object with its number in the file; returns nil if the number is not free, or is far from the numbers
    /// in use.
    private mutating func create(_ row: DecodedRow, _ number: Int64) throws -> ObjectKey? {
        guard keepsNumbers, number >= 0 else { return nil }
        let gap = try max(0, number - store.view.table(row.classSchema).keyBound)
        guard gap <= leftOut else { return nil }
        let key = ObjectKey(rawValue: number)
        guard try store.create(row.classSchema, at: key, positional: row.values) else { return nil }
        leftOut -= gap
        return key
    }

    /// Starts the next row.
    mutating func startRow() {
        if !madeInRow.isEmpty { madeInRow.removeAll(keepingCapacity: true) }
    }

    /// Removes the objects that were created for the links of a rejected row.
    mutating func abandonRow() throws {
        for (object, number) in madeInRow {
            if let number { numbered[object.table]?.remove(number) }
            if awaited.remove(object) { try delete(object) }
        }
        startRow()
    }

    /// Returns a link to the object with this primary key.
    mutating func object(_ key: Value, _ target: ClassSchema, _ location: RowLocation) throws
        -> Value
    {
        if let object = try store.object(target.name, primaryKey: key) {
            return .object(object.reference)
        }
        guard createsObjects else {
            unresolved += 1
            return .null
        }
        var row = DecodedRow(target)
        if let position = target.properties.firstIndex(where: \.isPrimary) {
            row.values[position] = key
        }
        let made = ObjectReference(table: target.table, key: try make(row))
        wait(for: made, nil, location)
        return .object(made)
    }

    /// Makes existing objects available by their own numbers.
    mutating func takeOwnNumbers() throws {
        for classSchema in store.view.schema.classes {
            ownNumbers[classSchema.table] = try store.view.table(classSchema).keyBound
        }
    }

    /// Makes a new object available by its own number.
    mutating func noteOwn(_ key: ObjectKey, _ classSchema: ClassSchema) {
        let bound = ownNumbers[classSchema.table] ?? 0
        ownNumbers[classSchema.table] = max(bound, key.rawValue + 1)
    }

    /// Returns the object with this number in the file, or with this own number; nil if there is none.
    func known(_ number: Int64, _ classSchema: ClassSchema) throws -> ObjectReference? {
        let table = classSchema.table
        // An object that was deleted in the meantime, as in a recording, can be inserted again.
        if let known = object(numbered: number, classSchema), try store.view.isPresent(known) {
            return known
        }
        guard number >= 0, number < ownNumbers[table] ?? 0 else { return nil }
        let own = ObjectReference(table: table, key: ObjectKey(rawValue: number))
        return try store.view.isPresent(own) ? own : nil
    }

    /// Returns a link to the object with this number in the file.
    mutating func object(
        number: Int64, _ target: ClassSchema, _ location: RowLocation
    ) throws -> Value {
        if let known = try known(number, target) { return .object(known) }
        guard createsObjects else {
            unresolved += 1
            return .null
        }
        let made = try create(DecodedRow(target), number) ?? make(DecodedRow(target))
        numbered[target.table, default: NumberedObjects()].addForNow(number, made)
        let object = ObjectReference(table: target.table, key: made)
        wait(for: object, number, location)
        return .object(object)
    }

    /// Returns the object that was created for this row before the row was read, and removes it from the awaited
    /// objects.
    mutating func claim(_ row: DecodedRow) throws -> ObjectKey? {
        let classSchema = row.classSchema
        guard !awaited.isEmpty else { return nil }
        let found: ObjectReference? =
            if let key = row.primaryKey {
                try? store.view.find(classSchema.name, primaryKey: key).map {
                    ObjectReference(table: classSchema.table, key: $0.key)
                }
            } else {
                row.number.flatMap { object(numbered: $0, classSchema) }
            }
        guard let found, awaited.remove(found) else { return nil }
        return found.key
    }

    /// Returns whether an object was created for the links to it, and its values have not been read.
    func isAwaited(_ object: ObjectReference) -> Bool { awaited.contains(object) }

    /// Marks an object as complete: its values have been read.
    mutating func settle(_ object: ObjectReference) { awaited.remove(object) }

    /// Records an object by its number in the file.
    mutating func note(_ number: Int64, _ classSchema: ClassSchema, _ key: ObjectKey) {
        numbered[classSchema.table, default: NumberedObjects()].add(number, key)
    }

    /// The links to objects without a row, in the order of the first rows that link to them.
    var missing: [Missing] {
        get throws {
            var numbers: [ObjectReference: Int64] = [:]
            for (table, objects) in numbered where !awaited.isEmpty {
                objects.forEachOther { number, key in
                    let object = ObjectReference(table: table, key: key)
                    if awaited.contains(object) { numbers[object] = number }
                }
            }
            return try awaited.all.map { object, location in
                let target = store.view.schema.find(table: object.table)
                let primary = try target.flatMap { try primaryKey(of: object, $0)?.summary }
                let key = primary ?? "\(numbers[object] ?? object.key.rawValue)"
                return Missing(
                    object: object, location: location,
                    reason:
                        "links to \(target?.name ?? "object") \(key), which is neither in the file nor "
                        + "in the store")
            }.sorted {
                ($0.location.table ?? "", $0.location.line) < (
                    $1.location.table ?? "", $1.location.line
                )
            }
        }
    }

    private func primaryKey(of object: ObjectReference, _ classSchema: ClassSchema) throws -> Value?
    {
        guard let primary = classSchema.primaryKey, try store.view.isPresent(object) else {
            return nil
        }
        return try? store.view.value(primary, of: object.key, in: classSchema)
    }

    /// Deletes an object that was created for links, which become nil.
    func delete(_ object: ObjectReference) throws {
        guard let live = store.object(object) else { return }
        try store.delete(live)
    }

    private mutating func wait(
        for object: ObjectReference, _ number: Int64?, _ location: RowLocation
    ) {
        awaited.insert(object, location)
        madeInRow.append((object, number))
    }

    /// Creates an object whose row has not been read; required properties are zero until then.
    private func make(_ row: DecodedRow) throws -> ObjectKey {
        var row = row
        for (position, property) in row.classSchema.properties.enumerated()
        where row.values[position] == nil && store.needsValue(property, row.classSchema) {
            row.values[position] = property.type.zero
        }
        return try store.create(row.classSchema, positional: row.values)
    }
}
