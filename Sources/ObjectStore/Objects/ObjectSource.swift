import ColumnStorage
import Decimals

/// The source of a handle's reads: a store that moves to newer versions, or one frozen version.
package enum ObjectSource {
    /// A live store.
    case store(Store)
    /// One version that never changes.
    case frozen(StoreView)

    /// The view to read; the access does not check whether the store is open.
    package var view: StoreView {
        switch self {
        case .store(let store): store.view
        case .frozen(let view): view
        }
    }

    /// Whether the source can be read.
    package var isOpen: Bool {
        switch self {
        case .store(let store): !store.isClosed
        case .frozen(let view): !view.isClosed
        }
    }

    /// Returns the view to read.
    ///
    /// Throws `closed` and `wrong_thread`.
    package func openView() throws -> StoreView {
        switch self {
        case .store(let store):
            try store.check()
        case .frozen(let view):
            guard !view.isClosed else {
                throw StoreError(
                    .closed, "this frozen version was closed; freeze the live store again")
            }
        }
        return view
    }

    /// Returns the store to write to.
    ///
    /// Throws `frozen` for a frozen version.
    package func writableStore() throws -> Store {
        switch self {
        case .store(let store): return store
        case .frozen:
            throw StoreError(
                .frozen, "this is a frozen version and cannot change; use the live object instead")
        }
    }

    /// Returns whether both are the same store, or frozen views of the same file and version.
    package func isSame(as other: ObjectSource) -> Bool {
        switch (self, other) {
        case (.store(let left), .store(let right)): left === right
        case (.frozen(let left), .frozen(let right)):
            left === right
                || (left.version == right.version && left.snapshot.file === right.snapshot.file)
        default: false
        }
    }
}

extension ObjectSource {
    /// Returns a handle of an object by reference, whether or not the object exists; nil if its class does not exist.
    package func object(_ reference: ObjectReference) -> LiveObject? {
        view.schema.find(table: reference.table).map { LiveObject(self, $0, reference.key) }
    }

    /// Returns a handle of an object of a class of this source, whether or not the object exists.
    ///
    /// Reads nothing from the store.
    package func object(_ classSchema: ClassSchema, _ key: ObjectKey) -> LiveObject {
        LiveObject(self, classSchema, key)
    }
}

extension StoreView {
    /// Returns the object whose indexed property has a value.
    ///
    /// Uses the index, or a scan for null.
    func find(_ value: Value, in property: Property, of classSchema: ClassSchema) throws
        -> ObjectKey?
    {
        let rows = try table(classSchema)
        switch value.listElement {
        case .int(let number): return try rows.find(property.column, int: number)
        case .bytes(let bytes): return try rows.find(property.column, bytes: bytes)
        case .null: return try findNull(property.column, in: rows)
        case .float, .double: return nil
        }
    }

    /// Returns the object with a null primary key.
    ///
    /// A class has at most one such object. Indexes do not contain null.
    private func findNull(_ column: ColumnID, in rows: TableReader) throws -> ObjectKey? {
        for cluster in 0..<rows.clusterCount {
            let bits = try rows.matches(column, cluster, .isNull, among: rows.presence(cluster))
            for word in 0..<Cluster.words where bits[word] != 0 {
                let row = cluster * Cluster.rows + word * 64 + bits[word].trailingZeroBitCount
                return ObjectKey(rawValue: Int64(row))
            }
        }
        return nil
    }
}

extension StoreView {
    /// Returns a class by name and the key of its object with a primary key; nil if no object has it.
    ///
    /// Throws the errors of ``Store/object(_:primaryKey:)``.
    package func find(
        _ className: String, primaryKey value: Value
    ) throws -> (classSchema: ClassSchema, key: ObjectKey)? {
        try StoreError.evaluating {
            let classSchema = try schema.require(className)
            if let column = classSchema.intKeyColumn, case .int(let number) = value {
                return try table(classSchema).find(column, int: number).map { (classSchema, $0) }
            }
            guard let property = classSchema.primaryKey else {
                throw StoreError(
                    .invalidArgument,
                    "'\(className)' has no primary key to look up; query it with objects(\"\(className)\")"
                )
            }
            let key = try ValueConversion.stored(value, property, classSchema)
            return try find(key, in: property, of: classSchema).map { (classSchema, $0) }
        }
    }
}

extension Store {
    /// Returns the object with a primary key, or nil.
    ///
    /// Takes about half a microsecond.
    ///
    /// Throws `unknown_class`, `type_mismatch` for a key of another type, `invalid_argument` if the class has no
    /// primary key, `closed`, `wrong_thread`.
    public func object(_ className: String, primaryKey value: Value) throws -> LiveObject? {
        try check()
        let found = try view.find(className, primaryKey: value)
        if let reader, let table = view.schema.find(className)?.table {
            let lookup = StoreReads.Lookup(table: table, result: found?.key) { view in
                try view.find(className, primaryKey: value)?.key
            }
            reader.recordLookup(of: self, lookup, by: value)
        }
        return found.map { LiveObject(.store(self), $0.classSchema, $0.key) }
    }
}

/// Reads single values of many objects of one class, without creating a ``Value`` for each.
///
/// Properties are identified by their position in ``ClassSchema/properties``. Nil means null, a missing object or a
/// property of another type. A reader reads the current version of its view, and is confined to the view's thread.
package struct ObjectReader {
    /// The class of the objects.
    package let classSchema: ClassSchema
    private let rows: TableReader
    private let columns: [ColumnID]

    /// Creates a reader of the objects of a class in a view.
    package init(_ view: StoreView, _ classSchema: ClassSchema) throws {
        self.classSchema = classSchema
        rows = try view.table(classSchema)
        columns = classSchema.properties.map { $0.isSingle ? $0.column : .unassigned }
    }

    /// Returns the value of an int property.
    package func int(_ position: Int, _ key: ObjectKey) throws -> Int64? {
        try StoreError.wrapping(rows.int(columns[position], key))
    }

    /// Returns the value of a double property.
    package func double(_ position: Int, _ key: ObjectKey) throws -> Double? {
        try StoreError.wrapping(rows.double(columns[position], key))
    }

    /// Returns the value of a bool property.
    package func bool(_ position: Int, _ key: ObjectKey) throws -> Bool? {
        try StoreError.wrapping(rows.bool(columns[position], key))
    }

    /// Returns the value of a date property.
    package func date(_ position: Int, _ key: ObjectKey) throws -> Timestamp? {
        try StoreError.wrapping(rows.int(columns[position], key).map(Timestamp.init(microseconds:)))
    }

    /// Returns the value of a decimal property.
    package func decimal(_ position: Int, _ key: ObjectKey) throws -> DecimalValue? {
        try StoreError.wrapping(
            rows.withBytes(columns[position], key, DecimalValue.init(bytes:)) ?? nil)
    }

    /// Calls `body` with the UTF-8 bytes of a string property; `body` must not write.
    package func withText<Result>(
        _ position: Int, _ key: ObjectKey, _ body: (RawSpan) -> Result
    ) throws -> Result? {
        try StoreError.wrapping(rows.withBytes(columns[position], key, body))
    }
}
