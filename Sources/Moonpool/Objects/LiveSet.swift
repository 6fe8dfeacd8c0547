import ObjectStore

/// The set of a live object: reads and changes elements in place.
///
/// ```swift
/// try await store.write { _ in
///     rex.tags.insert("good")
///     rex.tags.formUnion(["small", "brown"])
/// }
/// print(rex.tags.contains("good"))
/// ```
///
/// A loop visits the elements at its start, in the order of their values, even if the set changes in the meantime.
/// Members without `try` behave like those of ``Live``.
public struct LiveSet<Element: StoredValue>: ExpressibleByArrayLiteral {
    let content: LiveContent<ObjectStore.LiveSet, [Element]>

    init(_ set: ObjectStore.LiveSet, _ context: ModelContext) { content = .stored(set, context) }

    /// Creates a set to assign to a property.
    public init(arrayLiteral elements: Element...) { content = .literal(elements) }

    /// Creates a set to assign to a property.
    public init(_ elements: some Sequence<Element>) { content = .literal(Array(elements)) }

    func engineValues(in context: StoredContext) throws -> [Value] {
        try content.values(in: context)
    }

    /// The number of elements.
    public var count: Int { content.read { engine, _ in try engine.count() } }
    /// Returns whether the set contains an element.
    public func contains(_ element: Element.LiveForm) -> Bool {
        content.read { set, context in
            do {
                return try set.contains(
                    Element._element(of: element, in: StoredContext(context)).value)
            } catch let error as StoreError where error.code == .invalidObject && set.isValid {
                // An object of another store is in no set of this one.
                return false
            }
        }
    }
    /// Inserts an element.
    public func insert(_ element: Element.LiveForm) {
        content.change { _ = try $0.insert(Element._element(of: element, in: $1).value) }
    }
    /// Removes an element.
    public func remove(_ element: Element.LiveForm) {
        content.change { _ = try $0.remove(Element._element(of: element, in: $1).value) }
    }
    /// Removes all elements.
    public func removeAll() { content.change { set, _ in try set.removeAll() } }
    /// Inserts the elements of a sequence.
    public func formUnion(_ elements: some Sequence<Element.LiveForm>) {
        content.change { _ = try $0.formUnion($1.values(elements, of: Element.self)) }
    }
    /// Removes the elements that a sequence does not contain.
    public func formIntersection(_ elements: some Sequence<Element.LiveForm>) {
        content.change { try $0.formIntersection($1.values(elements, of: Element.self)) }
    }
    /// Removes the elements of a sequence.
    public func subtract(_ elements: some Sequence<Element.LiveForm>) {
        content.change { try $0.subtract($1.values(elements, of: Element.self)) }
    }
    /// Removes the elements that a sequence also contains, and inserts its other elements.
    public func formSymmetricDifference(_ elements: some Sequence<Element.LiveForm>) {
        content.change {
            try $0.formSymmetricDifference($1.values(elements, of: Element.self))
        }
    }
    /// Replaces all elements.
    public func replaceAll(with elements: some Sequence<Element.LiveForm>) {
        content.change { set, context in
            let values = try context.values(elements, of: Element.self)
            try set.removeAll()
            _ = try set.formUnion(values)
        }
    }
}

extension LiveSet where Element: Hashable {
    /// Returns the plain values.
    ///
    /// Throws `invalid_object` if the owner was deleted, `closed`.
    public func detached() throws -> Set<Element> {
        let (set, context) = try content.stored
        return Set(
            try set.values().map {
                try Element._plain(StoredElement($0), in: StoredContext(context))
            })
    }
}

extension LiveSet: Sequence {
    /// Returns a copy of the current elements.
    public func makeIterator() -> AnyIterator<Element.LiveForm> {
        content.iterator({ try $0.values() }) { try Element._live(StoredElement($0), in: $1) }
    }
    /// The number of elements.
    public var underestimatedCount: Int { count }
}

extension LiveSet: CustomStringConvertible {
    /// The elements.
    public var description: String { "[" + map { "\($0)" }.joined(separator: ", ") + "]" }
}
