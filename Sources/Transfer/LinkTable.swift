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
    private var createdInRow: [(object: ObjectReference, number: Int64?)] = []
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

    /// Creates the object of a row that has a number, if its number is free, for ``awaited(_:)``.
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
        if !createdInRow.isEmpty { createdInRow.removeAll(keepingCapacity: true) }
    }

    /// Removes the objects that were created for the links of a rejected row.
    mutating func abandonRow() throws {
        for (object, number) in createdInRow {
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
        let created = ObjectReference(table: target.table, key: try make(row))
        wait(for: created, nil, location)
        return .object(created)
    }

    /// Makes existing objects available by their own numbers.
    mutating func takeOwnNumbers() throws {
        for classSchema in store.view.schema.classes {
            ownNumbers[classSchema.table] = try store.view.table(classSchema).keyBound
        }
    }

    /// Makes a new object available by its own number.
    mutating func recordOwn(_ key: ObjectKey, _ classSchema: ClassSchema) {
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
        let created = try create(DecodedRow(target), number) ?? make(DecodedRow(target))
        numbered[target.table, default: NumberedObjects()].addForNow(number, created)
        let object = ObjectReference(table: target.table, key: created)
        wait(for: object, number, location)
        return .object(object)
    }

    /// Returns the object that was created for this row before the row was read.
    func awaited(_ row: DecodedRow) -> ObjectReference? {
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
        return found.flatMap { isAwaited($0) ? $0 : nil }
    }

    /// Returns whether an object was created for the links to it, and its values have not been read.
    func isAwaited(_ object: ObjectReference) -> Bool { awaited.contains(object) }

    /// Marks an object as complete: its values have been read.
    mutating func settle(_ object: ObjectReference) { awaited.remove(object) }

    /// Records an object by its number in the file.
    mutating func record(_ number: Int64, _ classSchema: ClassSchema, _ key: ObjectKey) {
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
        createdInRow.append((object, number))
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

/// Fills a collection of links in the objects of a class from a database table with one row for each element.
struct LinkCollectionReader {
    /// A row of the table: the key of the owner, the key in a map, and the key of the linked object.
    typealias Element = (owner: Value, key: String?, target: Value)

    private let importer: Importer
    private let table: String
    private let owner: ClassSchema
    private let property: Property
    private let target: ClassSchema

    /// Creates a reader of `table` for a property of the export in `owningTable`; nil if the options omit the property.
    ///
    /// Throws `unknown_property`, and `type_mismatch` if the property of the store is not such a collection.
    init?(
        _ importer: Importer, _ exported: Property, of owningTable: String, className: String,
        table: String
    ) throws {
        let renamed = importer.options.property(of: exported.name, in: owningTable)
        let field = try importer.fields(of: className).property(
            renamed: renamed ?? exported.name, for: exported.name)
        guard case .property(let position) = field else { return nil }
        let schema = importer.store.view.schema
        owner = try schema.require(className)
        property = owner.properties[position]
        guard !property.isSingle, property.isMap == exported.isMap,
            let target = schema.target(of: property)
        else {
            throw StoreError(
                .typeMismatch,
                "'\(className).\(property.name)' expects \(property.typeName), but the table '\(table)' holds "
                    + "\(exported.typeName)")
        }
        self.importer = importer
        self.table = table
        self.target = target
    }

    /// Sets one collection after the other; `next` returns the rows, of which those of an owner are adjacent.
    func read(_ next: () throws -> Element?) throws {
        var number = 0
        var first = 1
        var elements: [Element] = []
        while let element = try next() {
            number += 1
            if let last = elements.last, last.owner != element.owner {
                try set(elements, RowLocation(table: table, line: first))
                elements.removeAll(keepingCapacity: true)
                first = number
            }
            elements.append(element)
        }
        if !elements.isEmpty { try set(elements, RowLocation(table: table, line: first)) }
    }

    private func set(_ elements: [Element], _ location: RowLocation) throws {
        let key = elements[0].owner
        try importer.complete(location) {
            record(key, elements)
        } _: {
            let links = try elements.map { element -> Value in
                switch element.target {
                case .null: .null
                case .int(let number) where target.primaryKey == nil:
                    try importer.link(toNumber: number, of: target, location)
                case let key: try importer.link(to: key, of: target, location)
                }
            }
            guard let object = try importer.find(key, of: owner) else {
                throw FormatError("there is no \(owner.name) \(key.summary)")
            }
            try importer.store.update(object, [property.name: collection(elements, links)])
        }
    }

    private func collection(_ elements: [Element], _ links: [Value]) -> Value {
        guard property.isMap else { return .list(links) }
        return .dictionary(
            ValueMap(zip(elements.compactMap(\.key), links).map { (key: $0, value: $1) }))
    }

    /// Returns the owner and its links as a row of JSON Lines, which an import with upsert accepts.
    private func record(_ key: Value, _ elements: [Element]) -> [UInt8] {
        let links = elements.map { element -> Value in
            guard target.primaryKey == nil, element.target != .null else { return element.target }
            return .dictionary(["$key": element.target])
        }
        var json = JSONWriter()
        json.beginObject()
        json.member("$class", owner.name)
        json.key(owner.primaryKey?.name ?? "$key")
        json.value(key)
        json.key(property.name)
        json.value(collection(elements, links))
        json.endObject()
        return json.bytes
    }
}

/// The objects whose rows have not been read, each with the row that linked to it first.
///
/// New objects have consecutive keys, so the table has pages of adjacent keys. For a file whose links lead far ahead,
/// the table takes 16 bytes for each object, less than a hash table.
struct AwaitedObjects {
    private struct Location {
        var line = 0
        var table: UInt32 = 0
    }

    private struct Page {
        /// One bit for each key.
        var present: UInt64 = 0
        var locations = [Location](repeating: Location(), count: 64)
    }

    private struct PageName: Hashable {
        let table: TableID
        let number: Int64

        init(_ object: ObjectReference) {
            table = object.table
            number = object.key.rawValue >> 6
        }
    }

    private var pages: [PageName: Page] = [:]
    /// The tables of the locations; the first entry is unused.
    private var tables: [String?] = [nil]
    private var tableNumbers: [String?: UInt32] = [nil: 0]

    /// Whether no objects are awaited.
    var isEmpty: Bool { pages.isEmpty }

    private static func bit(of object: ObjectReference) -> (index: Int, mask: UInt64) {
        let index = Int(truncatingIfNeeded: object.key.rawValue & 63)
        return (index, 1 << UInt64(index))
    }

    /// Returns whether an object is awaited.
    func contains(_ object: ObjectReference) -> Bool {
        guard !pages.isEmpty, let page = pages[PageName(object)] else { return false }
        return page.present & Self.bit(of: object).mask != 0
    }

    /// Adds an object, with the row that links to it.
    mutating func insert(_ object: ObjectReference, _ location: RowLocation) {
        let (index, mask) = Self.bit(of: object)
        let location = Location(line: location.line, table: number(of: location.table))
        let name = PageName(object)
        pages[name, default: Page()].present |= mask
        pages[name]?.locations[index] = location
    }

    private mutating func number(of table: String?) -> UInt32 {
        if let known = tableNumbers[table] { return known }
        let number = UInt32(tables.count)
        tables.append(table)
        tableNumbers[table] = number
        assert(tables.count == tableNumbers.count, "each table has one number")
        return number
    }

    /// Removes an object; returns false if the object is not awaited.
    @discardableResult
    mutating func remove(_ object: ObjectReference) -> Bool {
        guard !pages.isEmpty else { return false }
        let (_, mask) = Self.bit(of: object)
        let name = PageName(object)
        guard let present = pages[name]?.present, present & mask != 0 else { return false }
        if present == mask { pages[name] = nil } else { pages[name]?.present = present & ~mask }
        return true
    }

    /// All objects with their rows, in no particular order.
    var all: [(object: ObjectReference, location: RowLocation)] {
        pages.flatMap { name, page in
            page.locations.indices.compactMap { index in
                guard page.present >> UInt64(index) & 1 != 0 else { return nil }
                let key = ObjectKey(rawValue: name.number << 6 | Int64(index))
                let location = page.locations[index]
                return (
                    ObjectReference(table: name.table, key: key),
                    RowLocation(table: tables[Int(location.table)], line: location.line)
                )
            }
        }
    }
}
