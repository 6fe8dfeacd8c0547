import ColumnStorage
import ObjectStore

/// One version of a store, readable on any thread.
///
/// It keeps the version readable, which prevents the file from reusing the version's pages. Release it soon.
///
/// ```swift
/// let past = try store.freeze()
/// Task.detached { print(past.all(Dog.self).map(\.name)) }
/// ```
public struct FrozenStore: Sendable {
    private let frozen: FrozenVersion

    init(_ frozen: FrozenVersion) { self.frozen = frozen }

    /// The version of the file.
    public var version: Int { Int(frozen.number) }

    /// Returns the objects of a model, in the order of their creation.
    ///
    /// A model without a class in the file ends the program.
    public func all<M: Model>(_ type: M.Type) -> FrozenResults<M> {
        do {
            let query = try frozen.read { Query(all: try $0.table(type).classSchema) }
            return FrozenResults(frozen, query)
        } catch {
            ModelContext.trap(error)
        }
    }

    /// Returns the object with a primary key; nil if it does not exist.
    ///
    /// Throws `invalid_argument` if the model has no primary key, `type_mismatch` for a key of another type.
    public func find<M: Model>(
        _ type: M.Type, _ primaryKey: some StoredValue & Hashable
    ) throws -> Frozen<M>? {
        let value = primaryKey.stored
        let key: ObjectKey? = try frozen.read { context in
            try context.source.view.find(
                M.className, primaryKey: try context.resolved(value))?.key
        }
        return key.map { Frozen(frozen, $0) }
    }

    /// Returns the object with an ID; nil if it does not exist in this version.
    public subscript<M>(id: ObjectID<M>) -> Frozen<M>? {
        let isPresent =
            (try? frozen.read { context in
                try context.owns(id.file) && context.table(M.self).rows.isPresent(id.key)
            }) ?? false
        return isPresent ? Frozen(frozen, id.key) : nil
    }
}

extension Store {
    /// Returns the current version, for any thread.
    ///
    /// Inside a write, this is the version before the write. Throws `closed`.
    public func freeze() throws -> FrozenStore { FrozenStore(try FrozenVersion.of(context)) }
}
