import ColumnStorage

/// Compares objects of a view by sort keys; objects with equal values are in the order of their creation.
///
/// A comparator is confined to the view's thread and follows a live view.
package struct SortComparator {
    private let keys: [BoundPath]
    private let ascending: [Bool]

    /// Creates a comparator of objects in a view.
    package init(_ keys: [SortKey], in view: StoreView) throws {
        self.keys = try keys.map { try $0.bound(to: view) }
        ascending = keys.map(\.ascending)
    }

    /// Compares two objects: -1, 0 or 1; 0 only for the same object.
    package func order(_ left: ObjectKey, _ right: ObjectKey) throws -> Int {
        let order = try orderByValues(left, right)
        return order != 0 || left == right ? order : left < right ? -1 : 1
    }

    /// Compares the values of two objects: -1, 0 or 1; 0 for equal values.
    func orderByValues(_ left: ObjectKey, _ right: ObjectKey) throws -> Int {
        for (index, key) in keys.enumerated() {
            let order = try SortComparator.order(key.value(left), key.value(right))
            if order != 0 { return ascending[index] ? order : -order }
        }
        return 0
    }

    /// Returns a 64-bit code of an object's first key.
    ///
    /// If two codes differ, the object with the smaller code comes first.
    func code(of key: ObjectKey) throws -> UInt64 {
        let first = keys[0]
        guard let code = try first.code(key)?.code else {
            return SortCode.ofNil(ascending: ascending[0])
        }
        return ascending[0] ? code : ~code
    }

    /// Returns -1, 0 or 1 for any two values: nil comes first, then the order of ``ValueOrder``.
    static func order(_ left: Scalar, _ right: Scalar) -> Int {
        switch (left, right) {
        case (.null, .null): 0
        case (.null, _): -1
        case (_, .null): 1
        default: Scalar.order(left, right) ?? ValueOrder.order(left.value, right.value)
        }
    }
}
