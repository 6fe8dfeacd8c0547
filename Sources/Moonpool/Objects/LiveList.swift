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
    private enum Content {
        case stored(ObjectStore.LiveList, ModelContext)
        /// A literal that will be assigned to a property.
        case values([Element])
    }

    private let content: Content

    init(_ list: ObjectStore.LiveList, _ context: ModelContext) { content = .stored(list, context) }

    /// Creates a list to assign to a property.
    public init(arrayLiteral elements: Element...) { content = .values(elements) }

    /// Creates a list to assign to a property.
    public init(_ elements: some Sequence<Element>) { content = .values(Array(elements)) }

    private var stored: (list: ObjectStore.LiveList, context: ModelContext) {
        get throws {
            guard case .stored(let list, let context) = content else {
                throw StoreError(
                    .invalidArgument, "this list is a literal; assign it to a property first")
            }
            return (list, context)
        }
    }

    /// The engine's list.
    ///
    /// Throws `invalid_argument` for a literal.
    var engine: ObjectStore.LiveList { get throws { try stored.list } }
    var context: ModelContext { get throws { try stored.context } }

    func engineValues(in context: StoredContext) throws -> [Value] {
        switch content {
        case .stored(let list, let own): try context.context.received(list.values(), from: own)
        case .values(let values): try values.map { try $0._element(in: context).value }
        }
    }

    private func live(_ value: Value, _ context: ModelContext) throws -> Element.LiveForm {
        try Element._live(StoredElement(value), in: StoredContext(context))
    }

    func read<R>(_ body: (ObjectStore.LiveList, ModelContext) throws -> R) -> R {
        do {
            let (list, context) = try stored
            return try body(list, context)
        } catch { ModelContext.trap(error) }
    }

    func change(_ body: (ObjectStore.LiveList, StoredContext) throws -> Void) {
        read { list, context in
            context.assign { try body(list, StoredContext(context)) }
        }
    }

    // MARK: Reading

    /// The number of elements.
    public var count: Int { read { list, _ in try list.count() } }
    /// Whether the list has no elements.
    public var isEmpty: Bool { count == 0 }
    /// The first element; nil if the list is empty.
    public var first: Element.LiveForm? {
        read { list, context in try list.element(at: 0).map { try live($0, context) } }
    }
    /// The last element; nil if the list is empty.
    public var last: Element.LiveForm? {
        read { list, context in
            let count = try list.count()
            return try count == 0 ? nil : list.element(at: count - 1).map { try live($0, context) }
        }
    }
    /// Reads or assigns the element at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> Element.LiveForm {
        get {
            read { list, context in
                guard let value = try list.element(at: index) else {
                    throw StoreError.outside(
                        index, of: "the list of \(try list.count()) elements")
                }
                return try live(value, context)
            }
        }
        nonmutating set {
            change { try $0.set(Element._element(of: newValue, in: $1).value, at: index) }
        }
    }
    /// Whether the list's owner exists.
    public var isValid: Bool { (try? engine.isValid) ?? false }
    /// Whether the list's owner was deleted or its store is closed; reads register like those of the elements.
    public var isInvalidated: Bool { !isValid }
    /// Returns the plain values.
    ///
    /// Throws `invalid_object` if the owner was deleted, `closed`.
    public func detached() throws -> [Element] {
        let (list, context) = try stored
        return try list.values().map {
            try Element._plain(StoredElement($0), in: StoredContext(context))
        }
    }

    // MARK: Changing

    /// Appends an element.
    public func append(_ element: Element.LiveForm) {
        change { try $0.append([Element._element(of: element, in: $1).value]) }
    }
    /// Appends elements.
    public func append(contentsOf elements: some Sequence<Element.LiveForm>) {
        change { list, context in
            try list.append(elements.map { try Element._element(of: $0, in: context).value })
        }
    }
    /// Inserts an element at an index, and shifts the following elements.
    public func insert(_ element: Element.LiveForm, at index: Int) {
        change { try $0.insert(Element._element(of: element, in: $1).value, at: index) }
    }
    /// Removes the element at an index.
    public func remove(at index: Int) { change { list, _ in try list.remove(at: index) } }
    /// Moves an element, so that it has the second index afterward.
    public func move(from source: Int, to destination: Int) {
        change { list, _ in try list.move(from: source, to: destination) }
    }
    /// Removes all elements.
    public func removeAll() { change { list, _ in try list.removeAll() } }
    /// Replaces all elements.
    public func replaceAll(with elements: some Sequence<Element.LiveForm>) {
        change { list, context in
            let values = try elements.map { try Element._element(of: $0, in: context).value }
            try list.removeAll()
            try list.append(values)
        }
    }
}

extension LiveList where Element: EmbeddedModel {
    /// Appends an embedded object with the values.
    public func append(_ value: Element) {
        change { try $0.append([value._element(in: $1).value]) }
    }
    /// Inserts an embedded object with the values at an index.
    public func insert(_ value: Element, at index: Int) {
        change { try $0.insert(value._element(in: $1).value, at: index) }
    }
    /// Replaces all embedded objects.
    public func replaceAll(with values: some Sequence<Element>) {
        change { list, context in
            let values = try values.map { try $0._element(in: context).value }
            try list.removeAll()
            try list.append(values)
        }
    }
}

extension LiveList: Sequence {
    /// Returns a copy of the current elements.
    public func makeIterator() -> AnyIterator<Element.LiveForm> {
        let (values, context) = read { list, context in (try list.values(), context) }
        var index = 0
        return AnyIterator {
            guard index < values.count else { return nil }
            defer { index += 1 }
            do { return try live(values[index], context) } catch { ModelContext.trap(error) }
        }
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

extension LiveList where Element: LinkElement {
    /// The linked objects as results, in the order of the list.
    public var results: Results<Element.Linked> {
        read { list, context in
            Results(try context.table(Element.Linked.self), try ObjectStore.Results(list))
        }
    }
    /// Returns the linked objects that match a condition.
    public func `where`<C: QueryCondition>(
        _ body: (Fields<Element.Linked>) -> C
    ) -> Results<Element.Linked> { results.where(body) }
}
