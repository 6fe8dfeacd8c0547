/// The direction of a sort order.
public enum SortOrder: Sendable, Hashable {
    /// Small values first, and nil before all others.
    case ascending
    /// Large values first, and nil after all others.
    case descending
}

/// A property to sort by.
///
/// ```swift
/// store.all(Dog.self).sorted(by: .ascending(\.owner.name), .descending(\.age))
/// ```
public struct SortKey<M: ObjectModel>: Sendable {
    let path: String
    let order: SortOrder

    /// Sorts by a property, with small values first.
    public static func ascending<V: StoredValue>(
        _ path: KeyPath<Fields<M>, Field<V>>
    ) -> SortKey where V._Order == _Ordered {
        SortKey(path: Fields<M>()[keyPath: path].path, order: .ascending)
    }
    /// Sorts by a property, with large values first.
    public static func descending<V: StoredValue>(
        _ path: KeyPath<Fields<M>, Field<V>>
    ) -> SortKey where V._Order == _Ordered {
        SortKey(path: Fields<M>()[keyPath: path].path, order: .descending)
    }
}
