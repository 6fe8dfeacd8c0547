import LuaHost
import ObjectStore

/// The Lua class of the objects of one class: `dog.name`, `dog.age = 4`.
///
/// The slot that the shims find by a property's name contains its column and its kind, so that reading a number needs
/// no lookup and no reference counting.
final class ObjectClass: LuaLiveClass {
    let handle: StoreHandle
    let source: ObjectSource
    /// The other classes of the version, for a frozen class.
    let frozen: FrozenSpace?
    let rows: TableReader
    let table: TableID
    private(set) var classSchema: ClassSchema
    private let store: Store
    private let readScope: ReadScope
    private var primaryInt: ColumnID?
    private var inserter: ObjectInserter?

    init(
        _ handle: StoreHandle, _ source: ObjectSource, _ classSchema: ClassSchema,
        frozen: FrozenSpace? = nil
    ) {
        self.handle = handle
        self.source = source
        self.frozen = frozen
        self.classSchema = classSchema
        store = handle.store
        readScope = handle.readScope
        table = classSchema.table
        rows = source.view.table(classSchema)
        super.init()
        primaryInt = Self.primaryInt(of: classSchema)
    }

    private static func primaryInt(of classSchema: ClassSchema) -> ColumnID? {
        classSchema.primaryKey.flatMap { $0.type == .int ? $0.column : nil }
    }

    /// Adopts the current schema of the class.
    func follow(_ classSchema: ClassSchema) {
        guard self.classSchema != classSchema else { return }
        self.classSchema = classSchema
        primaryInt = Self.primaryInt(of: classSchema)
        handle.state.setProperties(Self.slots(of: classSchema), of: self)
    }

    // MARK: Slots

    private enum Kind {
        static let bool = 0
        static let int = 1
        static let float = 2
        static let double = 3
        static let string = 4
        static let data = 5
        static let date = 6
        static let other = 7
        static let link = 8
        static let collection = 9
        /// A property whose index or column exceeds the bits of a slot; it uses the general path.
        static let wide = 10
        static let store = 14
        static let className = 15
    }

    // From the lowest bit: 4 bits of kind, 12 bits of index, 15 bits of column. A wide slot has 27 bits of index.
    private static let positionBits = 12
    private static let columnBits = 15

    private static func slot(of property: Property, at position: Int) -> Int {
        let column = property.isBacklinks ? 0 : property.column.rawValue
        guard position < 1 << positionBits, column < 1 << columnBits else {
            return Kind.wide | position << 4
        }
        return kind(of: property) | position << 4 | column << (4 + positionBits)
    }

    private static func position(in slot: Int) -> Int {
        let position = slot >> 4
        return slot & 15 == Kind.wide ? position : position & (1 << positionBits - 1)
    }

    /// Returns the names and slots of a class: its properties by index, and `store` and `class` unless a property has
    /// this name.
    static func slots(of classSchema: ClassSchema) -> [(name: String, slot: Int)] {
        var slots: [(name: String, slot: Int)] = []
        for (position, property) in classSchema.properties.enumerated() {
            slots.append((property.name, slot(of: property, at: position)))
        }
        if classSchema.property(named: "store") == nil { slots.append(("store", Kind.store)) }
        if classSchema.property(named: "class") == nil { slots.append(("class", Kind.className)) }
        return slots
    }

    private static func kind(of property: Property) -> Int {
        if !property.isSingle { return Kind.collection }
        return switch property.type {
        case .bool: Kind.bool
        case .int: Kind.int
        case .float: Kind.float
        case .double: Kind.double
        case .string: Kind.string
        case .data: Kind.data
        case .date: Kind.date
        case .object: Kind.link
        default: Kind.other
        }
    }

    private func property(at slot: Int) -> Property {
        classSchema.properties[Self.position(in: slot)]
    }

    // MARK: Reading

    override func get(_ key: Int64, _ slot: Int, _ result: borrowing LuaResult) throws {
        guard slot >= 0 else { return try getUnknown(key, result) }
        if readScope.isTracking { noteRead(key, slot) }
        // A closed store has no rows; the slow path reports the closed store.
        let column = ColumnID(rawValue: slot >> (4 + Self.positionBits))
        let object = ObjectKey(rawValue: key)
        switch slot & 15 {
        case Kind.int:
            if let value = rows.int(column, object) { return result.set(value) }
        case Kind.double:
            if let value = rows.double(column, object) { return result.set(value) }
        case Kind.bool:
            if let value = rows.bool(column, object) { return result.set(value) }
        case Kind.float:
            if let value = rows.float(column, object) { return result.set(Double(value)) }
        case Kind.string, Kind.data:
            if rows.withBytes(column, object, { result.set($0) }) != nil { return }
        case Kind.date:
            if let value = rows.int(column, object) {
                return result.set(handle.dates, value)
            }
        case Kind.link:
            if let target = rows.link(column, object) {
                return try setLink(target, property(at: slot), result)
            }
        default:
            return try getSlowly(key, slot, result)
        }
        try checkPresent(object)
        result.setNil()
    }

