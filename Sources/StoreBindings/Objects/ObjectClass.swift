import LuaHost
import ObjectStore

/// The Lua class of the objects of one class: `dog.name`, `dog.age = 4`.
///
/// The shims look up a property's name and pass its ``PropertySlot``.
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
        rows = source.view.reader(of: classSchema.table)
        super.init()
        primaryInt = Self.primaryInt(of: classSchema)
    }

    private static func primaryInt(of classSchema: ClassSchema) -> ColumnID? {
        classSchema.primaryKey.flatMap { $0.type == .int ? $0.column : nil }
    }

    /// Adopts the current schema of the class.
    func follow(_ classSchema: ClassSchema) {
        let isChanged = self.classSchema != classSchema
        self.classSchema = classSchema
        guard isChanged else { return }
        primaryInt = Self.primaryInt(of: classSchema)
        handle.state.setProperties(PropertySlot.names(of: classSchema), of: self)
    }

    private func property(at slot: PropertySlot) -> Property {
        assert(slot.isProperty, "only a slot of a property has an index")
        return classSchema.properties[slot.index]
    }

    // MARK: Reading

    override func get(_ key: Int64, _ slot: Int, _ result: borrowing LuaResult) throws {
        guard slot >= 0 else { return try getUnknown(key, result) }
        let slot = PropertySlot(rawValue: slot)
        if readScope.isTracking { recordRead(key, slot) }
        // A closed store has no rows; the slow path reports the closed store.
        let column = slot.column
        let object = ObjectKey(rawValue: key)
        do {
            switch slot.kind {
            case .int:
                if let value = try rows.int(column, object) { return result.set(value) }
            case .double:
                if let value = try rows.double(column, object) { return result.set(value) }
            case .bool:
                if let value = try rows.bool(column, object) { return result.set(value) }
            case .float:
                if let value = try rows.float(column, object) { return result.set(Double(value)) }
            case .string, .data:
                if try rows.withBytes(column, object, { result.set($0) }) != nil { return }
            case .date:
                if let value = try rows.int(column, object) {
                    return result.set(handle.dates, value)
                }
            case .link:
                if let target = try rows.link(column, object) {
                    return try setLink(target, property(at: slot), result)
                }
            case .list:
                if try rows.isPresent(object) {
                    return result.set(ListHandle(object, slot, in: self), ListHandle.type)
                }
            default:
                return try getSlowly(key, slot, result)
            }
        } catch let error as StorageError {
            throw StoreError(error)
        }
        try checkPresent(object)
        result.setNil()
    }

    /// Reports the read to the running effect.
    @inline(never)  // keeps the code of each read short
    private func recordRead(_ key: Int64, _ slot: PropertySlot) {
        guard slot.isProperty else { return }
        let property = property(at: slot)
        // The collection itself records reads of a collection or of backlinks.
        guard property.isSingle else { return }
        source.recordRead(classSchema, ObjectKey(rawValue: key), property.column)
    }

    /// Throws an error with a suggested fix if the object does not exist.
    func checkPresent(_ key: ObjectKey) throws {
        _ = try source.openView()
        guard try source.view.isPresent(reference(key.rawValue)) else {
            source.recordRead(classSchema, key, nil)  // an undo can restore the object
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

    private func getSlowly(
        _ key: Int64, _ slot: PropertySlot, _ result: borrowing LuaResult
    ) throws {
        switch slot.kind {
        case .store:
            if let frozen {
                result.set(frozen, FrozenSpace.type)
            } else {
                result.set(handle, StoreHandle.type)
            }
        case .className: result.set(classSchema.name)
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
            if let slot = PropertySlot.find(name, in: classSchema) {
                return try get(key, slot.rawValue, result)
            }
        }
        if let declaration = handle.ignoredProperties.find(name, in: classSchema) {
            return result.set(
                try handle.ignoredProperties.value(of: name, declaration, for: result.receiver))
        }
        switch try handle.module.hostMembers[classSchema.name]?[name] {
        case .method(let function)?: result.set(.function(function))
        case .property(let get)?: result.set(try get(object(key)))
        case nil:
            source.recordRead(classSchema, ObjectKey(rawValue: key), nil)
            throw unknown(result.key)
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
            + handle.ignoredProperties.all(of: classSchema).keys
        let hint =
            NearestName.find(name, among: known).map { "; did you mean '\($0)'?" }
            ?? NearestName.hint(for: name, among: classSchema.properties.map(\.name))
        return StoreError(.unknownProperty, classSchema.absence(of: name) + hint)
    }

    // MARK: Writing

    override func set(_ key: Int64, _ slot: Int, _ value: borrowing LuaField) throws {
        if slot < 0, let name = value.key.text,
            let declaration = handle.ignoredProperties.find(name, in: classSchema)
        {
            return try handle.ignoredProperties.set(
                name, declaration, for: value.receiver, to: value.luaValue, in: classSchema, handle)
        }
        let slot = slot >= 0 ? PropertySlot(rawValue: slot) : try unknownSlot(value.key)
        guard slot.isProperty else {
            throw StoreError(
                .invalidArgument, "'\(value.key.text ?? "")' of an object cannot be set")
        }
        let property = property(at: slot)
        if slot.mayBeCollection {
            if let links = value.liveArray(),
                try set(property, of: key, links: links.keys, to: links.type)
            {
                return
            }
            // Assigning a collection to itself changes nothing.
            if value.kind == .box, isOwn(value, property, of: key) {
                let key = ObjectKey(rawValue: key)
                return try source.writableStore()
                    .writer(changing: property, of: key, in: classSchema)
                    .checkSettable(property, of: key, in: classSchema)
            }
        }
        let converted = try ValueBridge(handle, frozen).value(value, for: property, of: classSchema)
        // The objects of a removed class keep its last schema, but a rollback may have restored the class.
        guard source.view.schema.find(table: table) === classSchema else {
            return try object(key).set(property.name, converted)
        }
        let row = ObjectKey(rawValue: key)
        try source.writableStore().writer(changing: property, of: row, in: classSchema)
            .set(property, of: row, in: classSchema, to: converted)
    }

    /// Returns the slot of a name that the class did not have when it was last updated.
    private func unknownSlot(_ key: LuaValue) throws -> PropertySlot {
        handle.updateClasses()
        guard let name = key.text, let slot = PropertySlot.find(name, in: classSchema) else {
            throw unknown(key)
        }
        return slot
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
            let slot = PropertySlot(rawValue: fields.slot(i))
            let field = fields.field(i)
            if field.kind == .other {
                guard setCollection(slot, field, inserter) else { return nil }
                continue
            }
            guard set(slot.index, kind: slot.kind, field, inserter) else {
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
        let created = try store.inserter(of: classSchema)
        inserter = created
        return created
    }

    /// Sets a property to a value that needs no conversion.
    ///
    /// Returns false for other values and properties.
    @inline(__always)
    private func set(
        _ position: Int, kind: PropertySlot.Kind, _ field: borrowing LuaField,
        _ inserter: ObjectInserter
    ) -> Bool {
        switch (kind, field.kind) {
        case (.int, .int): inserter.set(position, int: field.int)
        case (.double, .double): inserter.set(position, double: field.double)
        case (.double, .int): inserter.set(position, double: Double(field.int))
        case (.bool, .bool): inserter.set(position, bool: field.bool)
        case (.string, .string):
            return field.withBytes { inserter.set(position, utf8: $0) }
        case (.link, .object):
            let object = field.object
            guard let type = object.type as? ObjectClass, type.handle === handle,
                type.frozen == nil
            else { return false }
            inserter.set(position, .object(type.reference(object.key)))
        default: return false
        }
        return true
    }

    /// Sets a list or a set to the elements of an array, or a map to the entries of a table.
    ///
    /// Returns false for other tables, and for elements that need conversion.
    private func setCollection(
        _ slot: PropertySlot, _ field: borrowing LuaField, _ inserter: ObjectInserter
    ) -> Bool {
        let position = slot.index
        guard slot.kind == .list || slot.kind == .collection else { return false }
        if inserter.beginList(position) {
            let isSet = field.withElements { elements in
                for i in 0..<elements.count
                where !append(elements.field(i), to: position, inserter) { return false }
                return inserter.endCollection(position)
            }
            return isSet == true
        }
        guard inserter.beginMap(position) else { return false }
        let isSet = field.withEntries { keys, values in
            for i in 0..<keys.count {
                guard keys.field(i).withBytes({ inserter.append(key: $0) }),
                    append(values.field(i), to: position, inserter)
                else { return false }
            }
            return inserter.endCollection(position)
        }
        return isSet == true
    }

    private func append(
        _ element: borrowing LuaField, to position: Int, _ inserter: ObjectInserter
    ) -> Bool {
        switch element.kind {
        case .string: return element.withBytes { inserter.append(utf8: $0, to: position) }
        case .int:
            return inserter.append(.int(element.int), to: position)
                || inserter.append(.double(Double(element.int)), to: position)
        case .double: return inserter.append(.double(element.double), to: position)
        case .bool: return inserter.append(.bool(element.bool), to: position)
        case .object:
            let object = element.object
            guard let type = object.type as? ObjectClass, type.handle === handle,
                type.frozen == nil
            else { return false }
            return inserter.append(.object(type.reference(object.key)), to: position)
        case .null, .box, .other: return false
        }
    }

    private func createSlowly(_ fields: borrowing LuaFields) throws -> Int64? {
        var values = [Value?](repeating: nil, count: classSchema.properties.count)
        let bridge = ValueBridge(handle, nil)
        for i in 0..<fields.count {
            let slot = PropertySlot(rawValue: fields.slot(i))
            guard slot.isProperty, fields.field(i).kind != .other else { return nil }
            let property = property(at: slot)
            if fields.field(i).box(UnmanagedObject.type) != nil { return nil }
            // Collections that are given as other collections use the general path.
            if fields.field(i).kind == .box, !property.isSingle { return nil }
            values[slot.index] = try bridge.value(fields.field(i), for: property, of: classSchema)
        }
        return try store.create(classSchema, positional: values).rawValue
    }

    /// Returns the object with a primary key that needs no conversion.
    ///
    /// Returns `.some(nil)` if no object has the key, and nil if the caller must use the general path.
    func find(_ key: LuaValue) -> ObjectKey?? {
        guard let column = primaryInt, case .integer(let number) = key, !rows.isClosed else {
            return nil
        }
        do { return .some(try rows.find(column, int: number)) } catch { return nil }
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

extension ObjectClass {
    /// The methods of every live object.
    static let methods = LuaLiveMethods(
        methods: [
            LuaMethod("update") { object, call in
                let (type, live) = try stored(object, call)
                let values = try ValueBridge(type.handle, type.frozen)
                    .named(call.table(2), of: type.classSchema)
                _ = try type.source.writableStore()
                try type.handle.store.update(live, values)
                try type.handle.ignoredProperties.set(
                    call.table(2), for: call[1], in: type.classSchema, type.handle)
                return call.answerArgument(1)
            },
            LuaMethod("is_valid") { object, call in
                call.answer(.boolean(try stored(object, call).live.isValid))
            },
            LuaMethod("is_frozen") { object, call in
                call.answer(.boolean(try stored(object, call).type.frozen != nil))
            },
            LuaMethod("freeze") { object, call in
                let (type, live) = try stored(object, call)
                if type.frozen != nil { return call.answerArgument(1) }
                try type.checkPresent(live.key)
                return call.answer(try type.handle.frozenSpace().userdata(of: live))
            },
            LuaMethod("thaw") { object, call in
                let (type, live) = try stored(object, call)
                if type.frozen == nil, live.isValid { return call.answerArgument(1) }
                guard let thawed = try type.handle.store.thaw(live) else {
                    return call.answer(.nil)
                }
                return call.answer(type.handle.userdata(thawed.reference))
            },
            LuaMethod("to_table") { object, call in
                let (type, live) = try stored(object, call)
                let depth = call.isNil(2) ? 1 : Int(clamping: try call.integer(2))
                try type.checkPresent(live.key)
                var copy = TableCopy(type.handle, type.frozen)
                return call.answer(
                    .table(try copy.table(live, depth)))
            },
            LuaMethod("project") { object, call in
                let (type, live) = try stored(object, call)
                try type.checkPresent(live.key)
                let shape = try ProjectionShape(
                    call, class: type.classSchema, schema: type.source.view.schema)
                return call.answer(
                    ProjectionHandle(shape, of: live.reference, in: type.handle, at: type.frozen),
                    ProjectionHandle.type)
            },
            LuaMethod("get") { object, call in
                let (type, live) = try stored(object, call)
                try type.checkPresent(live.key)
                let path = try ProjectedPath(
                    call.text(2), class: type.classSchema, schema: type.source.view.schema)
                return call.answer(
                    try ProjectionShape.value(of: path, live, type.handle, type.frozen))
            },
            LuaMethod("observe") { object, call in
                let (type, live) = try stored(object, call)
                return call.answer(try ObserverBinding(type.handle, call).observe(live))
            },
            LuaMethod("observe_value") { object, call in
                let (type, live) = try stored(object, call)
                return call.answer(try ObserverBinding(type.handle, call).observeValue(live))
            },
        ],
        metamethods: [
            LuaMethod("__tostring") { object, call in
                let (type, live) = try stored(object, call)
                return try call.answer(.text(type.describe(live)))
            },
            LuaMethod("__pairs") { object, call in
                let (type, live) = try stored(object, call)
                try type.checkPresent(live.key)
                return try call.answerPairs(of: type.classSchema.properties.map(\.name))
            },
        ])

    private static func stored(
        _ object: LuaLiveObject, _ call: borrowing LuaCall
    ) throws -> (type: ObjectClass, live: LiveObject) {
        guard let (type, live) = object.stored else { throw call.typeError(1, "object") }
        return (type, live)
    }

    /// Returns the object on one line, without following links: `Dog { id = 1, name = "Rex", … }`.
    func describe(_ object: LiveObject) throws -> String {
        let name = classSchema.name
        if !object.source.isOpen { return "\(name) (of a closed store)" }
        guard object.isValid else { return "\(name) (deleted)" }
        let parts = try classSchema.properties.filter { !$0.isBacklinks }.map { property in
            try "\(property.name) = \(describe(property, of: object))"
        }
        return parts.isEmpty ? "\(name) {}" : "\(name) { \(parts.joined(separator: ", ")) }"
    }

    private func describe(_ property: Property, of object: LiveObject) throws -> String {
        if property.collection != nil {
            object.source.recordRead(object.classSchema, object.key, property.column)
            let count = try object.source.view.table(classSchema).listCount(
                property.column, object.key)
            return "\(property.typeName)(\(count))"
        }
        guard let value = try? object.value(property.name) else { return "?" }
        guard case .object(let reference) = value,
            let target = source.view.schema.find(table: reference.table)
        else { return value.summary }
        guard let primary = target.primaryKey,
            let key = try? source.view.value(primary, of: reference.key, in: target)
        else { return target.name }
        return "\(target.name)(\(key.summary))"
    }
}

extension LuaCall {
    /// Answers `__pairs` for named values of the first argument.
    ///
    /// The loop iterates over these names, and reads each value when it reaches the name.
    func answerPairs(of names: [String]) throws -> LuaAnswer {
        let source = self[1]
        var next = 0
        let step = state.makeFunction("next") { call in
            guard next < names.count else { return call.answer(.nil) }
            next += 1
            let name = LuaValue.text(names[next - 1])
            return call.answer(name, try call.state.index(source, name))
        }
        return try answer([.function(step), source, .nil])
    }
}
