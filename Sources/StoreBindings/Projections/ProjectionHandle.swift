import LuaHost
import ObjectStore

/// A live view of an object: names, each with a path from the object to a value.
package final class ProjectionHandle: LiveHandle {
    let shape: ProjectionShape
    let handle: StoreHandle
    let frozen: FrozenSpace?
    let reference: ObjectReference

    init(
        _ shape: ProjectionShape, of reference: ObjectReference, in handle: StoreHandle,
        at frozen: FrozenSpace?
    ) {
        self.shape = shape
        self.reference = reference
        self.handle = handle
        self.frozen = frozen
    }

    var luaClass: LuaClass<ProjectionHandle> { Self.type }

    func moved(to space: FrozenSpace?) throws -> LuaValue? {
        if let space {
            _ = try space.userdata(of: present())
        } else if try object.flatMap(handle.store.thaw) == nil {
            return nil
        }
        return handle.state.userdata(
            ProjectionHandle(shape, of: reference, in: handle, at: space), Self.type)
    }

    private var source: ObjectSource { handle.source(at: frozen) }

    /// The projected object; nil if its class was removed.
    var object: LiveObject? { source.object(reference) }

    /// Returns the object, or throws `invalid_object` if it was deleted.
    private func present() throws -> LiveObject {
        _ = try source.openView()
        guard let object, object.isValid else {
            throw StoreError(
                .invalidObject,
                "the '\(shape.classSchema.name)' of this projection was deleted; check is_valid() first"
            )
        }
        return object
    }

    private var root: LuaValue { frozen?.userdata(reference) ?? handle.userdata(reference) }

    /// Whether the object exists.
    package var isValid: Bool { object?.isValid ?? false }

    /// The name of the class of the object.
    package var className: String { shape.classSchema.name }

    /// The projected names in order.
    package var names: [String] { shape.names }

    /// The values in the order of ``names``; throws `invalid_object` for a deleted object.
    package func values() throws -> [Value] {
        let object = try present()
        return try shape.fields.map { try $0.value(of: object) }
    }

    /// The source of the values, for looking up objects.
    package var objects: ObjectSource { source }

    private func set(_ field: ProjectionShape.Field, _ value: borrowing LuaField) throws {
        let object = try present()
        guard let property = field.path.ownProperty, !property.isBacklinks else {
            throw StoreError(
                .invalidArgument,
                "'\(field.name)' is '\(field.path.text)', which is not a property of the '\(className)' itself; "
                    + "assign to \(Self.target(of: field, object))")
        }
        _ = try source.writableStore()
        let current = object.classSchema
        try object.set(
            property.name,
            try bridge.value(value, for: property, of: current))
    }

    /// Returns the name of the object that contains the value of a path: `Address 3`.
    private static func target(of field: ProjectionShape.Field, _ root: LiveObject) -> String {
        guard let (property, owner) = try? field.path.end(of: root.key, in: root.source) else {
            return "what determines root():get(\"\(field.path.text)\")"
        }
        let key = owner.classSchema.primaryKey.flatMap { try? owner.value($0.name) }
        let name = owner.classSchema.name + (key.map { " " + $0.summary } ?? "")
        return "'\(property.name)' of the \(name): root().\(field.path.text)"
    }

    static let type: LuaClass<ProjectionHandle> = LuaClass(
        name: "Projection",
        methods: versions + [
            LuaMethod("root") { projection, call in call.answer(projection.root) },
            LuaMethod("to_table") { projection, call in
                let object = try projection.present()
                return call.answer(.table(try projection.table(object)))
            },
            LuaMethod("observe") { projection, call in
                call.answer(
                    try ObserverBinding(projection.handle, call).observe(
                        projection, projection.present()))
            },
        ],
        metamethods: [
            LuaMethod("__tostring") { projection, call in
                let name = "projection of \(projection.className)"
                guard let object = projection.object, object.isValid else {
                    return call.answer(.text("\(name) (deleted)"))
                }
                return call.answer(.text("\(name) { \(projection.shape.describe(object)) }"))
            },
            LuaMethod.equality(of: type) { left, right in
                left.shape === right.shape && left.reference == right.reference
                    && left.source.isSame(as: right.source)
            },
            LuaMethod("__pairs") { projection, call in
                _ = try projection.present()
                return try call.answerPairs(of: projection.names)
            },
        ],
        other: { projection, key, result in
            guard let name = key.text else { return false }
            guard let field = projection.shape.field(name) else {
                throw projection.shape.unknown(name)
            }
            result.set(
                try projection.shape.value(
                    field, of: projection.present(), projection.handle, projection.frozen))
            return true
        },
        setOther: { projection, key, value in
            guard let name = key.text else { return false }
            guard let field = projection.shape.field(name) else {
                throw projection.shape.unknown(name)
            }
            try projection.set(field, value)
            return true
        })

    /// Returns the plain table of a projection, or the array of projected results; nil for other values.
    static func table(of userdata: LuaUserdata) throws -> LuaTable? {
        if let projection = userdata.object(as: type) {
            return try projection.table(projection.present())
        }
        return try userdata.object(as: ProjectedResultsHandle.type)?.table()
    }

    /// Returns a plain table of the values; collections become arrays.
    ///
    /// Throws `MemoryLimitReached` if the script does not have enough memory for it.
    func table(_ object: LiveObject) throws -> LuaTable {
        let table = handle.state.makeTable(fields: shape.fields.count)
        for field in shape.fields {
            let value = try field.value(of: object)
            try handle.state.checkMemory(adding: Self.memoryOfCopy(value))
            table[field.name] = bridge.lua(value)
        }
        return table
    }

    /// The bytes of a collection as a table of Lua.
    private static func memoryOfCopy(_ value: Value) -> Int {
        switch value {
        case .list(let values): values.count * 16
        case .dictionary(let entries): entries.count * 40
        default: 0
        }
    }
}

