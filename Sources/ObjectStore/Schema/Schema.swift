import ColumnStorage

/// The classes of a store, as stored in its file.
///
/// A schema is immutable; a change creates another one.
public final class Schema: Sendable {
    /// The classes in the order of their names.
    public let classes: [ClassSchema]
    /// The schema version, which migrations increase; 0 by default.
    public let version: UInt64
    /// The number of the next new table; the numbers of removed tables are not reused.
    let nextTable: UInt32

    /// The classes whose objects are checked at the end of a write: those with rules or a unique index.
    let classesWithRules: [ClassSchema]

    /// The classes that were removed while the store was open, for messages.
    let lost: LostNames

    private let positions: [String: Int]
    /// The classes by the numbers of their tables.
    private let classesByTable: [ClassSchema?]
    private let incoming: [TableID: [LinkSource]]
    private let embedding: [TableID: [Property]]
    private let owning: [TableID: [Property]]

    /// A property whose links lead to a given class, with its class.
    package struct LinkSource: Hashable, Sendable {
        /// The class that contains the links.
        package let classSchema: ClassSchema
        /// The to-one link or list of links.
        package let property: Property
    }

    init(
        classes: [ClassSchema], version: UInt64, nextTable: UInt32, lost: LostNames = LostNames()
    ) {
        self.lost = lost
        let sorted = classes.sorted { $0.name < $1.name }
        self.classes = sorted
        classesWithRules = sorted.filter { classSchema in
            classSchema.indexes.contains(where: \.isUnique)
                || classSchema.properties.contains {
                    $0.rules.hasValueRules || $0.rules.isUnique
                }
        }
        self.version = version
        self.nextTable = nextTable
        positions = Dictionary(
            sorted.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        let bound = sorted.map(\.table).filter { $0 != .unassigned }.max().map { $0.rawValue + 1 }
        var classesByTable = [ClassSchema?](repeating: nil, count: Int(bound ?? 0))
        for classSchema in sorted where classSchema.table != .unassigned {
            classesByTable[Int(classSchema.table.rawValue)] = classSchema
        }
        self.classesByTable = classesByTable
        var incoming: [TableID: [LinkSource]] = [:]
        let tables = Dictionary(sorted.map { ($0.name, $0.table) }, uniquingKeysWith: { a, _ in a })
        for classSchema in sorted {
            for property in classSchema.properties where property.type == .object {
                guard let target = property.target, let table = tables[target] else { continue }
                incoming[table, default: []].append(
                    LinkSource(classSchema: classSchema, property: property))
            }
        }
        self.incoming = incoming
        let embedded = Set(sorted.lazy.filter(\.isEmbedded).map(\.name))
        var embedding: [TableID: [Property]] = [:]
        var owning: [TableID: [Property]] = [:]
        for classSchema in sorted {
            for property in classSchema.properties where property.type == .object {
                let isEmbedded = property.target.map(embedded.contains) == true
                if isEmbedded { embedding[classSchema.table, default: []].append(property) }
                if isEmbedded || property.rules.ownsObjects {
                    owning[classSchema.table, default: []].append(property)
                }
            }
        }
        self.embedding = embedding
        self.owning = owning
    }

    /// The schema of a new, empty file.
    package static let empty = Schema(classes: [], version: 0, nextTable: 0)

    /// Returns the schema of an empty file with these classes, to check names and predicates without a file.
    ///
    /// Throws `invalid_schema` with all errors.
    package static func planned(_ classes: [ClassSchema]) throws -> Schema {
        try SchemaValidation.check(classes)
        return try SchemaChange(from: .empty, to: classes, version: 0, allowing: .newVersion)
            .schema
    }

    /// Returns the class with a name, or nil.
    ///
    /// Takes constant time.
    public func find(_ name: String) -> ClassSchema? {
        // Comparing a few short names takes less time than hashing one.
        if classes.count <= Self.few {
            let length = name.utf8.count
            for known in classes where known.name.utf8.count == length && known.name == name {
                return known
            }
        }
        return positions[name].map { classes[$0] }
    }

    private static let few = 8

    /// Returns the class whose objects a table contains, or nil.
    ///
    /// Takes constant time.
    package func find(table: TableID) -> ClassSchema? {
        let index = Int(table.rawValue)
        return index < classesByTable.count ? classesByTable[index] : nil
    }

    /// Returns every to-one link and list of links whose targets are in a table.
    package func links(to table: TableID) -> [LinkSource] {
        incoming[table] ?? []
    }

    /// The mixed properties of all classes; each of them may contain links to any object.
    var mixedProperties: [LinkSource] {
        classes.flatMap { classSchema in
            classSchema.properties.filter { $0.type == .mixed }.map {
                LinkSource(classSchema: classSchema, property: $0)
            }
        }
    }

    /// Returns the properties of a table's class that contain embedded objects.
    func embeddingProperties(of table: TableID) -> [Property] {
        embedding.isEmpty ? [] : embedding[table] ?? []
    }

    /// Returns the properties of a table's class whose objects may be deleted with their owner: embedded and owned ones.
    func owningProperties(of table: TableID) -> [Property] {
        owning.isEmpty ? [] : owning[table] ?? []
    }

    /// Returns the class with a name.
    ///
    /// Throws `unknown_class` with the most similar known name.
    package func require(_ name: String) throws -> ClassSchema {
        if let found = find(name) { return found }
        let known = classes.map(\.name)
        throw StoreError(
            .unknownClass,
            known.isEmpty
                ? "there is no class '\(name)'\(lost.since(name)): the store has no classes"
                : "there is no class '\(name)'\(lost.since(name))"
                    + NearestName.hint(for: name, among: known))
    }

    /// Returns the target class of a link, a list of links or a backlinks property; nil for values.
    package func target(of property: Property) -> ClassSchema? {
        property.target.flatMap(find)
    }

    /// The storage's definitions of the tables.
    var tableDefinitions: [TableDefinition] {
        classes.map(tableDefinition)
    }

    func tableDefinition(of classSchema: ClassSchema) -> TableDefinition {
        var columns = (0..<classSchema.columnCount).map {
            ColumnDefinition(
                id: ColumnID(rawValue: $0), kind: .bool, isOptional: false, index: .none,
                elementKind: nil, elementIsOptional: false, target: nil, isDropped: true)
        }
        for property in classSchema.properties {
            let target = property.target.flatMap(find)?.table
            if let column = property.columnDefinition(target: target) {
                columns[property.column.rawValue] = column
                for contents in column.contentsColumns { columns[contents.id.rawValue] = contents }
            }
        }
        assert(
            columns.indices.allSatisfy { columns[$0].id.rawValue == $0 },
            "each column is at its number")
        return TableDefinition(
            id: classSchema.table, columns: columns,
            compositeIndexes: classSchema.compositeIndexDefinitions)
    }
}

/// Finds the name that a misspelled name probably means.
package enum NearestName {
    /// Returns the known name with the fewest typing errors; nil if no name is similar enough.
    ///
    /// A name of more than 200 bytes is not considered a misspelling.
    package static func find(_ name: String, among known: [String]) -> String? {
        guard name.utf8.count <= 200 else { return nil }
        let limit = max(1, min(3, name.count / 2))
        let typed = Array(name.lowercased().unicodeScalars)
        return
            known
            .map { ($0, distance(typed, Array($0.lowercased().unicodeScalars))) }
            .filter { $0.1 <= limit }
            .min { ($0.1, $0.0) < ($1.1, $1.0) }?
            .0
    }

    /// Returns the end of a message: `; did you mean 'name'?`, or the known names if there are few.
    package static func hint(for name: String, among known: [String]) -> String {
        if let nearest = find(name, among: known) { return "; did you mean '\(nearest)'?" }
        guard !known.isEmpty, known.count <= 8 else { return "" }
        return "; it has " + known.map { "'\($0)'" }.joined(separator: ", ")
    }

    /// Returns the number of typing errors between two names, ignoring case.
    package static func distance(between left: String, and right: String) -> Int {
        distance(Array(left.lowercased().unicodeScalars), Array(right.lowercased().unicodeScalars))
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighboring letters between two names.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                let replaced = previous[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(previous[column + 1] + 1, current[column] + 1, replaced)
                if row > 0, column > 0, left[row] == right[column - 1],
                    left[row - 1] == right[column]
                {
                    best = min(best, beforePrevious[column - 1] + 1)
                }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