    /// Reports the read to the running effect.
    private func noteRead(_ key: Int64, _ slot: Int) {
        guard slot & 15 != Kind.store, slot & 15 != Kind.className else { return }
        let property = property(at: slot)
        // The collection itself records reads of a collection or of backlinks.
        guard property.isSingle else { return }
        source.noteRead(classSchema, ObjectKey(rawValue: key), property.column)
    }

    /// Throws an error with a suggested fix if the object does not exist.
    func checkPresent(_ key: ObjectKey) throws {
        _ = try source.openView()
        guard rows.isPresent(key) else {
            throw StoreError(
                .invalidObject,
                "this '\(classSchema.name)' was deleted; check is_valid() before you use an object that may be deleted"
            )
        }
    }

    private func setLink(
        _ target: ObjectKey, _ property: Property, _ result: borrowing LuaResult
    ) throws {
        guard let targetSchema = source.view.schema.target(of: property) else {
            return result.setNil()
        }
        if let frozen {
            let (type, anchor) = frozen.objectClass(targetSchema)
            result.set(type, target.rawValue)
            withExtendedLifetime(anchor) {}
        } else if let type = handle.objectClass(targetSchema.table) {
            result.set(type, target.rawValue)
        }
    }

    private func getSlowly(_ key: Int64, _ slot: Int, _ result: borrowing LuaResult) throws {
        switch slot & 15 {
        case Kind.store:
            if let frozen {
                result.set(frozen, FrozenSpace.type)
            } else {
                result.set(handle, StoreHandle.type)
            }
        case Kind.className: result.set(classSchema.name)
        default:
            try checkPresent(ObjectKey(rawValue: key))
            let property = property(at: slot)
            if property.isBacklinks {
                let results = try Results(backlinks: property, of: object(key))
                return result.set(ResultsHandle(results, handle, frozen), ResultsHandle.type)
            }
            if property.collection != nil {
                return result.set(
                    try ValueBridge(handle, frozen).collection(property, of: object(key)))
            }
            if property.type == .mixed {
                let item = try NestedCollection.item(at: .property(object(key), property))
                return result.set(ValueBridge(handle, frozen).lua(item))
            }
            let value = try source.view.value(
                property, of: ObjectKey(rawValue: key), in: classSchema)
            result.set(ValueBridge(handle, frozen).lua(value))
        }
    }

    /// Reads a name that the class did not have when it was last updated.
    private func getUnknown(_ key: Int64, _ result: borrowing LuaResult) throws {
        guard let name = result.key.text else { throw unknown(result.key) }
        if frozen == nil, handle.store.view.schema.find(table: table) !== classSchema {
            handle.updateClasses()
            if let (_, slot) = Self.slots(of: classSchema).first(where: { $0.name == name }) {
                return try get(key, slot, result)
            }
        }
        switch try handle.module.hostMembers[classSchema.name]?[name] {
        case .method(let function)?: result.set(.function(function))
        case .property(let get)?: result.set(try get(object(key)))
        case nil: throw unknown(result.key)
        }
    }

    private func unknown(_ key: LuaValue) -> StoreError {
        guard let name = key.text else {
            return StoreError(
                .unknownProperty,
                "'\(classSchema.name)' expects a property name, got a \(key.typeName)")
        }
        let added = (try? handle.module)?.hostMembers[classSchema.name] ?? [:]
        let known =
            classSchema.properties.map(\.name) + Self.methods.members.map(\.name) + added.keys
        let hint =
            NearestName.find(name, among: known).map { "; did you mean '\($0)'?" }
            ?? NearestName.hint(for: name, among: classSchema.properties.map(\.name))
        return StoreError(
            .unknownProperty, "'\(classSchema.name)' has no property '\(name)'" + hint)
    }

    // MARK: Writing

    override func set(_ key: Int64, _ slot: Int, _ value: borrowing LuaField) throws {
        var slot = slot
        if slot < 0 {
            handle.updateClasses()
            guard let name = value.key.text,
                let known = Self.slots(of: classSchema).first(where: { $0.name == name })
            else { throw unknown(value.key) }
            slot = known.slot
        }
        guard slot & 15 != Kind.store, slot & 15 != Kind.className else {
            throw StoreError(
                .invalidArgument, "'\(value.key.text ?? "")' of an object cannot be set")
        }
        let property = property(at: slot)
        let isCollection = slot & 15 == Kind.collection || slot & 15 == Kind.wide
        if isCollection, let links = value.liveArray(),
            try set(property, of: key, links: links.keys, to: links.type)
        {
            return
        }
        // Assigning a collection to itself changes nothing.
        if isCollection, value.kind == .box, isOwn(value, property, of: key) {
            return try object(key).checkSettable(property.name)
        }
        let converted = try ValueBridge(handle, frozen).value(value, for: property, of: classSchema)
        try object(key).set(property.name, converted)
    }

