import ColumnStorage
import Decimals

/// Creates many objects of one class in one write transaction, without a dictionary or an array of values for each of
/// them.
///
/// Set the properties of an object by their position in ``ClassSchema/properties``, call ``insert(mode:)``, and repeat
/// this for the next object. Properties that are not set get their defaults.
///
/// ``Store/inserter(of:)`` returns an inserter. After the end of the write transaction, `insert` throws. An inserter is
/// confined to the store's thread.
package final class ObjectInserter {
    /// The class of the objects.
    package let classSchema: ClassSchema
    private let plan: Plan
    private let writer: RowWriter
    private let link: StoreLink  // not a strong reference, because the store may keep the inserter
    // The parts of the store that most creations need.
    private let view: StoreView
    private let scheduler: any Scheduler
    private let functions: DefaultFunctions
    /// The values that cannot be stored directly, by position.
    private var others: [Value?] = []
    private var hasOthers = false

    /// The attributes of a property that creation needs.
    ///
    /// The type contains no references, so loops do no reference counting.
    fileprivate struct Field {
        let column: ColumnID
        let type: PropertyType
        let isOptional: Bool
        let isSingle: Bool
        /// The kind of collection; nil for single values and backlinks.
        let collection: CollectionKind?
        let hasDefault: Bool
        let linked: TableID?
    }

    /// The attributes of a class that creation needs; a store keeps them between write transactions.
    final class Plan {
        let classSchema: ClassSchema
        fileprivate let fields: [Field]
        fileprivate let links: [(position: Int, target: TableReader)]
        /// The classes to which the collections of links lead.
        fileprivate let collectionTargets: [TableID: TableReader]
        fileprivate let defaults: [Value?]
        /// The number of properties with one value each; if all of these are set, no default is needed.
        fileprivate let singleCount: Int
        fileprivate let hasCollectionDefaults: Bool
        fileprivate let primaryKey: ColumnID?

        init(_ classSchema: ClassSchema, _ view: StoreView) throws {
            self.classSchema = classSchema
            var fields: [Field] = []
            var links: [(position: Int, target: TableReader)] = []
            var collectionTargets: [TableID: TableReader] = [:]
            for (position, property) in classSchema.properties.enumerated() {
                var linked: TableID?
                // Embedded objects are created, never linked.
                if property.type == .object, let target = view.schema.target(of: property),
                    !target.isEmbedded
                {
                    linked = target.table
                    let rows = try view.table(target)
                    if property.isSingle {
                        links.append((position, rows))
                    } else {
                        collectionTargets[target.table] = rows
                    }
                }
                fields.append(
                    Field(
                        column: property.column, type: property.type,
                        isOptional: property.isOptional, isSingle: property.isSingle,
                        collection: property.collection,
                        hasDefault: property.defaultValue != nil,
                        linked: linked))
            }
            self.fields = fields
            self.links = links
            self.collectionTargets = collectionTargets
            defaults = classSchema.properties.map(\.defaultValue)
            singleCount = fields.count { $0.isSingle }
            hasCollectionDefaults = fields.contains { !$0.isSingle && $0.hasDefault }
            primaryKey = classSchema.primaryKey?.column
        }
    }

    init(_ plan: Plan, _ store: Store, _ session: WriteSession) {
        self.plan = plan
        classSchema = plan.classSchema
        link = store.link
        view = store.view
        scheduler = store.scheduler
        functions = store.functionDefaults
        writer = session.rowWriter(plan.classSchema.table)
        writer.beginRow()
    }

    /// Whether the write transaction of the inserter is still open.
    package var isUsable: Bool { writer.isUsable }

    // MARK: Values

    /// Removes the values that were set since the last object.
    package func clear() {
        writer.beginRow()
        guard hasOthers else { return }
        others = []
        hasOthers = false
    }

    /// Sets a property to any value; ``insert(mode:)`` throws if the value does not fit.
    package func set(_ position: Int, _ value: Value) {
        if !stage(value, position) { keep(value, position) }
    }

    /// Sets a property to an integer.
    @inline(__always)
    package func set(_ position: Int, int value: Int64) {
        let field = plan.fields[position]
        if field.type == .int, field.isSingle {
            writer.setInt(field.column, value)
        } else {
            set(position, .int(value))
        }
    }

    /// Sets a property to a number.
    package func set(_ position: Int, double value: Double) {
        let field = plan.fields[position]
        if field.type == .double, field.isSingle {
            writer.setDouble(field.column, value)
        } else {
            set(position, .double(value))
        }
    }

    /// Sets a property to a Boolean value.
    package func set(_ position: Int, bool value: Bool) {
        let field = plan.fields[position]
        if field.type == .bool, field.isSingle {
            writer.setBool(field.column, value)
        } else {
            set(position, .bool(value))
        }
    }

    /// Sets a property to a string.
    package func set(_ position: Int, string value: String) {
        let field = plan.fields[position]
        if field.type == .string, field.isSingle, value.utf8.count <= StoreLimits.valueBytes {
            writer.setString(field.column, value)
        } else {
            set(position, .string(value))
        }
    }

    /// Sets a string property to UTF-8 bytes.
    ///
    /// Returns false, without setting the property, if the bytes are not valid UTF-8 or the property is not a string.
    package func set(_ position: Int, utf8 value: RawSpan) -> Bool {
        let field = plan.fields[position]
        return field.type == .string && field.isSingle && value.byteCount <= StoreLimits.valueBytes
            && writer.setText(field.column, value)
    }

    /// Begins a list or a set of values or links; returns false if it cannot be stored directly.
    ///
    /// Add the elements in any order and call ``endCollection(_:)`` before the next property is set.
    package func beginList(_ position: Int) -> Bool {
        let field = plan.fields[position]
        return (field.collection == .list || field.collection == .set)
            && writer.beginCollection(field.column)
    }

    /// Begins a map; returns false if it cannot be stored directly.
    ///
    /// Add each key and then its value, in any order, and call ``endCollection(_:)`` before the next property is set.
    package func beginMap(_ position: Int) -> Bool {
        let field = plan.fields[position]
        return field.collection == .map && writer.beginCollection(field.column)
    }

    /// Adds a key in UTF-8 to the map that was begun; returns false if it is not valid.
    package func append(key: RawSpan) -> Bool {
        guard RowWriter.isText(key) else { return false }
        writer.append(key: key)
        return true
    }

    /// Adds a value to the collection that was begun; returns false if it cannot be stored directly.
    package func append(_ value: Value, to position: Int) -> Bool {
        let field = plan.fields[position]
        switch (field.type, value) {
        case (.int, .int(let number)): writer.append(word: number)
        case (.double, .double(let number)):
            writer.append(word: Int64(bitPattern: number.bitPattern))
        case (.bool, .bool(let flag)): writer.append(word: flag ? 1 : 0)
        case (.float, .float(let number)): writer.append(word: Int64(number.bitPattern))
        case (.date, .date(let moment)): writer.append(word: moment.microseconds)
        case (.string, .string(let text)): writer.append(string: text)
        case (.data, .data(let bytes)): writer.append(bytes: bytes)
        case (.fixed(let type), .fixed(let value)) where type == value.type:
            writer.append(bytes: value.bytes)
        case (.decimal, .decimal(let number)): writer.append(bytes: number.bytes)
        case (.object, .object(let reference)) where field.linked == reference.table:
            guard (try? plan.collectionTargets[reference.table]?.isPresent(reference.key)) == true
            else {
                return false
            }
            writer.append(word: reference.key.rawValue)
        case (_, .null) where field.isOptional && field.type != .object: writer.appendNull()
        default: return false
        }
        return true
    }

    /// Adds UTF-8 bytes to the collection of strings that was begun; returns false if they are not valid.
    package func append(utf8 value: RawSpan, to position: Int) -> Bool {
        guard plan.fields[position].type == .string, RowWriter.isText(value) else { return false }
        writer.append(bytes: value)
        return true
    }

    /// Sets the collection that was begun; returns false if it cannot be stored directly, as if it is too long.
    package func endCollection(_ position: Int) -> Bool {
        let field = plan.fields[position]
        if field.collection == .set {
            let order = ElementOrder(classSchema.properties[position])
            writer.arrangeSet(field.column, order.distinctPositions)
        }
        return writer.endCollection(field.column)
    }

    private func keep(_ value: Value, _ position: Int) {
        if !hasOthers { others = Array(repeating: nil, count: plan.fields.count) }
        others[position] = value
        hasOthers = true
    }

    /// Sets a value directly; returns false if the value cannot be stored without further work.
    private func stage(_ value: Value, _ position: Int) -> Bool {
        let field = plan.fields[position]
        guard field.isSingle else { return stage(collection: value, position) }
        let column = field.column
        switch (field.type, value) {
        case (.int, .int(let number)): writer.setInt(column, number)
        case (.string, .string(let text)) where text.utf8.count <= StoreLimits.valueBytes:
            writer.setString(column, text)
        case (.double, .double(let number)): writer.setDouble(column, number)
        case (.bool, .bool(let flag)): writer.setBool(column, flag)
        case (.float, .float(let number)): writer.setFloat(column, number)
        case (.data, .data(let bytes)) where bytes.count <= StoreLimits.valueBytes:
            writer.setBytes(column, bytes)
        case (.date, .date(let moment)): writer.setInt(column, moment.microseconds)
        case (.fixed(let type), .fixed(let value)) where type == value.type:
            writer.setBytes(column, value.bytes)
        case (.decimal, .decimal(let number)): writer.setBytes(column, number.bytes)
        case (.object, .object(let reference)) where field.linked == reference.table:
            writer.setLink(column, reference.key)
        case (_, .null) where field.isOptional && field.type != .object: writer.setNull(column)
        default: return false
        }
        return true
    }

    private func stage(collection value: Value, _ position: Int) -> Bool {
        switch value {
        case .list(let elements):
            guard beginList(position) else { return false }
            for element in elements where !append(element, to: position) { return false }
        case .dictionary(let entries):
            guard beginMap(position) else { return false }
            for (key, element) in entries {
                writer.append(key: key)
                guard append(element, to: position) else { return false }
            }
        default: return false
        }
        return endCollection(position)
    }

    // MARK: Creation

    /// Creates an object from the values that were set, or updates the one with the same primary key.
    ///
    /// Afterward, even after an error, no values are set for the next object.
    ///
    /// Throws the errors of ``Store/create(_:_:mode:)``.
    @discardableResult  // because many callers find the objects later by a query
    package func insert(mode: UpdateMode = .error) throws -> ObjectKey {
        if !hasOthers, mode == .error || plan.primaryKey != nil, writer.isUsable,
            scheduler.isOnThread
        {
            try ReadOnlySection.check()
            if let key = try finish() {
                view.recordChange(of: key, in: classSchema.table)
                writer.beginRow()
                return key
            }
        }
        return try insertSlowly(mode)
    }

    /// Creates an object from values that cannot be stored directly; throws outside of a write transaction.
    private func insertSlowly(_ mode: UpdateMode) throws -> ObjectKey {
        defer { clear() }
        guard let store = link.store else { throw StoreError(.closed, "the store was closed") }
        // This also throws on other threads and after the end of the write.
        let session = try store.writer(changing: "'\(classSchema.name)'").session
        guard writer.isUsable else {
            throw StoreError(
                .notInWrite,
                "this inserter of '\(classSchema.name)' belongs to a write transaction that has "
                    + "ended; create a new inserter")
        }
        return try ObjectCreation(ObjectWriter(store, session), mode: mode)
            .createSlowly(classSchema, given)
    }

    /// Creates an object from values in schema order, nil for missing ones.
    ///
    /// Returns nil, without any change, if the values cannot be stored directly.
    func create(_ given: [Value?]) throws -> ObjectKey? {
        assert(!hasOthers, "all values of the object are passed")
        guard given.count == plan.fields.count else { return nil }
        writer.beginRow()
        for position in plan.fields.indices {
            if let value = given[position], !stage(value, position) { return nil }
        }
        return try finish()
    }

    /// Stores the object; returns nil if it cannot be stored directly.
    private func finish() throws -> ObjectKey? {
        if writer.setCount < plan.singleCount || plan.hasCollectionDefaults || !functions.isEmpty {
            guard complete() else { return nil }
        }
        if !plan.links.isEmpty {
            for (position, target) in plan.links {
                if let key = writer.link(plan.fields[position].column), try !target.isPresent(key) {
                    return nil
                }
            }
        }
        if let column = plan.primaryKey {
            guard try writer.isNew(column) else { return nil }
        }
        return writer.endRow()
    }

    /// Sets the defaults of properties that are not set; returns false if a default cannot be stored directly.
    private func complete() -> Bool {
        for position in plan.fields.indices {
            let field = plan.fields[position]
            if writer.isSet(field.column) { continue }
            if functions[classSchema.table, field.column] != nil { return false }
            if !field.isSingle {
                if field.hasDefault { return false }
                continue
            }
            if field.hasDefault {
                guard let value = plan.defaults[position], stage(value, position) else {
                    return false
                }
            } else if !field.isOptional {
                return false
            }
        }
        return true
    }

    /// The values that were set, in schema order.
    private var given: [Value?] {
        plan.fields.indices.map { position in
            if hasOthers, let value = others[position] { return value }
            let field = plan.fields[position]
            guard field.type != .backlinks, writer.isSet(field.column) else { return nil }
            return field.isSingle ? stored(field) : storedCollection(field)
        }
    }

    private func storedCollection(_ field: Field) -> Value? {
        guard let elements = writer.elements(field.column) else { return nil }
        let values = elements.map { Value($0, of: field.type, target: field.linked) }
        guard let keys = writer.keys(field.column) else { return .list(values) }
        var entries: ValueMap = [:]
        for (key, value) in zip(keys, values) {
            if case .bytes(let bytes) = key {
                entries[String(decoding: bytes, as: UTF8.self)] = value
            }
        }
        return .dictionary(entries)
    }

    private func stored(_ field: Field) -> Value {
        let column = field.column
        let element: ListElement? =
            switch field.type.columnKind {
            case .bool, .int: writer.int(column).map(ListElement.int)
            case .float: writer.float(column).map(ListElement.float)
            case .double: writer.double(column).map(ListElement.double)
            case .link: writer.link(column).map { .int($0.rawValue) }
            case .string, .data, .bytes12, .bytes16: writer.bytes(column).map(ListElement.bytes)
            case .list, nil: nil
            }
        return Value(element ?? .null, of: field.type, target: field.linked)
    }
}

