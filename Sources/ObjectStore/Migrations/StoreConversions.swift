import ColumnStorage

/// Runs the functions of started migrations, so that a program can write while it and programs of another schema version
/// use a file.
///
/// `LuaConversions` of the product MoonpoolScripting is one; scripts always have one.
public protocol StoreConversions: Sendable {}

/// Creates the engines that run the functions of started migrations.
package protocol ConversionProvider: StoreConversions {
    /// Returns an engine with the functions of a migration.
    ///
    /// Throws `invalid_argument` if the code cannot be loaded.
    func makeEngine(_ code: ConversionCode) throws -> any ConversionEngine
}

/// Runs the functions of one migration, on the thread of its store.
package protocol ConversionEngine: AnyObject {
    /// The functions by the name of the class in the new schema.
    var functions: [String: (up: Bool, down: Bool)] { get }

    /// Runs a function for one object, and returns the values that it has set, by the names of their properties.
    ///
    /// Throws ``ConversionFailure`` for an error of the function.
    func convert(
        _ className: String, isUp: Bool, _ source: ConversionSource, to target: ConversionTarget
    ) throws -> [String: Value]
}

/// The reason why an object cannot be converted.
package struct ConversionFailure: Error {
    /// The reason.
    package let message: String
    /// The line of the migration's file; nil without a function.
    package let line: Int?
    /// Whether the function itself is wrong, and not only for this object.
    package let isMisuse: Bool

    /// Creates a failure.
    package init(_ message: String, line: Int? = nil, isMisuse: Bool = false) {
        self.message = message
        self.line = line
        self.isMisuse = isMisuse
    }

    /// The reason with its line.
    var text: String { (line.map { "line \($0): " } ?? "") + message }
}

/// The code of a started migration, as its file keeps it.
package struct ConversionCode: Hashable, Sendable {
    /// The name of the migration's file.
    package let fileName: String
    /// The text of the file.
    package let text: String
    /// The texts of the files that it loads, by their names in the folder.
    package let helpers: [String: String]

    /// Creates the code of a migration.
    package init(fileName: String, text: String, helpers: [String: String]) {
        self.fileName = fileName
        self.text = text
        self.helpers = helpers
    }

    private static let blob = "migration code"
    private static let format: UInt64 = 1

    /// Reads the code of a version; nil for a migration without functions.
    static func read(_ snapshot: Snapshot) throws -> ConversionCode? {
        let bytes = try StoreError.wrapping(snapshot.metadata(blob))
        guard let bytes, !bytes.isEmpty else { return nil }
        return try StoreError.decoding(bytes, "code of a migration", of: snapshot.file) { reader in
            guard try reader.number() == format else {
                throw StoreError(
                    .fileFormatTooNew,
                    "the file contains a migration that a newer Moonpool has started; update to use it"
                )
            }
            let (fileName, text) = (try reader.text(), try reader.text())
            let helpers = try (0..<(try reader.count())).map { _ in
                (try reader.text(), try reader.text())
            }
            return ConversionCode(
                fileName: fileName, text: text,
                helpers: Dictionary(helpers, uniquingKeysWith: { first, _ in first }))
        }
    }

    /// Stores the code in the open write transaction; nil removes it.
    static func write(_ code: ConversionCode?, _ session: WriteSession) throws {
        var writer = ByteWriter()
        if let code {
            writer.number(format)
            writer.text(code.fileName)
            writer.text(code.text)
            writer.number(UInt64(code.helpers.count))
            for (name, text) in code.helpers.sorted(by: { $0.key < $1.key }) {
                writer.text(name)
                writer.text(text)
            }
        }
        let bytes = writer.bytes
        try StoreError.wrapping(session.setMetadata(blob, bytes))
    }
}

