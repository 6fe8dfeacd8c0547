import ColumnStorage

/// The encoding of the schema in the file: one small blob, written in the transaction that changes the schema.
enum SchemaCatalog {
    /// The name of the blob in the file's metadata.
    static let name = "schema"

    private static let format: UInt64 = 1
    /// The format of a schema with rules, which follow each property.
    private static let formatWithRules: UInt64 = 2
    /// The format of two schemas, while a migration is started.
    private static let formatOfTwo: UInt64 = 3

    /// Returns the schemas of a snapshot; an empty schema if none was stored yet.
    static func read(_ snapshot: Snapshot) throws -> FileSchema {
        guard let bytes = try bytes(snapshot) else { return FileSchema(.empty) }
        return try decodeFile(bytes, of: snapshot.file)
    }

    /// Decodes the schema of a file; if the bytes are damaged, the error names the file.
    static func decode(_ bytes: [UInt8], of file: ColumnFile) throws -> Schema {
        try StoreError.decoding(bytes, "schema", of: file, decode)
    }

    /// Decodes the schemas of a file; no bytes are an empty schema.
    static func decodeFile(_ bytes: [UInt8], of file: ColumnFile) throws -> FileSchema {
        guard let first = bytes.first else { return FileSchema(.empty) }
        guard UInt64(first) == formatOfTwo else { return FileSchema(try decode(bytes, of: file)) }
        return try StoreError.decoding(bytes, "schema", of: file) { reader in
            _ = try reader.number()
            let (old, new) = (try reader.data(), try reader.data())
            return FileSchema(
                try decode(old, of: file),
                try decodeTransition(&reader, to: decode(new, of: file)))
        }
    }

    private static func decodeTransition(
        _ reader: inout ByteReader, to new: Schema
    ) throws -> SchemaTransition {
        var transition = SchemaTransition(
            new: new, isReady: try reader.number() == 1, number: try reader.number(as: Int.self),
            name: try reader.text(), checksum: try reader.text(),
            startedAt: Timestamp(microseconds: Int64(bitPattern: try reader.number())),
            total: try reader.number(as: Int.self), pairs: [])
        transition.pairs = try (0..<(try reader.count())).map { _ in
            SchemaTransition.Pair(
                table: TableID(rawValue: try reader.number(as: UInt32.self)),
                old: ColumnID(rawValue: try reader.number(as: Int.self)),
                new: ColumnID(rawValue: try reader.number(as: Int.self)))
        }
        for _ in 0..<(try reader.count()) {
            let table = TableID(rawValue: try reader.number(as: UInt32.self))
            let directions = try reader.byte()
            transition.functions[table] = SchemaTransition.Functions(
                up: directions & 1 != 0, down: directions & 2 != 0)
        }
        return transition
    }

    static func encode(_ file: FileSchema) -> [UInt8] {
        guard let transition = file.transition else { return encode(file.old) }
        var writer = ByteWriter()
        writer.number(formatOfTwo)
        writer.data(encode(file.old))
        writer.data(encode(transition.new))
        writer.number(transition.isReady ? 1 : 0)
        writer.number(UInt64(max(transition.number, 0)))
        writer.text(transition.name)
        writer.text(transition.checksum)
        writer.number(UInt64(bitPattern: transition.startedAt.microseconds))
        writer.number(UInt64(max(transition.total, 0)))
        writer.number(UInt64(transition.pairs.count))
        for pair in transition.pairs {
            writer.number(UInt64(pair.table.rawValue))
            writer.number(UInt64(pair.old.rawValue))
            writer.number(UInt64(pair.new.rawValue))
        }
        writer.number(UInt64(transition.functions.count))
        for (table, functions) in transition.functions.sorted(by: { $0.key < $1.key }) {
            writer.number(UInt64(table.rawValue))
            writer.byte((functions.up ? 1 : 0) | (functions.down ? 2 : 0))
        }
        return writer.bytes
    }

    /// Returns the blob of a snapshot; nil if no schema was stored yet.
    static func bytes(_ snapshot: Snapshot) throws -> [UInt8]? {
        try StoreError.wrapping(snapshot.metadata(name))
    }

