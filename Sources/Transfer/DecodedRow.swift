import DataFormats
import ObjectStore

/// A row of a file as values of a class.
struct DecodedRow {
    let classSchema: ClassSchema
    /// In schema order, nil for those that the row does not have.
    var values: [Value?]
    /// The number by which other rows of the file link to this one.
    var number: Int64?

    init(_ classSchema: ClassSchema) {
        self.classSchema = classSchema
        values = [Value?](repeating: nil, count: classSchema.properties.count)
    }

    var primaryKey: Value? {
        classSchema.properties.firstIndex(where: \.isPrimary).flatMap { values[$0] }
    }

    /// The values by name, without the primary key, which does not change.
    var valuesByName: [String: Value] {
        var named: [String: Value] = [:]
        for (property, value) in zip(classSchema.properties, values) where !property.isPrimary {
            named[property.name] = value
        }
        return named
    }
}

/// Which property a field of a file's rows is for.
final class FieldTable {
    let classSchema: ClassSchema
    private let spellings: [[UInt8]]
    private let renaming: [String: String]
    private var next = 0

    enum Field: Equatable {
        case property(Int)
        /// Left out, because an option says so or because it is computed.
        case ignored
    }

    init(_ classSchema: ClassSchema, renaming: [String: String]) {
        self.classSchema = classSchema
        self.renaming = renaming
        spellings = classSchema.properties.map { property in
            // A name that the options give to another field is not this one's.
            renaming[property.name] == nil ? Array(property.name.utf8) : []
        }
    }

    /// The field of a member's name on a tape.
    ///
    /// Rows mostly have their members in the same order, so the one after the last one found is tried first.
    func field(_ tape: JSONTape, _ name: Int) throws -> Field {
        if next < spellings.count, tape.equals(name, spellings[next]) {
            next += 1
            return isComputed(next - 1) ? .ignored : .property(next - 1)
        }
        let field = try field(tape.text(name))
        if case .property(let position) = field { next = position + 1 }
        return field
    }

    /// The field of this name.
    ///
    /// Throws `unknown_property` with the nearest name and a way out.
    func field(_ name: String) throws -> Field {
        let wanted = renaming[name] ?? name
        if wanted.isEmpty { return .ignored }
        guard let position = classSchema.position(of: wanted) else {
            let known = classSchema.properties.map(\.name)
            throw StoreError(
                .unknownProperty,
                "'\(classSchema.name)' has no property '\(wanted)'"
                    + NearestName.hint(for: wanted, among: known)
                    + "; map '\(name)' to a property, or to nothing to leave it out")
        }
        return isComputed(position) ? .ignored : .property(position)
    }

    /// Begins with the first property again.
    func startRow() { next = 0 }

    private func isComputed(_ position: Int) -> Bool {
        classSchema.properties[position].isBacklinks
    }
}