extension Store {
    /// Returns an inserter that creates many objects of a class in the open write transaction.
    ///
    /// Throws `not_in_write`, `invalid_argument` for an embedded class, `closed`, `wrong_thread`.
    package func inserter(of classSchema: ClassSchema) throws -> ObjectInserter {
        let session = try writer(changing: "'\(classSchema.name)'").session
        try checkTopLevel(classSchema)
        return try ObjectInserter(plan(of: classSchema), self, session)
    }

    fileprivate func plan(of classSchema: ClassSchema) throws -> ObjectInserter.Plan {
        if let known = inserterCache.plans[classSchema.table], known.classSchema === classSchema {
            return known
        }
        let plan = try ObjectInserter.Plan(classSchema, view)
        inserterCache.plans[classSchema.table] = plan
        return plan
    }
}

/// The cached inserters of a store.
///
/// An object with embedded objects needs one for each of their classes.
struct InserterCache {
    /// The inserters of the open write transaction.
    fileprivate var inserters: [TableID: ObjectInserter] = [:]
    /// The parts of inserters that remain valid after the transaction.
    fileprivate var plans: [TableID: ObjectInserter.Plan] = [:]

    /// Releases the inserters because the write ends, or objects or default values were changed without them.
    mutating func releaseInserters() {
        if !inserters.isEmpty { inserters = [:] }
    }

    /// Releases the inserters and their plans because the schema changed.
    mutating func didChangeSchema() {
        releaseInserters()
        plans = [:]
    }
}

extension ObjectWriter {
    /// Returns the inserter for single objects of a class in this transaction, which is cached.
    func inserter(of classSchema: ClassSchema) throws -> ObjectInserter {
        if let known = store.inserterCache.inserters[classSchema.table],
            known.classSchema === classSchema
        {
            return known
        }
        let inserter = try ObjectInserter(store.plan(of: classSchema), store, session)
        store.inserterCache.inserters[classSchema.table] = inserter
        return inserter
    }
}
