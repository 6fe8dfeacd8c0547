import DataFormats
import ObjectStore

/// Which property a field of a file's rows is for.
final class FieldTable {
    let classSchema: ClassSchema
    /// The class's name.
    let className: [UInt8]
    /// The types of the single properties, nil for what is more than a value.
    let types: [PropertyType?]
    /// The properties by the names of members; those are none that an option gives a meaning.
    let members: MemberNames
    private let renaming: [String: String]

    enum Field: Equatable {
        case property(Int)
        /// Left out, because an option says so or because it is computed.
        case ignored
    }

    init(_ classSchema: ClassSchema, renaming: [String: String]) {
        self.classSchema = classSchema
        self.renaming = renaming
        className = Array(classSchema.name.utf8)
        types = classSchema.properties.map {
            $0.isSingle && $0.type != .object && $0.type != .mixed ? $0.type : nil
        }
        // A name that the options give to another field is not this one's, nor is one they give a new meaning.
        members = MemberNames(
            classSchema.properties.map { renaming[$0.name] == nil ? $0.name : nil })
    }

    /// The field of a member's name on a tape.
    func field(_ tape: JSONTape, _ name: Int) throws -> Field {
        if let position = members.position(tape, name) {
            return isComputed(position) ? .ignored : .property(position)
        }
        return try field(tape.text(name))
    }

    /// The field of this name.
    ///
    /// Throws `unknown_property` with the nearest name and a way out.
    func field(_ name: String) throws -> Field {
        let wanted = renaming[name] ?? name
        if wanted.isEmpty { return .ignored }
        return try property(wanted, for: name)
    }

    /// The field of a property, whatever was renamed.
    ///
    /// Throws as ``field(_:)``.
    func property(_ wanted: String, for name: String? = nil) throws -> Field {
        guard let position = classSchema.position(of: wanted) else {
            let known = classSchema.properties.map(\.name)
            throw StoreError(
                .unknownProperty,
                "'\(classSchema.name)' has no property '\(wanted)'"
                    + NearestName.hint(for: wanted, among: known)
                    + "; map '\(name ?? wanted)' to a property, or to an empty name to skip it")
        }
        return isComputed(position) ? .ignored : .property(position)
    }

    private func isComputed(_ position: Int) -> Bool {
        classSchema.properties[position].isBacklinks
    }
}
