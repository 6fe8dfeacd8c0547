import DataFormats
import ObjectStore

/// Maps the fields of a file's rows to properties.
final class FieldTable {
    let classSchema: ClassSchema
    /// The name of the class.
    let className: [UInt8]
    /// The types of the properties with single values; nil for links, mixed values and collections.
    let types: [PropertyType?]
    /// The rules of the class; nil if it has none.
    let rules: ObjectRules?
    /// The index of each property by member name, for members that need no decision.
    private(set) var members: MemberNames
    private let unsetIsNil: [Bool]
    private let renaming: [String: String]
    /// The fields in the options that no row has had so far.
    private var unused: Set<String>
    private let recordUse: (String) -> Void
    /// The fields that were mapped to a property with a similar name, by property.
    private var similarFields: [String: String] = [:]

    enum Field: Hashable {
        case property(Int)
        /// A field that is not imported, because of an option or because the property is computed.
        case ignored
    }

    /// Creates the table; `inferred` maps fields whose names are not valid property names to properties.
    ///
    /// `recordUse` receives each field in `given` that a row has.
    init(
        _ classSchema: ClassSchema, renaming given: [String: String],
        inferred: [String: String] = [:], recordUse: @escaping (String) -> Void
    ) throws {
        let renaming = inferred.merging(given) { $1 }
        unused = Set(given.keys)
        self.recordUse = recordUse
        self.classSchema = classSchema
        self.renaming = renaming
        className = Array(classSchema.name.utf8)
        rules = try ObjectRules(classSchema)
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
            recordUse(name)
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
                "'\(classSchema.name)' has no property '\(wanted)'\(hint)\(hint.hasSuffix("?") ? " Add" : "; add") "
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

/// Converts names of tables and columns to names of classes and properties.
enum SchemaNames {
    /// Converts `order_items` to `OrderItems`.
    static func className(_ table: String) -> String {
        let words = table.unicodeScalars.split { !isWordPart($0) || $0 == "_" }
        let name = words.map { word in
            let text = String(String.UnicodeScalarView(word))
            return text.prefix(1).uppercased() + text.dropFirst()
        }.joined()
        let isUpper = name.unicodeScalars.first?.properties.isUppercase ?? false
        return limited(isUpper ? name : "Table" + name)
    }

    /// Returns whether a property can have this name.
    static func isName(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, !("0"..."9").contains(first) else {
            return false
        }
        return name.utf8.count <= 200 && name.unicodeScalars.allSatisfy(isWordPart)
    }

    /// Converts `unit price` to `unit_price`.
    static func property(_ column: String) -> String {
        var name = String.UnicodeScalarView()
        for scalar in column.unicodeScalars { name.append(isWordPart(scalar) ? scalar : "_") }
        let isDigit = name.first.map { ("0"..."9").contains($0) } ?? true
        return limited((isDigit ? "_" : "") + String(name))
    }

    /// Converts `owner_id` and `ownerId` to `owner`; nil for other names.
    static func linkName(_ property: String) -> String? {
        for suffix in ["_id", "_ID", "Id", "ID"]
        where property.hasSuffix(suffix) && property.count > suffix.count {
            let name = String(property.dropLast(suffix.count))
            return name.hasSuffix("_") ? nil : name
        }
        return nil
    }

    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
    }

    private static func limited(_ name: String) -> String {
        var name = name
        while name.utf8.count > 200 { name.removeLast() }
        return name
    }
}

/// The rules of a property as constraints of its column, as far as SQL can express them exactly.
///
/// A constraint never refuses a value that the store accepts. Lua patterns, and numbers and dates that the database
/// stores or compares in another form, have no constraint.
struct RuleConstraints {
    let property: Property
    /// The quoted name of the column.
    let column: String
    /// The type of an array column; nil for single values.
    var arrayType: String?
    /// Returns the literal of a value that the database compares as the store does; nil if there is none.
    let literal: (Value) -> String?

    /// The conditions that all values fulfill; NULL passes each of them.
    var checks: [String] {
        let rules = property.rules
        var checks: [String] = []
        for (limit, comparison) in [(rules.minimum, "<="), (rules.maximum, ">=")] {
            guard let limit = limit.flatMap(literal) else { continue }
            checks.append("\(limit) \(comparison) \(arrayType == nil ? column : "ALL (\(column))")")
        }
        let allowed = rules.allowed.filter { $0 != .null }
        let literals = allowed.compactMap(literal)
        if !allowed.isEmpty, literals.count == allowed.count {
            let list = literals.joined(separator: ", ")
            checks.append(
                arrayType.map { "array_remove(\(column), NULL) <@ ARRAY[\(list)]::\($0)" }
                    ?? "\(column) IN (\(list))")
        }
        return checks.map { "CHECK (\($0))" }
    }

    /// Returns whether a number has so few digits that every database reads it as the same double.
    static func isShort(_ number: Double) -> Bool {
        let digits = number.description.utf8.count { $0 >= UInt8(ascii: "0") }
        return number.isFinite && digits <= 15
            && !number.description.utf8.contains(UInt8(ascii: "e"))
    }
}

extension ClassSchema {
    /// The indexes that a table of the class has: the names of properties, and whether their values are unique.
    var tableIndexes: [(names: [String], isUnique: Bool)] {
        properties.filter { ($0.isIndexed || $0.rules.isUnique) && !$0.isPrimary }
            .map { ([$0.name], $0.rules.isUnique) }
            + indexes.map { ($0.properties, $0.isUnique) }
    }
}
