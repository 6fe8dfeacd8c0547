import ObjectStore

/// The list of a live object: reads and changes elements in place.
///
/// ```swift
/// try await store.write { tx in
///     rex.siblings.append(max)
///     rex.scores = [1, 2, 3]
/// }
/// for sibling in rex.siblings { print(sibling.name) }
/// ```
///
/// A loop visits the elements at its start, even if the list changes in the meantime. Members without `try` behave like
/// those of ``Live``.
public struct LiveList<Element: StoredValue>: ExpressibleByArrayLiteral {
    let content: LiveContent<ObjectStore.LiveList, [Element]>

    init(_ list: ObjectStore.LiveList, _ context: ModelContext) { content = .stored(list, context) }

    /// Creates a list to assign to a property.
    public init(arrayLiteral elements: Element...) { content = .literal(elements) }

    /// Creates a list to assign to a property.
    public init(_ elements: some Sequence<Element>) { content = .literal(Array(elements)) }

    func engineValues(in context: StoredContext) throws -> [Value] {
        try content.values(in: context)
    }

    private func live(_ value: Value, _ context: ModelContext) throws -> Element.LiveForm {
        try Element._live(StoredElement(value), in: StoredContext(context))
    }

    // MARK: Reading

    /// The number of elements.
    public var count: Int { content.read { engine, _ in try engine.count() } }
    /// The first element; nil if the list is empty.
    public var first: Element.LiveForm? {
        content.read { list, context in try list.element(at: 0).map { try live($0, context) } }
    }
    /// The last element; nil if the list is empty.
    public var last: Element.LiveForm? {
        content.read { list, context in
            let count = try list.count()
            return try count == 0 ? nil : list.element(at: count - 1).map { try live($0, context) }
        }
    }
    /// Reads or assigns the element at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> Element.LiveForm {
        get {
            content.read { list, context in
                guard let value = try list.element(at: index) else {
                    throw StoreError.outside(
                        index, of: "the list of length \(try list.count())")
                }
                return try live(value, context)
            }
        }
        nonmutating set {
            content.change { try $0.set(Element._element(of: newValue, in: $1).value, at: index) }
        }
    }
    /// Returns the plain values.
    ///
    /// Throws `invalid_object` if the owner was deleted, `closed`.
    public func detached() throws -> [Element] {
        let (list, context) = try content.stored
        return try list.values().map {
            try Element._plain(StoredElement($0), in: StoredContext(context))
        }
    }

    // MARK: Changing

    /// Appends an element.
    public func append(_ element: Element.LiveForm) {
        content.change { try $0.append([Element._element(of: element, in: $1).value]) }
    }
    /// Appends elements.
    public func append(contentsOf elements: some Sequence<Element.LiveForm>) {
        content.change { try $0.append($1.values(elements, of: Element.self)) }
    }
    /// Inserts an element at an index, and shifts the following elements.
    public func insert(_ element: Element.LiveForm, at index: Int) {
        content.change { try $0.insert(Element._element(of: element, in: $1).value, at: index) }
    }
    /// Removes the element at an index.
    public func remove(at index: Int) { content.change { list, _ in try list.remove(at: index) } }
    /// Moves an element, so that it has the second index afterward.
    public func move(from source: Int, to destination: Int) {
        content.change { list, _ in try list.move(from: source, to: destination) }
    }
    /// Removes all elements.
    public func removeAll() { content.change { list, _ in try list.removeAll() } }
    /// Replaces all elements.
    public func replaceAll(with elements: some Sequence<Element.LiveForm>) {
        content.change { list, context in
            let values = try context.values(elements, of: Element.self)
            try list.removeAll()
            try list.append(values)
        }
    }
}

extension LiveList where Element: EmbeddedModel {
    /// Appends an embedded object with the values.
    public func append(_ value: Element) {
        content.change { try $0.append([value._element(in: $1).value]) }
    }
    /// Inserts an embedded object with the values at an index.
    public func insert(_ value: Element, at index: Int) {
        content.change { try $0.insert(value._element(in: $1).value, at: index) }
    }
    /// Replaces all embedded objects.
    public func replaceAll(with values: some Sequence<Element>) {
        content.change { list, context in
            let values = try values.map { try $0._element(in: context).value }
            try list.removeAll()
            try list.append(values)
        }
    }
}

extension LiveList: Sequence {
    /// Returns a copy of the current elements.
    public func makeIterator() -> AnyIterator<Element.LiveForm> {
        content.iterator({ try $0.values() }) { try Element._live(StoredElement($0), in: $1) }
    }
    /// The number of elements.
    public var underestimatedCount: Int { count }
}

extension LiveList: CustomStringConvertible {
    /// The elements.
    public var description: String { "[" + map { "\($0)" }.joined(separator: ", ") + "]" }
}

/// A link, as the element of a list, a set or a map.
public protocol LinkElement: StoredValue {
    /// The linked model.
    associatedtype Linked: Model
}
extension Link: LinkElement {
    /// The linked model.
    public typealias Linked = M
}
extension Optional: LinkElement where Wrapped: LinkElement {
    /// The linked model.
    public typealias Linked = Wrapped.Linked
}
