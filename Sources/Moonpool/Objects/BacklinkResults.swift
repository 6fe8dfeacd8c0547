import ObjectStore

/// The objects that link to an object through one property, in the order of their creation.
///
/// ```swift
/// for dog in ann.dogs { print(dog.name) }
/// print(ann.dogs.count)
/// ```
public struct BacklinkResults<M: ObjectModel>: Sequence {
    let table: ModelTable
    let content: ObjectStore.Results

    init(_ table: ModelTable, _ content: ObjectStore.Results) {
        self.table = table
        self.content = content
    }

    private func read<R>(_ body: (ObjectStore.Results) throws -> R) -> R {
        do { return try body(content) } catch { ModelContext.trap(error) }
    }

    /// The number of objects.
    public var count: Int { read { try $0.count() } }
    /// Whether there are no objects.
    public var isEmpty: Bool { count == 0 }
    /// The first object; nil if there is none.
    public var first: Live<M>? { read { try $0.first() }.map { Live(table, $0.key) } }
    /// The last object; nil if there is none.
    public var last: Live<M>? { read { try $0.last() }.map { Live(table, $0.key) } }
    /// The object at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> Live<M> { read { Live(table, try $0.object(at: index).key) } }
    /// Returns whether an object links to the object.
    public func contains(_ object: Live<M>) -> Bool {
        guard object.modelTable.context.source.isSame(as: table.context.source) else {
            return false
        }
        return read { try $0.contains(object.modelTable.liveObject(object.objectKey)) }
    }
    /// Whether the linked object exists.
    public var isValid: Bool { content.isValid }
    /// Returns the plain values.
    ///
    /// Throws `closed`, `invalid_object`.
    public func detached() throws -> [M] {
        try content.keys().map { try table.detached($0, as: M.self) }
    }
    /// Returns a copy of the current objects.
    public func makeIterator() -> AnyIterator<Live<M>> {
        var keys = read { try $0.keys() }.makeIterator()
        return AnyIterator { keys.next().map { Live(table, $0) } }
    }
    /// The number of objects.
    public var underestimatedCount: Int { count }
}

extension BacklinkResults where M: Model {
    /// The objects as results, which queries can refine.
    public var results: Results<M> { Results(table, content) }
}
