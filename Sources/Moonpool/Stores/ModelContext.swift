import ColumnStorage
import ObjectStore

/// A store, or one frozen version of it, with the tables of its models.
///
/// All live values reference it through their table. The store owns the tables, and each table owns the context, so
/// that a live object keeps the engine's store open without a reference cycle.
package final class ModelContext {
    /// The source of the objects.
    package let source: ObjectSource
    /// The frozen version of this context; nil for a store.
    private(set) weak var frozen: FrozenVersion?
    /// The last frozen version, while it is referenced.
    weak var latestFrozen: FrozenVersion?
    /// The actor and the wakeups; nil for a frozen version.
    let scheduling: StoreScheduling?
    /// The first error of an assignment in the open write, which rolls the write back.
    private var writeFailure: (any Error)?
    /// Whether scripts use the store.
    ///
    /// An error of an assignment is then also recorded outside of a write, because scripts must not end the program of
    /// their host.
    private let isHosted: Bool
    /// Whether reads inside of `withObservationTracking`, `Observations` and a script's effects register.
    private(set) var isObservable: Bool
    /// The tables of a frozen version, which has no store to keep them.
    private var keptTables: [ModelTable]?
    /// The paths of projections, by type.
    var projections: [ObjectIdentifier: AnyObject] = [:]
    private var tables: [ObjectIdentifier: KnownTable] = [:]

    // Not weak, because a weak reference slows down each retain and release of the table, and thus each read in a loop.
    private struct KnownTable { unowned let table: ModelTable }

    init(_ source: ObjectSource, scheduling: StoreScheduling?, isHosted: Bool = false) {
        self.source = source
        self.scheduling = scheduling
        self.isHosted = isHosted
        // Effects and computed values of scripts depend on the data that functions of the host
        // read.
        isObservable = isHosted
    }

    /// Registers reads from now on; called before the first table is created.
    func registerReads() {
        assert(tables.isEmpty, "reads are registered before the first table is created")
        isObservable = true
    }

    /// Makes this the context of a frozen version, which keeps the tables.
    func belong(to version: FrozenVersion) {
        assert(tables.isEmpty && keptTables == nil, "a context belongs to one frozen version")
        frozen = version
        keptTables = []
    }

    /// Removes and returns the tables of a frozen version, for its release.
    func takeTables() -> [ModelTable]? { keptTables.take() }

    /// The engine's store.
    ///
    /// Throws `frozen` for a frozen version.
    package var engine: ObjectStore.Store { get throws { try source.writableStore() } }

    /// Returns the table of a model.
    ///
    /// Throws `unknown_class` for a model that the store was not opened with.
    package func table<M: ObjectModel>(_ type: M.Type) throws -> ModelTable {
        if let known = tables[ObjectIdentifier(type)]?.table { return known }
        let table = try ModelTable(
            ObjectIdentifier(type), ModelRegistry.description(of: type), self)
        tables[ObjectIdentifier(type)] = KnownTable(table: table)
        keptTables?.append(table)
        return table
    }

    /// Removes a table when it is released.
    func forgetTable(of model: ObjectIdentifier) { tables[model] = nil }

    /// The number of the file.
    var fileNumber: UInt64 { source.view.fileNumber }

    /// Returns whether an identity with the number of a file may belong to this store.
    func owns(_ file: UInt64) -> Bool { file == 0 || file == fileNumber }

    /// Throws `invalid_object` for an object of another file.
    ///
    /// Every object that a store receives passes here.
    func requireOwn(_ file: UInt64, _ className: @autoclosure () -> String) throws {
        guard !owns(file) else { return }
        throw StoreError(
            .invalidObject,
            "this '\(className())' belongs to another store; insert a copy of it (detached), or link to "
                + "it by its primary key")
    }

    /// Returns the stored values of a collection of another context.
    ///
    /// Throws `invalid_object` if they contain objects of another file.
    func received(_ values: [Value], from other: ModelContext) throws -> [Value] {
        guard !owns(other.fileNumber) else { return values }
        return try values.map { try resolved(other.mixed($0)) }
    }

    /// Returns the value with the class names that its links need outside of the store.
    func mixed(_ value: Value) -> Mixed {
        switch value {
        case .object(let reference):
            .object(
                AnyObjectID(
                    reference, source.view.schema.find(table: reference.table)?.name, in: fileNumber
                )
            )
        case .list(let values): .list(values.map(mixed))
        case .dictionary(let values): .map(values.dictionary(mixed))
        default: Mixed(value)
        }
    }

    /// Returns the engine's value; its links refer to tables of this store.
    func resolved(_ value: Mixed) throws -> Value {
        switch value {
        case .object(let identifier):
            try requireOwn(identifier.file, identifier.className ?? "object")
            guard identifier.reference.table == .unassigned else { return value.engineValue }
            let classSchema = try source.view.schema.require(identifier.className ?? "")
            return .object(
                ObjectReference(table: classSchema.table, key: identifier.reference.key))
        case .list(let values): return .list(try values.map(resolved))
        case .map(let values): return .dictionary(ValueMap(try values.mapValues(resolved)))
        default: return value.engineValue
        }
    }

    /// Runs an assignment, which cannot throw: in a write, the first error ends the write.
    func assign(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            if !isHosted {
                guard let engine = try? engine, !engine.isClosed, engine.isInWrite else {
                    fatalError(Self.message(of: error))
                }
            }
            if writeFailure == nil { writeFailure = error }
        }
    }

    /// Throws the first failed assignment of the open write.
    func checkFailure() throws { if let writeFailure { throw writeFailure } }

    /// Clears the record of a failed assignment, at the beginning and at the end of a write.
    func forgetFailure() { writeFailure = nil }

    /// Ends the program with the message of an error that a member without `try` cannot throw.
    static func trap(_ error: any Error) -> Never { fatalError(message(of: error)) }

    private static func message(of error: any Error) -> String {
        (error as? StoreError)?.description ?? "\(error)"
    }
}

