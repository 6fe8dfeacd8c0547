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
    /// The class's name.
    let className: [UInt8]
    /// The types of the single properties, nil for what is more than a value.
    let types: [PropertyType?]
    private let spellings: [[UInt8]]
    private let renaming: [String: String]
    /// The properties of the members of the rows before, in their order.
    private var order: [Int] = []
    private var member = 0

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
        spellings = classSchema.properties.map { property in
            // A name that the options give to another field is not this one's, nor is one they give a new meaning.
            renaming[property.name] == nil ? Array(property.name.utf8) : []
        }
    }

    /// The property of a member's name on a tape; nil for a name that is none, or that an option gives a meaning.
    ///
    /// Rows mostly have their members in the same order: what stood here in the row before is tried first.
    @inline(__always)
    func position(_ tape: JSONTape, _ name: Int) -> Int? {
        if member < order.count, tape.equals(name, spellings[order[member]]) {
            member += 1
            return order[member - 1]
        }
        return search(tape, name)
    }

    private func search(_ tape: JSONTape, _ name: Int) -> Int? {
        let found = spellings.indices.first {
            !spellings[$0].isEmpty && tape.equals(name, spellings[$0])
        }
        guard let found else { return nil }
        if member < order.count { order[member] = found } else { order.append(found) }
        member += 1
        return found
    }

    /// The field of a member's name on a tape.
    func field(_ tape: JSONTape, _ name: Int) throws -> Field {
        if let position = position(tape, name) {
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
                    + "; map '\(name ?? wanted)' to a property, or to nothing to leave it out")
        }
        return isComputed(position) ? .ignored : .property(position)
    }

    /// Begins with the first member again.
    func startRow() { member = 0 }

    private func isComputed(_ position: Int) -> Bool {
        classSchema.properties[position].isBacklinks
    }
}
