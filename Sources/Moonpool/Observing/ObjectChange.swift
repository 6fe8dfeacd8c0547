import ObjectStore

/// A property that has changed.
public struct PropertyChange: Hashable, Sendable {
    /// The property's name.
    public let name: String
    /// The value before the change; null for collections, which report only that they have changed.
    public let old: Mixed
    /// The value after the change; null for collections.
    public let new: Mixed
}

/// A report to an observer of an object.
public enum ObjectChange<M: ObjectModel>: Sendable {
    /// Properties have changed; the object has the version after the change.
    case change(Frozen<M>, [PropertyChange])
    /// The object was deleted; it has its last values. This is the last change.
    case deleted(Frozen<M>)

    /// The values of a property before and after; nil if it has not changed.
    public subscript<V: StoredValue>(path: KeyPath<M, V>) -> (old: V, new: V)? {
        guard case .change(_, let properties) = self,
            let name = try? ModelRegistry.description(of: M.self).field(of: path).name,
            let change = properties.first(where: { $0.name == name }),
            let old = try? V(stored: change.old), let new = try? V(stored: change.new)
        else { return nil }
        return (old, new)
    }
}

extension ObjectChange {
    /// The change of the engine, which is read while its versions are open; nil for a change without the last values.
    init?(_ change: ObjectStore.ObjectChange, in context: ModelContext) throws {
        switch change.kind {
        case .change:
            let version = try FrozenVersion.of(context)
            self = try .change(
                Frozen(version, change.object.key),
                change.properties.map {
                    try PropertyChange(
                        name: $0.name, old: context.mixed($0.old), new: context.mixed($0.new))
                })
        case .deleted:
            guard let view = change.viewBefore else { return nil }
            self = .deleted(
                Frozen(try FrozenVersion.of(view, leftBy: context), change.object.key))
        case .error(let error): throw error
        }
    }
}