extension ObserverBinding {
    /// Implements `projection:observe(fn, { keypaths = { "city" } })`: calls the function with the names of changed
    /// values.
    func observe(_ projection: ProjectionHandle, _ object: LiveObject) throws -> LuaValue {
        let (handle, name, pace) = (projection.handle, name, pace)
        try refuseRemote("projection")
        let fields = try projection.shape.fields(named: keyPaths)
        _ = try object.source.writableStore()
        // Compares values instead of key paths: `toys[1].name` does not change when the name of another toy changes.
        var last = try fields.map { try $0.value(of: object) }
        return try answer(
            "a projection of \(projection.className)",
            { call in
                try handle.store.observe(
                    object.reference, keyPaths: fields.flatMap(\.path.observed), name: name,
                    pace: pace
                ) { [weak handle] change in
                    guard let handle else { return }
                    let state = handle.state
                    let table = state.makeTable(fields: 4)
                    table["object"] = state.userdata(projection, ProjectionHandle.type)
                    var properties: [LuaValue] = []
                    if !change.properties.isEmpty,
                        let source = change.source(of: object).object(object.reference)
                    {
                        let values = try fields.map { try $0.value(of: source) }
                        properties = try ProjectedProperties(fields, handle, nil).changes(
                            from: last, to: values
                        ) { try projection.shape.value($0, of: source, handle, nil) }
                        last = values
                    }
                    switch change.kind {
                    case .change:
                        table["type"] = "change"
                        if properties.isEmpty { return }
                    case .deleted: table["type"] = "deleted"
                    case .error(let error):
                        table["type"] = "error"
                        table["error"] = state.value(of: error)
                    }
                    table["properties"] = .table(state.makeTable(properties))
                    // The error is ignored: it occurs only after the script has ended, when no code prints the table.
                    table.metatable = try? handle.module.changeMetatables.ofObjects
                    try call([.table(table)])
                }
            })
    }
}

/// The changed values of projected fields, for scripts.
struct ProjectedProperties {
    private let fields: [ProjectionShape.Field]
    private let handle: StoreHandle
    private let before: FrozenSpace?

    /// Creates the changes; `before` is the version of the old values, nil for the live store.
    init(_ fields: [ProjectionShape.Field], _ handle: StoreHandle, _ before: FrozenSpace?) {
        self.fields = fields
        self.handle = handle
        self.before = before
    }