    static func encode(_ schema: Schema) -> [UInt8] {
        var writer = ByteWriter()
        let hasRules = schema.classes.contains {
            $0.properties.contains { !$0.rules.isEmpty }
        }
        writer.number(hasRules ? formatWithRules : format)
        writer.number(schema.version)
        writer.number(UInt64(schema.nextTable))
        writer.number(UInt64(schema.classes.count))
        for classSchema in schema.classes {
            writer.text(classSchema.name)
            writer.number(UInt64(classSchema.table.rawValue))
            writer.number(UInt64(classSchema.columnCount))
            writer.byte(classSchema.isEmbedded ? 1 : 0)
            writer.number(UInt64(classSchema.properties.count))
            for property in classSchema.properties {
                encode(property, &writer)
                if hasRules { encode(property.rules, &writer) }
            }
            writer.number(UInt64(classSchema.indexes.count))
            for index in classSchema.indexes {
                writer.number(UInt64(index.id))
                writer.number(UInt64(index.properties.count) | (index.isUnique ? uniqueMark : 0))
                for name in index.properties { writer.text(name) }
            }
        }
        return writer.bytes
    }

    private static func decode(_ reader: inout ByteReader) throws -> Schema {
        let stored = try reader.number()
        guard [format, formatWithRules].contains(stored) else {
            throw StoreError(
                .fileFormatTooNew,
                "the file's schema was written by a newer Moonpool; update to open it")
        }
        let version = try reader.number()
        let nextTable = try reader.number(as: UInt32.self)
        var classes: [ClassSchema] = []
        for _ in 0..<(try reader.count()) {
            let name = try reader.text()
            let table = TableID(rawValue: try reader.number(as: UInt32.self))
            guard table.rawValue < TableID.limit else { throw reader.damaged }
            let columnCount = try reader.number(as: Int.self)
            guard columnCount < ColumnID.limit else { throw reader.damaged }
            let isEmbedded = try reader.byte() != 0
            let count = try reader.count()
            let properties = try (0..<count).map { _ in
                var property = try decodeProperty(&reader)
                if stored == formatWithRules { property.rules = try decodeRules(&reader) }
                guard property.isBacklinks || (0..<columnCount).contains(property.column.rawValue)
                else { throw reader.damaged }
                if let contents = property.contents {
                    let last = contents.rawValue + (property.isMap ? 1 : 0)
                    guard property.collection != nil, contents.rawValue >= 0, last < columnCount
                    else { throw reader.damaged }
                }
                return property
            }
            let classSchema = ClassSchema(
                name, properties, table: table, columnCount: columnCount, isEmbedded: isEmbedded,
                indexes: try decodeIndexes(&reader))
            guard classSchema.indexes.allSatisfy({ $0.fault(in: classSchema) == nil }) else {
                throw reader.damaged
            }
            classes.append(classSchema)
        }
        return Schema(classes: classes, version: version, nextTable: nextTable)
    }

    private static func decodeIndexes(_ reader: inout ByteReader) throws -> [CompositeIndex] {
        try (0..<(try reader.count())).map { _ in
            let id = try reader.number(as: Int.self)
            guard id < ColumnID.limit else { throw reader.damaged }
            let marked = try reader.number()
            let count = try Int(exactly: marked & ~uniqueMark).orThrow(reader.damaged)
            guard count <= CompositeIndex.maxProperties else { throw reader.damaged }
            return CompositeIndex(
                try (0..<count).map { _ in try reader.text() },
                isUnique: marked & uniqueMark != 0, id: id)
        }
    }

    /// The number that is added to the number of properties of a unique index.
    private static let uniqueMark: UInt64 = 64

    private enum Flag {
        static let optional: UInt64 = 1
        static let primary: UInt64 = 2
        static let indexed: UInt64 = 4
        static let fullText: UInt64 = 8
        static let contents: UInt64 = 256
    }

    private static func encode(_ property: Property, _ writer: inout ByteWriter) {
        writer.text(property.name)
        writer.text(property.storedName)
        writer.text(property.type.rawValue)
        writer.number(
            (property.isOptional ? Flag.optional : 0)
                | (property.isPrimary ? Flag.primary : 0)
                | (property.isIndexed ? Flag.indexed : 0)
                | (property.isFullText ? Flag.fullText : 0)
                | (property.contents != nil ? Flag.contents : 0))
        writer.byte(property.collection?.rawValue ?? 0)
        writer.text(property.target ?? "")
        writer.text(property.origin?.property ?? "")
        writer.number(UInt64(property.column.rawValue + 1))
        if let contents = property.contents { writer.number(UInt64(contents.rawValue)) }
        if let value = property.defaultValue {
            writer.byte(1)
            ValueCoding.encode(value, &writer)
        } else {
            writer.byte(0)
        }
    }

