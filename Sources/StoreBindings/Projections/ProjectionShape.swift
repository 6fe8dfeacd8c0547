import LuaHost
import ObjectStore

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

    private static let mostFields = 200

    /// Parses argument 2, a table such as `{ name = "name", city = "owner.address.city" }`.
    init(_ call: borrowing LuaCall, class classSchema: ClassSchema, schema: Schema) throws {
        let table = try call.table(2)
        var count = 0
        table.forEachKey { _ in count += 1 }
        guard count > 0, count <= Self.mostFields else {
            throw call.argumentError(
                2, "expected 1 to \(Self.mostFields) names in a projection, got \(count)")
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