    /// Returns whether a value is the collection that the property already holds.
    private func isOwn(_ value: borrowing LuaField, _ property: Property, of key: Int64) -> Bool {
        func isOwn(_ other: (some LiveCollection)?) -> Bool {
            guard let other, case .store(let store) = other.source else { return false }
            return store === handle.store && other.classSchema.table == table
                && other.owner.rawValue == key && other.property.column == property.column
        }
        return frozen == nil
            && (isOwn(value.box(ListHandle.type)?.collection)
                || isOwn(value.box(SetHandle.type)?.collection)
                || isOwn(value.box(MapHandle.type)?.collection))
    }

    /// Sets a list of links to objects of one class of this store.
    ///
    /// Returns false for any other property or class.
    private func set(
        _ property: Property, of key: Int64, links targets: [Int64], to type: LuaLiveClass
    ) throws -> Bool {
        guard let type = type as? ObjectClass, type.handle === handle, type.frozen == nil else {
            return false
        }
        return try object(key).set(
            property, links: targets.map(ObjectKey.init(rawValue:)), to: type.classSchema)
    }

    override func create(_ fields: borrowing LuaFields) throws -> Int64? {
        let inserter = try usableInserter()
        inserter.clear()
        for i in 0..<fields.count {
            let slot = fields.slot(i)
            guard set(Self.position(in: slot), kind: slot & 15, fields.field(i), inserter) else {
                return try createSlowly(fields)
            }
        }
        return try inserter.insert().rawValue
    }

    /// Returns the inserter of the open write.
    private func usableInserter() throws -> ObjectInserter {
        if let inserter, inserter.classSchema === classSchema, inserter.isUsable {
            return inserter
        }
        let made = try store.inserter(of: classSchema)
        inserter = made
        return made
    }

    /// Sets a property to a value that needs no conversion.
    ///
    /// Returns false for other values and properties.
    @inline(__always)
    private func set(
        _ position: Int, kind: Int, _ field: borrowing LuaField, _ inserter: ObjectInserter
    ) -> Bool {
        switch (kind, field.kind) {
        case (Kind.int, .int): inserter.set(position, int: field.int)
        case (Kind.double, .double): inserter.set(position, double: field.double)
        case (Kind.double, .int): inserter.set(position, double: Double(field.int))
        case (Kind.bool, .bool): inserter.set(position, bool: field.bool)
        case (Kind.string, .string):
            return field.withBytes { inserter.set(position, utf8: $0) }
        case (Kind.link, .object):
            let object = field.object
            guard let type = object.type as? ObjectClass, type.handle === handle,
                type.frozen == nil
            else { return false }
            inserter.set(position, .object(type.reference(object.key)))
        default: return false
        }
        return true
    }

    private func createSlowly(_ fields: borrowing LuaFields) throws -> Int64? {
        var values = [Value?](repeating: nil, count: classSchema.properties.count)
        let bridge = ValueBridge(handle, nil)
        for i in 0..<fields.count {
            let slot = fields.slot(i)
            guard slot & 15 < Kind.store else { return nil }
            let position = Self.position(in: slot)
            let property = classSchema.properties[position]
            if fields.field(i).box(UnmanagedObject.type) != nil { return nil }
            // Collections that are given as other collections use the general path.
            if fields.field(i).kind == .box, !property.isSingle { return nil }
            values[position] = try bridge.value(fields.field(i), for: property, of: classSchema)
        }
        return try store.create(classSchema, positional: values).rawValue
    }

    /// Returns the object with a primary key that needs no conversion.
    ///
    /// Returns `.some(nil)` if no object has the key, and nil if the caller must use the general path.
    func find(_ key: LuaValue) -> ObjectKey?? {
        guard let column = primaryInt, case .integer(let number) = key else { return nil }
        return .some(rows.find(column, int: number))
    }

    // MARK: Handles

    /// Returns the live object for a key, whether or not the object exists.
    func object(_ key: Int64) -> LiveObject {
        source.object(classSchema, ObjectKey(rawValue: key))
    }

    func reference(_ key: Int64) -> ObjectReference {
        ObjectReference(table: table, key: ObjectKey(rawValue: key))
    }
}

extension LuaLiveObject {
    /// The class and the stored object of a live value; nil for other live values, such as dates.
    var stored: (type: ObjectClass, object: LiveObject)? {
        (type as? ObjectClass).map { ($0, $0.object(key)) }
    }
}