    /// Writes the number of rules, and the name and the value of each.
    private static func encode(_ rules: PropertyRules, _ writer: inout ByteWriter) {
        writer.number(UInt64(rules.options.count))
        for (name, value) in rules.options {
            writer.text(name)
            ValueCoding.encode(value, &writer)
        }
    }

    private static func decodeRules(_ reader: inout ByteReader) throws -> PropertyRules {
        var rules = PropertyRules()
        for _ in 0..<(try reader.count()) {
            let name = try reader.text()
            guard PropertyRules.optionNames.contains(name) else { throw reader.damaged }
            try rules.set(name, to: ValueCoding.decode(&reader), of: "the schema")
        }
        return rules
    }

    private static func decodeProperty(_ reader: inout ByteReader) throws -> Property {
        let name = try reader.text()
        let storedName = try reader.text()
        let type = try PropertyType(rawValue: reader.text()).orThrow(reader.damaged)
        let flags = try reader.number()
        let collectionCode = try reader.byte()
        let collection =
            try collectionCode == 0
            ? nil : CollectionKind(rawValue: collectionCode).orThrow(reader.damaged)
        let target = try reader.text()
        let originProperty = try reader.text()
        let column = try reader.number(as: Int.self) - 1
        let contents =
            flags & Flag.contents == 0 ? nil : ColumnID(rawValue: try reader.number(as: Int.self))
        let value = try reader.byte() == 1 ? ValueCoding.decode(&reader) : nil
        let origin =
            originProperty.isEmpty
            ? nil : Property.Origin(className: target, property: originProperty)
        var property = Property(
            name, type, isOptional: flags & Flag.optional != 0, collection: collection,
            target: target.isEmpty ? nil : target, isPrimary: flags & Flag.primary != 0,
            isIndexed: flags & Flag.indexed != 0, isFullText: flags & Flag.fullText != 0,
            defaultValue: value, origin: origin)
        property.storedName = storedName
        property.column = ColumnID(rawValue: column)
        property.contents = contents
        return property
    }
}

/// The schemas of a file: one, and a second one while a migration is started and not complete.
///
/// Both schemas name the columns of the same tables, so reads need no translation. A store uses one of them for all its
/// life; only the storage knows the columns of both.
struct FileSchema: Sendable {
    /// The schema of programs that do not name the version of the other one.
    let old: Schema
    /// The started migration; nil for a file with one schema.
    let transition: SchemaTransition?
    /// Whether the store uses the new schema of the started migration.
    private(set) var isNewVersion = false

    init(_ schema: Schema, _ transition: SchemaTransition? = nil) {
        old = schema
        self.transition = transition
    }

    /// Chooses the schema of a store with this configuration.
    ///
    /// Throws `schema_in_transition` while objects are not converted yet.
    mutating func choose(for configuration: StoreConfiguration, _ snapshot: Snapshot) throws {
        guard let transition, configuration.schemaVersion == transition.new.version else { return }
        guard transition.isReady else {
            let done = try MigrationProgress.read(snapshot).convertedCount
            throw StoreError(
                .schemaInTransition,
                "\(transition.title) has converted \(done) of \(transition.total) objects",
                advice:
                    "continue it with moonpool migrate start, and open the store when it has ended")
        }
        isNewVersion = true
    }

    /// Returns the same schemas for a store that has used others before: it keeps its version while the same migration
    /// is started.
    func following(_ known: FileSchema) -> FileSchema {
        var result = self
        result.isNewVersion =
            known.isNewVersion && known.transition?.startedAt == transition?.startedAt
        assert(
            !result.isNewVersion || result.transition != nil,
            "the new schema is that of a started migration")
        return result
    }

    /// The schema of the store.
    var schema: Schema { isNewVersion ? transition?.new ?? old : old }

    /// All schemas, that of the store first.
    var all: [Schema] {
        guard let transition else { return [old] }
        return isNewVersion ? [transition.new, old] : [old, transition.new]
    }

    /// Returns whether objects of a table can be deleted with their owners of another one, in any schema.
    func owns(from table: TableID) -> Bool {
        !old.owningProperties(of: table).isEmpty
            || transition?.new.owningProperties(of: table).isEmpty == false
    }