    /// Returns `{ name =, old =, new = }` for each value that differs.
    func changes(
        from old: [Value], to new: [Value],
        _ present: (ProjectionShape.Field) throws -> LuaValue
    ) throws -> [LuaValue] {
        var changes: [LuaValue] = []
        for (index, field) in fields.enumerated() where old[index] != new[index] {
            let entry = handle.state.makeTable(fields: 3)
            entry["name"] = .text(field.name)
            entry["old"] = ValueBridge(handle, before).lua(old[index])
            entry["new"] = try present(field)
            changes.append(.table(entry))
        }
        return changes
    }
}

/// The names of a projection and their paths, for objects of one class.
final class ProjectionShape {
    struct Field {
        let name: String
        let path: ProjectedPath

        /// Returns the value for an object.
        func value(of object: LiveObject) throws -> Value {
            try path.value(of: object.key, in: object.source)
        }
    }

    let classSchema: ClassSchema
    /// The fields in the order of their names.
    let fields: [Field]
    private let indexes: [String: Int]

    private static let maxFields = 200

    /// Parses argument 2, a table such as `{ name = "name", city = "owner.address.city" }`.
    init(_ call: borrowing LuaCall, class classSchema: ClassSchema, schema: Schema) throws {
        let table = try call.table(2)
        var count = 0
        table.forEachKey { _ in count += 1 }
        guard count > 0, count <= Self.maxFields else {
            throw call.argumentError(
                2, "expected 1 to \(Self.maxFields) names in a projection, got \(count)")
        }
        var fields: [Field] = []
        for (key, value) in table.pairs {
            guard let name = key.text, !name.isEmpty, let path = value.text else {
                throw call.argumentError(
                    2,
                    "a projection is a table of names and paths: { city = \"owner.address.city\" }")
            }
            guard !Self.reserved.contains(name) else {
                throw call.argumentError(
                    2, "'\(name)' is a method of projections; choose another name")
            }
            fields.append(
                Field(
                    name: name,
                    path: try ProjectedPath(path, class: classSchema, schema: schema)))
        }
        self.classSchema = classSchema
        self.fields = fields.sorted { $0.name < $1.name }
        indexes = Dictionary(
            self.fields.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { $1 })
    }

    private static let reserved = Set(ProjectionHandle.type.members.map(\.name))

    var names: [String] { fields.map(\.name) }

    func field(_ name: String) -> Field? { indexes[name].map { fields[$0] } }

    /// Returns the error for a name that the projection does not have.
    func unknown(_ name: String) -> StoreError {
        StoreError(
            .unknownProperty,
            "the projection of '\(classSchema.name)' has no property '\(name)'"
                + NearestName.hint(for: name, among: names))
    }

    /// Returns the fields with these names; all fields if the list is empty.
    ///
    /// Throws `unknown_property`.
    func fields(named names: [String]) throws -> [Field] {
        guard !names.isEmpty else { return fields }
        return try names.map { name in
            guard let field = field(name) else { throw unknown(name) }
            return field
        }
    }

    /// Returns the value of a path for a script: a collection is live, unless the path traverses another collection.
    static func value(
        of path: ProjectedPath, _ object: LiveObject, _ handle: StoreHandle, _ frozen: FrozenSpace?
    ) throws -> LuaValue {
        let bridge = ValueBridge(handle, frozen)
        guard let (property, owner) = try path.end(of: object.key, in: object.source),
            !property.isSingle
        else { return bridge.lua(try path.value(of: object.key, in: object.source)) }
        guard property.isBacklinks else { return try bridge.collection(property, of: owner) }
        let results = try Results(backlinks: property, of: owner)
        return handle.state.userdata(
            ResultsHandle(results, handle, frozen), ResultsHandle.type)
    }

    func value(
        _ field: Field, of object: LiveObject, _ handle: StoreHandle, _ frozen: FrozenSpace?
    ) throws -> LuaValue {
        try Self.value(of: field.path, object, handle, frozen)
    }

    /// Returns the values of an object as text on one line: `name = "Rex", city = nil`.
    func describe(_ object: LiveObject) -> String {
        fields.map { field in
            // A value that cannot be read is printed as a question mark, as in objects.
            "\(field.name) = \((try? field.value(of: object))?.summary ?? "?")"
        }.joined(separator: ", ")
    }
}
