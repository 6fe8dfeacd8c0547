import ColumnStorage

/// The address of a list or map inside a mixed value, independent of a store; observers and references keep it.
package struct NestedAddress: Hashable, Sendable {
    /// The object with the mixed value.
    let owner: ObjectReference
    /// The column of the mixed property.
    let column: ColumnID
    /// The steps from the value of the property to the collection; for a list or map of mixed values, the first step
    /// leads to one of them.
    var path: [NestedCollection.Step]
    /// Whether the collection is a list or a map.
    let kind: NestedCollection.Kind

    /// Returns the collection in a version: a list or a dictionary; nil if the version has no collection of this kind
    /// at the address.
    func value(in view: StoreView) throws -> Value? {
        guard let root = try Self.root(owner, column, in: view) else { return nil }
        let found = path.reduce(root as Value?) { value, step in value?.element(at: step) }
        return found.flatMap { $0.isNested(kind) ? $0 : nil }
    }

    /// Returns the address of the same collection after a step, and its value there; nil if it was removed.
    ///
    /// Insertions and removals before a collection inside a list change its address.
    func followed(along step: VersionStep) throws -> (address: NestedAddress, value: Value)? {
        guard var old = try Self.root(owner, column, in: step.old),
            var new = try Self.root(owner, column, in: step.new)
        else { return nil }
        var moved = self
        for (position, part) in path.enumerated() {
            var next = part
            if case .index(let index) = part, case .list(let olds) = old,
                case .list(let news) = new
            {
                let alignment = ElementAlignment(from: olds, to: news)
                guard olds.indices.contains(index), let newIndex = alignment.newPositions[index]
                else {
                    return nil
                }
                next = .index(newIndex)
            }
            guard let oldElement = old.element(at: part), let newElement = new.element(at: next)
            else { return nil }
            moved.path[position] = next
            (old, new) = (oldElement, newElement)
        }
        return new.isNested(kind) ? (moved, new) : nil
    }

    /// Returns the value of the property, with a list or map of mixed values as one value.
    private static func root(
        _ owner: ObjectReference, _ column: ColumnID, in view: StoreView
    ) throws -> Value? {
        guard let classSchema = view.schema.find(table: owner.table),
            let property = classSchema.property(in: column), property.type == .mixed,
            try view.isPresent(owner)
        else { return nil }
        return try view.value(property, of: owner.key, in: classSchema)
    }
}

extension Value {
    /// Returns the element that a step selects; nil if it does not exist.
    fileprivate func element(at step: NestedCollection.Step) -> Value? {
        switch (self, step) {
        case (.list(let elements), .index(let index)):
            elements.indices.contains(index) ? elements[index] : nil
        case (.dictionary(let entries), .key(let key)): entries[key.text]
        default: nil
        }
    }

    /// Returns whether the value is a collection of a kind.
    fileprivate func isNested(_ kind: NestedCollection.Kind) -> Bool {
        switch self {
        case .list: kind == .list
        case .dictionary: kind == .map
        default: false
        }
    }

    /// The elements of a list, or the values of a map with their keys in byte order; empty for other values.
    var nestedElements: (keys: [String], values: [Value]) {
        switch self {
        case .list(let elements): return ([], elements)
        case .dictionary(let entries):
            let sorted = entries.inByteOrder
            return (sorted.map(\.key), sorted.map(\.value))
        default: return ([], [])
        }
    }
}
