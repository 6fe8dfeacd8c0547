import DataFormats
import ObjectStore

/// Maps the fields of a file's rows to properties.
final class FieldTable {
    let classSchema: ClassSchema
    /// The name of the class.
    let className: [UInt8]
    /// The types of the properties with single values; nil for links, mixed values and collections.
    let types: [PropertyType?]
    /// The index of each property by member name, for members that the options do not affect.
    let members: MemberNames
    private let unsetIsNil: [Bool]
    private let renaming: [String: String]

    enum Field: Hashable {
        case property(Int)
        /// A field that is not imported, because of an option or because the property is computed.
        case ignored
    }

    /// Creates the table; `inferred` maps fields whose names are not valid property names to properties.
    init(
        _ classSchema: ClassSchema, renaming given: [String: String],
        inferred: [String: String] = [:]
    ) {
        let renaming = inferred.merging(given) { $1 }
        self.classSchema = classSchema
        self.renaming = renaming
        className = Array(classSchema.name.utf8)
        types = classSchema.properties.map {
            $0.isSingle && $0.type != .object && $0.type != .mixed ? $0.type : nil
        }
        unsetIsNil = classSchema.properties.map {
            $0.isSingle && $0.isOptional && $0.defaultValue == nil && $0.type != .object
        }
        let fields = Dictionary(grouping: renaming.keys) { renaming[$0] ?? "" }
        members = MemberNames(
            classSchema.properties.map { property in
                // A property that is renamed, or that several fields set, is looked up with the options.
                guard let own = fields[property.name] else {
                    return renaming[property.name] == nil ? property.name : nil
                }
                return own.count == 1 ? own[0] : nil
            })
    }

    /// Returns the field for a member name on a tape.
    func field(_ tape: JSONTape, _ name: Int) throws -> Field {
        if let position = members.position(tape, name) {
            return isComputed(position) ? .ignored : .property(position)
        }
        return try field(tape.text(name))
    }

    /// Returns the field with a name.
    ///
    /// The field belongs to the property that the options specify, the property with the same name, or the property
    /// whose name results from replacing invalid characters, such as `unit_price` for `unit price`.
    ///
    /// Throws `unknown_property` with the most similar name and a suggested fix.
    func field(_ name: String) throws -> Field {
        if let wanted = renaming[name] {
            return wanted.isEmpty ? .ignored : try property(wanted, for: name)
        }
        if classSchema.position(of: name) == nil, !SchemaNames.isName(name) {
            let similar = SchemaNames.property(name)
            if classSchema.position(of: similar) != nil { return try property(similar, for: name) }
        }
        return try property(name, for: name)
    }

    /// Returns the field of a property, regardless of renamed fields.
    ///
    /// Throws the errors of ``field(_:)``.
    func property(_ wanted: String, for name: String? = nil) throws -> Field {
        guard let position = classSchema.position(of: wanted) else {
            let field = name ?? wanted
            let hint = NearestName.hint(
                for: wanted, among: classSchema.properties.map(\.name))
            throw StoreError(
                .unknownProperty,
                "'\(classSchema.name)' has no property '\(wanted)'\(hint)\(hint.isEmpty ? "; add" : " Add") "
                    + "--map \(field)=PROPERTY, or --map \(field)= to leave the field out (in Lua, map = …)"
            )
        }
        return isComputed(position) ? .ignored : .property(position)
    }

    /// Returns the field of a property that the options may have renamed; an empty name omits the field.
    ///
    /// Throws the errors of ``field(_:)``.
    func property(renamed wanted: String, for name: String) throws -> Field {
        wanted.isEmpty ? .ignored : try property(wanted, for: name)
    }

    /// Returns whether a property without a value becomes nil because it has no default.
    func isNilWhenUnset(_ position: Int) -> Bool { unsetIsNil[position] }

    private func isComputed(_ position: Int) -> Bool {
        classSchema.properties[position].isBacklinks
    }
}
