import ColumnStorage
import ObjectStore

/// An object in one version of its store.
///
/// It is usable on any thread, even after the store is closed. It keeps its version readable, which prevents the file
/// from reusing the version's pages. Release it soon.
///
/// ```swift
/// let past = try rex.freeze()
/// Task.detached { print(past.name, past.owner?.name ?? "no owner") }
/// ```
@dynamicMemberLookup
public struct Frozen<M: ObjectModel>: Sendable {
    package let frozenVersion: FrozenVersion
    package let objectKey: ObjectKey

    package init(_ version: FrozenVersion, _ objectKey: ObjectKey) {
        frozenVersion = version
        self.objectKey = objectKey
    }

    /// Reads a property.
    public subscript<V: StoredValue>(dynamicMember path: KeyPath<M, V>) -> V.FrozenForm {
        do {
            return try read(path) { try V._frozen($0, in: $1) }
        } catch let error as StoreError
            where error.code == .typeMismatch && M()[keyPath: path] is V.FrozenForm
        {
            return M()[keyPath: path] as! V.FrozenForm
        } catch {
            ModelContext.trap(error)
        }
    }

    /// Reads a property whose name is also a member of Frozen.
    public subscript<V: StoredValue>(_ path: KeyPath<M, V>) -> V.FrozenForm {
        self[dynamicMember: path]
    }

    /// Returns the plain value of a property.
    ///
    /// Throws the errors of ``Live/get(_:)``.
    public func get<V: StoredValue>(_ path: KeyPath<M, V>) throws -> V {
        try read(path) { try V._plain($0, in: $1) }
    }

    private func read<V: StoredValue, R>(
        _ path: KeyPath<M, V>, _ body: (StoredElement, StoredContext) throws -> R
    ) throws -> R {
        let field = try ModelRegistry.description(of: M.self).field(of: path)
        return try frozenVersion.read { context in
            let table = try context.table(M.self)
            let cell = StoredCell(table, objectKey, offset: field.offset)
            return try body(StoredElement(cell.value()), StoredContext(context))
        }
    }

    /// The identity of the object.
    public var objectID: ObjectID<M> { ObjectID(objectKey, in: frozenVersion.file) }

    /// Returns the plain value with all properties.
    ///
    /// Throws `type_mismatch`, `out_of_range`.
    public func detached() throws -> M {
        try frozenVersion.read { try $0.table(M.self).detached(objectKey, as: M.self) }
    }

    /// Returns the live object in a store of the same file; nil if it was deleted.
    ///
    /// Throws `closed`, and `invalid_argument` for a store of another file.
    public func thaw(in store: Store) throws -> Live<M>? {
        let engine = try store.context.engine
        try engine.check()
        guard frozenVersion.belongs(to: engine) else {
            throw StoreError(.invalidArgument, "this frozen object belongs to another file")
        }
        return store[objectID]
    }
}

extension Frozen: Hashable {
    /// Returns whether both are the same object in the same version of the same file.
    public static func == (left: Frozen, right: Frozen) -> Bool {
        left.objectKey == right.objectKey && left.frozenVersion.isSame(as: right.frozenVersion)
    }
    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(objectKey) }
}

extension Frozen: CustomStringConvertible {
    /// The class and the values of the properties.
    public var description: String {
        (try? frozenVersion.read { try $0.table(M.self).text(of: objectKey) }) ?? M.className
    }
}

/// The objects of a query in one version: a collection for any thread.
///
/// The query runs when the rows are first accessed, and further conditions and orders can extend it. The results keep
/// their version readable. Release them soon.
///
/// ```swift
/// let past = try store.freeze()
/// Task.detached { print(past.all(Dog.self).where { $0.age > 10 }.sorted(by: \.name).count) }
/// ```
public struct FrozenResults<M: Model>: RandomAccessCollection, Sendable {
    private let rows: FrozenContent<ResultKeys>

    init(_ version: FrozenVersion, _ query: Query) {
        rows = FrozenContent(version, query) { try $0.keys() }
    }

    private var keys: ResultKeys {
        do { return try rows.get() } catch { ModelContext.trap(error) }
    }

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of objects.
    public var endIndex: Int { keys.count }
    /// The object at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> Frozen<M> {
        let keys = keys
        precondition(index >= 0 && index < keys.count, "index \(index) is out of range")
        return Frozen(rows.version, keys[index])
    }
    /// Returns the plain values.
    ///
    /// Throws `type_mismatch`, `out_of_range`.
    public func detached() throws -> [M] {
        let keys = try rows.get()
        return try rows.version.read { context in
            let table = try context.table(M.self)
            return try keys.map { try table.detached($0, as: M.self) }
        }
    }

    var version: FrozenVersion { rows.version }

    /// Calls a function with the results in the version.
    func evaluated<R>(_ body: (ObjectStore.Results, ModelContext) throws -> R) throws -> R {
        try rows.version.read { context in
            try body(ObjectStore.Results(context.source, rows.query), context)
        }
    }
}