/// The object that a function of a migration reads.
package struct ConversionSource {
    let view: StoreView
    /// The class in the schema of the source.
    package let classSchema: ClassSchema
    let schema: Schema
    let key: ObjectKey

    /// Returns the value of a property.
    ///
    /// Throws `unknown_property`, and `invalid_argument` for backlinks, which depend on other objects.
    package func value(of name: String) throws -> Value {
        let property = try classSchema.requireProperty(name)
        guard !property.isBacklinks else {
            throw StoreError(
                .invalidArgument,
                "'\(classSchema.name).\(name)' depends on other objects; a conversion reads only its own"
            )
        }
        return try view.value(property, of: key, in: classSchema)
    }

    /// Returns an embedded object; nil for a linked one, which the function cannot read.
    package func embedded(_ reference: ObjectReference) -> ConversionSource? {
        guard let embedded = schema.find(table: reference.table), embedded.isEmbedded else {
            return nil
        }
        return ConversionSource(
            view: view, classSchema: embedded, schema: schema, key: reference.key)
    }
}

/// The properties that a function of a migration sets.
package struct ConversionTarget {
    /// The class in the schema of the target.
    package let classSchema: ClassSchema
    let schema: Schema
    let own: Set<ColumnID>

    /// Returns a value as the property stores it, and embedded objects with all of their properties.
    ///
    /// Throws `unknown_property`, `type_mismatch`, `missing_value`, and `invalid_argument` for a property that both
    /// versions share.
    package func stored(_ value: Value, for name: String) throws -> Value {
        try stored(value, property(name), of: classSchema)
    }

    private func stored(
        _ value: Value, _ property: Property, of owner: ClassSchema
    ) throws -> Value {
        let stored = try ValueConversion.stored(value, property, owner)
        if let embedded = schema.target(of: property), embedded.isEmbedded {
            return switch (property.collection, stored) {
            case (nil, _): try values(stored, of: embedded, in: property, owner)
            case (_, .list(let elements)):
                .list(try elements.map { try values($0, of: embedded, in: property, owner) })
            case (_, .dictionary(let entries)):
                .dictionary(
                    try entries.mapValues { try values($0, of: embedded, in: property, owner) })
            default: stored
            }
        }
        try check(stored, property)
        guard property.isSet, case .list(let elements) = stored else { return stored }
        return .list(ElementOrder(property).normalized(elements))
    }

    /// Returns the values of all properties of an embedded object.
    private func values(
        _ value: Value, of embedded: ClassSchema, in property: Property, _ owner: ClassSchema
    ) throws -> Value {
        if value == .null { return .null }
        guard case .dictionary(let given) = value else {
            throw ValueConversion.mismatch(value, property, owner)
        }
        for name in given.keys { _ = try embedded.requireProperty(name) }
        var values: ValueMap = [:]
        for property in embedded.properties where !property.isBacklinks {
            values[property.name] =
                try given[property.name].map { try stored($0, property, of: embedded) }
                ?? property.unsetValue
        }
        return .dictionary(values)
    }

    /// Returns the property with a name.
    ///
    /// Throws `unknown_property`, and `invalid_argument` for a property that both versions share.
    package func property(_ name: String) throws -> Property {
        let property = try classSchema.requireProperty(name)
        guard own.contains(property.column), !property.isBacklinks else {
            throw StoreError(
                .invalidArgument,
                "'\(classSchema.name).\(name)' cannot be set by a conversion: "
                    + (property.isBacklinks
                        ? "it is a backlinks property" : "both versions share its values"))
        }
        return property
    }

    private func check(_ value: Value, _ property: Property) throws {
        switch value {
        case .object(let reference) where property.type == .object:
            guard schema.target(of: property)?.table == reference.table else {
                throw StoreError(
                    .typeMismatch,
                    "property '\(property.name)' of '\(classSchema.name)' expects \(property.typeName), got an "
                        + "object of another class")
            }
        case .list(let elements): for element in elements { try check(element, property) }
        case .dictionary(let entries): for entry in entries.values { try check(entry, property) }
        default: return
        }
    }
}
