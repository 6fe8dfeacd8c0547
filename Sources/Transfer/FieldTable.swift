import DataFormats
import ObjectStore

/// Maps the fields of a file's rows to properties.
final class FieldTable {
    let classSchema: ClassSchema
    /// The name of the class.
    let className: [UInt8]
    /// The types of the properties with single values; nil for links, mixed values and collections.
    let types: [PropertyType?]
    /// The index of each property by member name, for members that need no decision.
    private(set) var members: MemberNames
    private let unsetIsNil: [Bool]
    private let renaming: [String: String]
    /// The fields in the options that no row has had so far.
    private var unused: Set<String>
    private let noteUse: (String) -> Void
    /// The fields that were mapped to a property with a similar name, by property.
    private var similarFields: [String: String] = [:]

    enum Field: Hashable {
        case property(Int)
        /// A field that is not imported, because of an option or because the property is computed.
        case ignored
    }

    /// Creates the table; `inferred` maps fields whose names are not valid property names to properties.
    ///
    /// `noteUse` receives each field in `given` that a row has.
    init(
        _ classSchema: ClassSchema, renaming given: [String: String],
        inferred: [String: String] = [:], noteUse: @escaping (String) -> Void
    ) {
        let renaming = inferred.merging(given) { $1 }
        unused = Set(given.keys)
        self.noteUse = noteUse
        self.classSchema = classSchema
        self.renaming = renaming
        className = Array(classSchema.name.utf8)
        types = classSchema.properties.map {
            $0.isSingle && $0.type != .object && $0.type != .mixed ? $0.type : nil
        }
        unsetIsNil = classSchema.properties.map {
            $0.isSingle && $0.isOptional && $0.defaultValue == nil && $0.type != .object
        }
        members = Self.members(classSchema, renaming, except: unused)
    }

    private static func members(
        _ classSchema: ClassSchema, _ renaming: [String: String], except unused: Set<String>
    ) -> MemberNames {
        let fields = Dictionary(grouping: renaming.keys) { renaming[$0] ?? "" }
        return MemberNames(
            classSchema.properties.map { property in
                // A property that is renamed, or that several fields set, is looked up with the options.
                guard let own = fields[property.name] else {
                    return renaming[property.name] == nil ? property.name : nil
                }
                return own.count == 1 && !unused.contains(own[0]) ? own[0] : nil
            })
    }

    /// Returns the field for a member name on a tape.
    func field(_ tape: JSONTape, _ name: Int) throws -> Field {
        if let position = members.position(tape, name) {
            return isComputed(position) ? .ignored : .property(position)
        }
        let name = tape.text(name)
        if unused.remove(name) != nil {
            noteUse(name)
            members = Self.members(classSchema, renaming, except: unused)
        }
        return try field(name)
    }

    /// Returns the field with a name.
    ///
    /// The field belongs to the property that the options specify, the property with the same name, or the property
    /// whose name results from replacing invalid characters, such as `unit_price` for `unit price`.
    ///
    /// Throws `unknown_property` with the most similar name and a suggested fix, and a `FormatError` if several properties
    /// or several fields have similar names.
    private func field(_ name: String) throws -> Field {
        if let wanted = renaming[name] {
            return wanted.isEmpty ? .ignored : try property(wanted, for: name)
        }
        if classSchema.position(of: name) == nil, !SchemaNames.isName(name) {
            let similar = SchemaNames.property(name)
            if classSchema.position(of: similar) != nil {
                try checkSimilar(similar, name)
                return try property(similar, for: name)
            }
        }
        return try property(name, for: name)
    }

    /// Throws a `FormatError` unless a field can only mean the property with this similar name.
    private func checkSimilar(_ property: String, _ name: String) throws {
        let other = ColumnNames.numbered(property, 2)
        if classSchema.position(of: other) != nil {
            throw FormatError(
                "the field '\(name)' could be '\(property)' or '\(other)'; add --map '\(name)=PROPERTY'"
            )
        }
        let first = similarFields[property] ?? name
        similarFields[property] = first
        guard first != name else { return }
        throw FormatError(
            "two fields map to '\(property)': '\(first)' and '\(name)'; add --map '\(name)=PROPERTY'"
        )
    }

    /// Returns the field of a property, regardless of renamed fields.
    ///
    /// Throws the errors of ``field(_:)``.
    func property(_ wanted: String, for name: String? = nil) throws -> Field {
        guard let position = classSchema.position(of: wanted) else {
            let field = name ?? wanted
            let quote = SchemaNames.isName(field) ? "" : "'"
            let hint = NearestName.hint(
                for: wanted, among: classSchema.properties.map(\.name))
            throw StoreError(
                .unknownProperty,
                "'\(classSchema.name)' has no property '\(wanted)'\(hint)\(hint.isEmpty ? "; add" : " Add") "
                    + "--map \(quote)\(field)=PROPERTY\(quote), or --map \(quote)\(field)=\(quote) to leave the field out (in Lua, map = …)"
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