/// The objects of one model in a store or a frozen version, with the data for fast reads.
@usableFromInline
package final class ModelTable {
    /// The rows of the class in the version that the store shows.
    @usableFromInline package let rows: TableReader
    /// The column by the byte offset of the property in the model.
    @usableFromInline package let columns: [ColumnID]
    /// Whether reads inside of tracking scopes and of a script's effects register.
    @usableFromInline let isObservable: Bool
    package let context: ModelContext
    private let model: ObjectIdentifier
    package let description: ModelDescription
    /// Whether a host has compared the class with the model.
    var isVerified = false
    /// The class at the creation of the table.
    package let classSchema: ClassSchema

    init(
        _ model: ObjectIdentifier, _ description: ModelDescription, _ context: ModelContext
    ) throws {
        self.model = model
        self.description = description
        self.context = context
        isObservable = context.isObservable
        let view = context.source.view
        guard let classSchema = view.schema.find(description.className) else {
            throw StoreError(
                .unknownClass,
                "the store has no class '\(description.className)'; add \(description.className).self to its models"
            )
        }
        self.classSchema = classSchema
        rows = view.reader(of: classSchema.table)
        var columns = Array(
            repeating: ColumnID.unassigned, count: description.fieldsByOffset.count)
        for (offset, index) in description.fieldsByOffset.enumerated() where index >= 0 {
            if let property = classSchema.property(named: description.fields[index].name),
                property.isSingle
            {
                columns[offset] = property.column
            }
        }
        self.columns = columns
    }

    deinit { context.forgetTable(of: model) }

    /// Returns the property at a byte offset of the model.
    package func property(at offset: Int) throws -> Property {
        guard offset >= 0, offset < description.fieldsByOffset.count,
            description.fieldsByOffset[offset] >= 0
        else {
            throw StoreError(
                .invalidArgument,
                "the key path is not a stored property of '\(description.className)'")
        }
        let name = description.fields[description.fieldsByOffset[offset]].name
        let latest = context.source.view.schema.find(table: classSchema.table) ?? classSchema
        return try latest.requireProperty(name)
    }

    /// Returns the primary key of an object; nil if it has none or cannot be read.
    func primaryKey(of key: ObjectKey) -> Mixed? {
        guard let property = classSchema.primaryKey else { return nil }
        let value = try? context.source.view.value(property, of: key, in: classSchema)
        return value.map(Mixed.init(_:))
    }

    /// Returns the engine's handle of an object.
    package func liveObject(_ key: ObjectKey) -> LiveObject {
        context.source.object(classSchema, key)
    }
}
