import DataFormats
import ObjectStore

/// Maps the fields of a file's rows to properties.
final class FieldTable {
    let classSchema: ClassSchema
    /// The class's name.
    let className: [UInt8]
    /// The types of the single properties, nil for links, mixed values and collections.
    let types: [PropertyType?]
    /// The properties by member name, for members that need no look at the options.
    let members: MemberNames
    private let unsetIsNil: [Bool]
    private let renaming: [String: String]

    enum Field: Hashable {
        case property(Int)
        /// Left out, because of an option or because the property is computed.
        case ignored
    }

    /// `inferred` are the properties of fields whose names are not valid for a property.
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

    /// The field of a member's name on a tape.
    func field(_ tape: JSONTape, _ name: Int) throws -> Field {
        if let position = members.position(tape, name) {
            return isComputed(position) ? .ignored : .property(position)
        }
        return try field(tape.text(name))
    }

    /// Returns the field of this name: the property that the options name, the property of the same name, or the one
    /// that a name with other characters would become, such as `unit_price` for `unit price`.
    ///
    /// Throws `unknown_property` with the nearest name and a fix.
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
    /// Throws as ``field(_:)``.
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

    /// Returns the field of a property that the options may have renamed; an empty name leaves the field out.
    ///
    /// Throws as ``field(_:)``.
    func property(renamed wanted: String, for name: String) throws -> Field {
        wanted.isEmpty ? .ignored : try property(wanted, for: name)
    }

    /// Whether a property without a value becomes nil because it has no default.
    func isNilWhenUnset(_ position: Int) -> Bool { unsetIsNil[position] }

    private func isComputed(_ position: Int) -> Bool {
        classSchema.properties[position].isBacklinks
    }
}
