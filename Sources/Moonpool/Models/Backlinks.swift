import ObjectStore

/// The objects that link to an object through one of their properties; computed, not stored.
///
/// ```swift
/// struct Person: Model { var dogs = Backlinks(\Dog.owner) }
/// print(ann.dogs.count, ann.dogs.map(\.name))
/// ```
public struct Backlinks<Origin: ObjectModel>: Sendable {
    private let property: @Sendable () throws -> String
    private let offset: Int?

    init(property: @escaping @Sendable () throws -> String) {
        self.property = property
        offset = nil
    }

    /// Follows a link, or a list or set of links, backwards.
    public init<V: StoredValue>(_ path: KeyPath<Origin, V> & Sendable) {
        property = { try ModelRegistry.description(of: Origin.self).field(of: path).name }
        offset = MemoryLayout<Origin>.offset(of: path)
    }
}

extension Backlinks: Hashable {
    /// Returns whether both follow the same property.
    public static func == (left: Backlinks, right: Backlinks) -> Bool {
        left.offset == right.offset || left.offset == nil || right.offset == nil
    }
    /// Hashes nothing, because decoded backlinks, whose property is unknown, equal all others.
    public func hash(into hasher: inout Hasher) {}
}

/// A linking object, as an element of ``Backlinks``.
public struct BacklinkElement<Origin: ObjectModel>: StoredValue {
    /// The linking object.
    public typealias LiveForm = Live<Origin>
    /// The frozen linking object.
    public typealias FrozenForm = Frozen<Origin>
    /// The linking model.
    public typealias Target = Origin

    let id: ObjectID<Origin>

    /// A link.
    public static var storedType: StoredType { StoredType(.object, target: Origin.self) }
    /// The object's ID.
    public var stored: Mixed {
        .object(AnyObjectID(id))
    }
    /// Creates the element from an ID.
    public init(stored: Mixed) throws {
        guard case .object(let id) = stored else { throw stored.mismatch(expected: "an object") }
        self.id = ObjectID(id.reference.key, in: id.file)
    }
    /// Returns the object.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Live<Origin> {
        let id = try BacklinkElement(stored: Mixed(element.value)).id
        return Live(try context.context.table(Origin.self), id.key)
    }
    /// Returns the frozen object.
    public static func _frozen(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Frozen<Origin> {
        let id = try BacklinkElement(stored: Mixed(element.value)).id
        return Frozen(try FrozenVersion.of(context.context), id.key)
    }
    /// Returns the object's row.
    public static func _element(
        of live: Live<Origin>, in context: StoredContext
    ) throws -> StoredElement {
        try context.context.requireOwn(live.modelTable.context.fileNumber, Origin.className)
        return StoredElement(
            .object(ObjectReference(table: live.modelTable.classSchema.table, key: live.objectKey)))
    }
}

extension Backlinks: CollectionValue {
    /// The form of the value in a live object.
    public typealias LiveForm = BacklinkResults<Origin>
    /// The frozen linking objects.
    public typealias FrozenForm = [Frozen<Origin>]
    /// A linking object.
    public typealias ElementValue = BacklinkElement<Origin>
    /// The linking model.
    public typealias Target = Origin

    /// A backlinks property.
    public static var storedType: StoredType { StoredType(.backlinks) }
    var storedType: StoredType {
        StoredType(.backlinks, origin: BacklinksOrigin(model: Origin.self, property: property))
    }
    /// Null, because backlinks are computed, not stored.
    public var stored: Mixed { .null }
    /// Throws `invalid_argument`, because backlinks are computed.
    public init(stored: Mixed) throws { throw Self.notStored }
    /// Returns the linking objects.
    public static func _live(_ cell: StoredCell) throws -> BacklinkResults<Origin> {
        let table = try cell.table.context.table(Origin.self)
        return BacklinkResults(
            table,
            try ObjectStore.Results(
                backlinks: cell.property, of: cell.table.liveObject(cell.key)))
    }
    /// Throws `invalid_argument`, because backlinks cannot be elements.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> BacklinkResults<Origin> { throw notStored }
    /// Returns the frozen linking objects.
    public static func _frozen(
        _ element: StoredElement, in context: StoredContext
    ) throws -> [Frozen<Origin>] {
        guard case .list(let values) = element.value else { throw notStored }
        return try values.map { try BacklinkElement._frozen(StoredElement($0), in: context) }
    }
    /// Throws `invalid_argument`, because backlinks have no plain value.
    public static func _plain(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Backlinks { throw notStored }
    /// Throws `invalid_argument`, because backlinks are computed.
    public static func _element(
        of live: BacklinkResults<Origin>, in context: StoredContext
    ) throws -> StoredElement { throw notStored }

    private static var notStored: StoreError {
        StoreError(
            .invalidArgument, "backlinks are computed from the links; change the links instead")
    }
}

/// A value whose stored type depends on the value: backlinks, which contain the name of their link.
protocol DescribedByValue {
    var storedType: StoredType { get }
}
extension Backlinks: DescribedByValue {}

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