    /// The storage's definitions of the tables, with the columns and the indexes of both schemas.
    var tableDefinitions: [TableDefinition] {
        guard let transition else { return old.tableDefinitions }
        var tables = Dictionary(
            old.tableDefinitions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for definition in transition.new.tableDefinitions {
            tables[definition.id] =
                tables[definition.id].map {
                    $0.union(
                        transition.isReady ? definition : definition.awaitingValues(beside: $0))
                } ?? definition
        }
        let hidden = Set(tables.keys).subtracting(schema.classes.map(\.table))
        for source in hidden.isEmpty ? [] : schema.mixedProperties {
            tables[source.classSchema.table]?.hiddenTables = hidden
        }
        return tables.values.sorted { $0.id < $1.id }
    }
}

extension TableDefinition {
    /// Returns the definition for the time in which rows have no values in indexed columns that another definition does
    /// not have.
    ///
    /// These columns are optional, so that their indexes have entries of converted objects only: otherwise, the first
    /// transaction of a migration would add an entry for each object.
    fileprivate func awaitingValues(beside other: TableDefinition) -> TableDefinition {
        var result = self
        for index in columns.indices where columns[index].index != .none {
            let isShared = other.columns.indices.contains(index) && !other.columns[index].isDropped
            if !isShared { result.columns[index].isOptional = true }
        }
        return result
    }
}

/// A migration that is started and not complete: a second schema of the same file.
struct SchemaTransition: Sendable {
    /// The schema after the migration.
    let new: Schema
    /// Whether all objects are converted, so that programs of both versions can use the file.
    var isReady = false
    /// The number of the migration, its name, and the checksum of its file.
    var number: Int
    var name: String
    var checksum: String
    /// The time at which it was started.
    var startedAt: Timestamp
    /// The number of objects to convert when it was started.
    var total = 0
    /// The properties that both schemas have with different types.
    var pairs: [Pair]
    /// The functions of the migration by the tables of their classes.
    var functions: [TableID: Functions] = [:]

    /// The directions for which a class has a function.
    struct Functions: Hashable, Sendable {
        let up: Bool
        let down: Bool
    }

    /// A property with a column of its own in each schema.
    struct Pair: Hashable, Sendable {
        let table: TableID
        let old: ColumnID
        let new: ColumnID
    }

    /// The migration in messages.
    var title: String { "migration \(number) (\(name))" }
}

extension Schema {
    /// Returns whether a program sees the same classes, properties and indexes in both schemas.
    func isSame(as other: Schema) -> Bool {
        self === other || version == other.version && hasSameClasses(as: other)
    }

    /// Returns whether both schemas have the same classes, properties and indexes.
    func hasSameClasses(as other: Schema) -> Bool {
        classes.count == other.classes.count
            && zip(classes, other.classes).allSatisfy { $0.isSame(as: $1) }
    }

    /// Returns the same schema with the numbers of columns and tables that another one has given away.
    func counting(_ other: Schema) -> Schema {
        let classes = classes.map { classSchema in
            ClassSchema(
                classSchema.name, classSchema.properties, table: classSchema.table,
                columnCount: max(
                    classSchema.columnCount,
                    other.find(table: classSchema.table)?.columnCount ?? 0),
                isEmbedded: classSchema.isEmbedded, indexes: classSchema.indexes)
        }
        return Schema(
            classes: classes, version: version, nextTable: max(nextTable, other.nextTable))
    }
}

extension ClassSchema {
    fileprivate func isSame(as other: ClassSchema) -> Bool {
        self === other
            || name == other.name && table == other.table && isEmbedded == other.isEmbedded
                && indexes == other.indexes && properties == other.properties
    }
}

extension TableDefinition {
    /// Returns the definition of a table with the columns and the indexes of two schemas.
    fileprivate func union(_ other: TableDefinition) -> TableDefinition {
        var result = self
        for (index, column) in other.columns.enumerated() {
            if index >= result.columns.count {
                result.columns.append(column)
            } else if result.columns[index].isDropped {
                result.columns[index] = column
            } else if !column.isDropped {
                if result.columns[index].index == .none {
                    result.columns[index].index = column.index
                }
                if column.isFullText { result.columns[index].isFullText = true }
            }
        }
        let known = Set(compositeIndexes.map(\.id))
        result.compositeIndexes += other.compositeIndexes.filter { !known.contains($0.id) }
        return result
    }
}
