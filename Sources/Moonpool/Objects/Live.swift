import ColumnStorage
import ObjectStore
import StructLayouts

/// An object in a store: its properties are read from the store and written to it.
///
/// Read and assign properties by their names in the model. Assign in a write transaction. A live object is small, is
/// not Sendable, and belongs to its store's actor. To pass an object to another actor, use its ``objectID``, a
/// ``Frozen`` object or a plain value.
///
/// ```swift
/// let rex = try store.find(Dog.self, "Rex")!
/// print(rex.age ?? 0, rex.owner?.name ?? "no owner")
/// try await store.write { _ in rex.age = 4 }
/// ```
///
/// Members that cannot throw end the program in the cases in which ``get(_:)`` and ``set(_:to:)`` throw: after the
/// object is deleted, after the store is closed, and for an assignment outside of a write. In a write, the error of the
/// first failed assignment rolls back the write, which throws it.
@dynamicMemberLookup
public struct Live<M: ObjectModel> {
    @usableFromInline package let modelTable: ModelTable
    @usableFromInline package let objectKey: ObjectKey

    @inlinable
    package init(_ modelTable: ModelTable, _ objectKey: ObjectKey) {
        self.modelTable = modelTable
        self.objectKey = objectKey
    }

    /// Reads a property.
    @inlinable
    public subscript<V: StoredValue>(dynamicMember path: KeyPath<M, V>) -> V.LiveForm {
        // The slow branch does not use the key path, so that the compiler replaces a literal by its offset and never
        // creates it.
        guard let offset = MemoryLayout<M>.offset(of: path) else { refuse(path) }
        if modelTable.isObservable { modelTable.recordRead(of: objectKey, at: offset) }
        return V._read(StoredCell(modelTable, objectKey, offset: offset))
            ?? readSlowly(V.self, at: offset)
    }

    /// Reads or assigns a property.
    @inlinable
    public subscript<V: StoredValue>(dynamicMember path: WritableKeyPath<M, V>) -> V.LiveForm {
        get {
            guard let offset = MemoryLayout<M>.offset(of: path) else { refuse(path) }
            if modelTable.isObservable { modelTable.recordRead(of: objectKey, at: offset) }
            return V._read(StoredCell(modelTable, objectKey, offset: offset))
                ?? readSlowly(V.self, at: offset)
        }
        nonmutating set { assign(path, newValue) }
    }

    /// Reads a property whose name is also a member of Live.
    @inlinable
    public subscript<V: StoredValue>(_ path: KeyPath<M, V>) -> V.LiveForm {
        self[dynamicMember: path]
    }

    /// Reads or assigns a property whose name is also a member of Live.
    @inlinable
    public subscript<V: StoredValue>(_ path: WritableKeyPath<M, V>) -> V.LiveForm {
        get { self[dynamicMember: path] }
        nonmutating set { self[dynamicMember: path] = newValue }
    }

    /// Reads or assigns a list as an array: `rex.friends = [max, tom]`, `rex.tags = names`.
    @_disfavoredOverload
    public subscript<E: StoredValue>(dynamicMember path: WritableKeyPath<M, [E]>) -> [E.LiveForm]
    where E.ListForm == LiveList<E> {
        get { Array(self[dynamicMember: path] as LiveList<E>) }
        nonmutating set { assign(path, newValue, E.self) { .list(try $0.map($1)) } }
    }

    /// Reads or assigns a set.
    @_disfavoredOverload
    public subscript<E: StoredValue>(
        dynamicMember path: WritableKeyPath<M, Set<E>>
    ) -> Set<E.LiveForm> where E.LiveForm: Hashable {
        get { Set(self[dynamicMember: path] as LiveSet<E>) }
        nonmutating set { assign(path, newValue, E.self) { .list(try $0.map($1)) } }
    }

    /// Reads or assigns a map as a dictionary.
    @_disfavoredOverload
    public subscript<E: StoredValue>(
        dynamicMember path: WritableKeyPath<M, [String: E]>
    ) -> [String: E.LiveForm] {
        get {
            let map = self[dynamicMember: path] as LiveMap<E>
            return Dictionary(
                map.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
        nonmutating set {
            assign(path, newValue, E.self) { .dictionary(ValueMap(try $0.mapValues($1))) }
        }
    }

    /// Assigns a collection of live forms.
    private func assign<E: StoredValue, Values>(
        _ path: PartialKeyPath<M>, _ values: Values, _ type: E.Type,
        _ collect: (Values, (E.LiveForm) throws -> Value) throws -> Value
    ) {
        modelTable.context.assign {
            let cell = try cell(path)
            let value = try collect(values) { try E._element(of: $0, in: cell.context).value }
            try modelTable.liveObject(objectKey).set(cell.property.name, value)
        }
    }

    // The function consumes the object, so that only the slow path retains the table. Values of other types may run
    // code that releases the owner of the table.
    @usableFromInline @inline(never)
    consuming func readSlowly<V: StoredValue>(_ type: V.Type, at offset: Int) -> V.LiveForm {
        let cell = StoredCell(modelTable, objectKey, offset: offset)
        do {
            do {
                if let value = V._read(cell) { return value }
                return try V._live(cell)
            } catch let error as StoreError where error.code == .typeMismatch && isPresent {
                // The value is null in a property that is not optional in Swift, or a raw value without a case.
                let value = StructLayout<M>.read(V.self, at: offset, of: M())
                guard let form = value as? V.LiveForm else { throw error }
                return form
            }
        } catch {
            ModelContext.trap(error)
        }
    }

    /// Ends the program for a key path that is not a stored property.
    @usableFromInline @inline(never)
    func refuse(_ path: PartialKeyPath<M>) -> Never {
        do {
            _ = try cell(path)
            throw StoreError(
                .invalidArgument, "the key path is not a stored property of '\(M.className)'")
        } catch {
            ModelContext.trap(error)
        }
    }

    @usableFromInline @inline(never)
    func assign<V: StoredValue>(_ path: WritableKeyPath<M, V>, _ value: V.LiveForm) {
        modelTable.context.assign {
            let cell = try cell(path)
            let element = try V._element(of: value, in: cell.context)
            try modelTable.liveObject(objectKey).set(cell.property.name, element.value)
        }
    }

    private func cell(_ path: PartialKeyPath<M>) throws -> StoredCell {
        let description = try ModelRegistry.description(of: M.self)
        return StoredCell(modelTable, objectKey, offset: try description.field(of: path).offset)
    }

    private var isPresent: Bool { modelTable.liveObject(objectKey).isValid }

    /// Returns the plain value of a property: the ``Link`` of a link, the struct of an embedded object.
    ///
    /// Throws `invalid_object` if the object was deleted, `closed`, `type_mismatch` for a raw value without a case,
    /// `out_of_range`, `invalid_argument` for a key path that is not a stored property.
    public func get<V: StoredValue>(_ path: KeyPath<M, V>) throws -> V {
        let cell = try cell(path)
        if modelTable.isObservable { modelTable.recordRead(of: objectKey, at: cell.offset) }
        return try V._plain(StoredElement(cell.value()), in: cell.context)
    }

    /// Assigns a plain value: a ``Link``, an embedded struct, an array.
    ///
    /// Throws `not_in_write`, `invalid_object`, `out_of_range`, `missing_value`, `duplicate_key`, `closed`, and
    /// `invalid_argument` for the primary key.
    public func set<V: StoredValue>(_ path: WritableKeyPath<M, V>, to value: V) throws {
        let cell = try cell(path)
        let element = try value._element(in: cell.context)
        try modelTable.liveObject(objectKey).set(cell.property.name, element.value)
    }

    /// Whether the object exists and its store is open.
    public var isValid: Bool { isPresent }

    /// Whether the object was deleted or its store is closed; the opposite of ``isValid``.
    ///
    /// A read inside `withObservationTracking` or `Observations` registers: a view that shows "deleted" runs again when
    /// the object is deleted. To wait for the deletion on any actor, use the change ``ObjectChange/deleted(_:)``.
    ///
    /// ```swift
    /// withObservationTracking { rex.isInvalidated } onChange: { print("deleted or restored") }
    /// ```
    public var isInvalidated: Bool { !isPresent }

    /// The identity of the object, for any thread and any store of the file.
    public var objectID: ObjectID<M> { ObjectID(objectKey, in: modelTable.context.fileNumber) }

    /// The store that the object belongs to.
    public var objectStore: Store { Store(modelTable.context) }

    /// Returns the plain value with all properties.
    ///
    /// Throws `invalid_object` if the object was deleted, `closed`, `type_mismatch`, `out_of_range`.
    public func detached() throws -> M {
        try modelTable.detached(objectKey, as: M.self)
    }

    /// Returns a frozen copy of the object, for any thread.
    ///
    /// Throws `invalid_object` if the object was deleted, `already_in_write` if the open write has created it,
    /// `closed`.
    public func freeze() throws -> Frozen<M> {
        let frozen = try FrozenVersion.of(modelTable.context)
        _ = try modelTable.context.engine.freeze(modelTable.liveObject(objectKey))
        return Frozen(frozen, objectKey)
    }
}

extension ModelTable {
    /// Returns the plain value of an object.
    func detached<M: ObjectModel>(_ key: ObjectKey, as type: M.Type) throws -> M {
        let typed = try ModelRegistry.description(of: M.self)
        let view = try context.source.openView()
        recordRead(of: key)
        let latest = view.schema.find(table: classSchema.table) ?? classSchema
        guard try view.isPresent(ObjectReference(table: classSchema.table, key: key)) else {
            throw StoreError(
                .invalidObject, "this '\(description.className)' was deleted; check isValid first")
        }
        var model = M()
        for (index, field) in typed.fields.enumerated() where field.storedType.origin == nil {
            let property = try latest.requireProperty(field.name)
            let value = try view.value(property, of: key, in: latest)
            if case .null = value, !field.storedType.isOptional,
                field.storedType.type != .mixed
            {
                continue
            }
            do {
                try typed.assigns[index](&model, StoredElement(value), StoredContext(context))
            } catch let error as StoreError {
                throw StoreError(
                    error.code, "'\(description.className).\(field.name)': \(error.message)")
            }
        }
        return model
    }
}

extension Live: Hashable {
    /// Returns whether both are the same object of the same store.
    public static func == (left: Live, right: Live) -> Bool {
        left.objectKey == right.objectKey
            && left.modelTable.classSchema.table == right.modelTable.classSchema.table
            && left.modelTable.context.source.isSame(as: right.modelTable.context.source)
    }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(objectKey)
    }
}

extension Live: CustomStringConvertible {
    /// The class and the values of the properties.
    public var description: String {
        guard isValid else { return "\(modelTable.description.className) (deleted)" }
        return modelTable.text(of: objectKey)
    }
}

extension ModelTable {
    /// Returns the class and the values of an object's properties.
    func text(of key: ObjectKey) -> String {
        let view = context.source.view
        recordRead(of: key)
        let latest = view.schema.find(table: classSchema.table) ?? classSchema
        let values = description.fields.filter { $0.storedType.origin == nil }.map { field in
            let value = latest.property(named: field.name).flatMap {
                try? view.value($0, of: key, in: latest)
            }
            return "\(field.name): \(value?.summary ?? "?")"
        }
        return "\(description.className)(\(values.joined(separator: ", ")))"
    }
}

/// The content of a list, a set or a map: the engine's collection, or a literal that will be assigned to a property.
enum LiveContent<Engine: ObjectStore.LiveCollection, Literal> {
    case stored(Engine, ModelContext)
    case literal(Literal)

    /// The engine's collection.
    ///
    /// Throws `invalid_argument` for a literal.
    var stored: (engine: Engine, context: ModelContext) {
        get throws {
            if case .stored(let engine, let context) = self { return (engine, context) }
            let name =
                Engine.self == ObjectStore.LiveMap.self
                ? "map" : Engine.self == ObjectStore.LiveSet.self ? "set" : "list"
            throw StoreError(
                .invalidArgument, "this \(name) is a literal; assign it to a property first")
        }
    }

    func read<R>(_ body: (Engine, ModelContext) throws -> R) -> R {
        do {
            let (engine, context) = try stored
            return try body(engine, context)
        } catch { ModelContext.trap(error) }
    }

    /// Returns the stored values of a list or a set, for a property of another object.
    func values<Element: StoredValue>(in context: StoredContext) throws -> [Value]
    where Literal == [Element] {
        switch self {
        case .stored(let engine, let own):
            try context.context.received(engine.values(), from: own)
        case .literal(let values): try values.map { try $0._element(in: context).value }
        }
    }

    func change(_ body: (Engine, StoredContext) throws -> Void) {
        read { engine, context in
            context.assign { try body(engine, StoredContext(context)) }
        }
    }

    /// Returns an iterator over a copy of the current elements, which are converted one by one.
    func iterator<Item, Element>(
        _ items: (Engine) throws -> [Item],
        _ convert: @escaping (Item, StoredContext) throws -> Element
    ) -> AnyIterator<Element> {
        let (items, context) = read { (try items($0), StoredContext($1)) }
        var index = 0
        return AnyIterator {
            guard index < items.count else { return nil }
            defer { index += 1 }
            do { return try convert(items[index], context) } catch { ModelContext.trap(error) }
        }
    }
}

extension StoredContext {
    /// Returns the stored values of live forms.
    func values<Element: StoredValue>(
        _ live: some Sequence<Element.LiveForm>, of type: Element.Type
    ) throws -> [Value] {
        try live.map { try Element._element(of: $0, in: self).value }
    }
}

/// A list, a set or a map of a live object.
///
/// ``LiveList``, ``LiveSet`` and ``LiveMap`` conform.
public protocol LiveCollection<Change>: ChangeReporting {
    /// The type of the elements; for a map, the type of the values.
    associatedtype Member: StoredValue
    /// The stored collection.
    ///
    /// Throws `invalid_argument` for a literal.
    var _collection: StoredCollection { get throws }
    /// The number of elements.
    var count: Int { get }
}

/// The collection of an object in its store: opaque to programs.
public struct StoredCollection {
    let engine: any ObjectStore.LiveCollection
    let context: ModelContext

    init<Literal>(_ content: LiveContent<some ObjectStore.LiveCollection, Literal>) throws {
        (engine, context) = try content.stored
    }
}

extension LiveCollection {
    /// Whether there are no elements.
    public var isEmpty: Bool { count == 0 }
    /// Whether the owner exists.
    public var isValid: Bool { (try? _collection.engine.isValid) ?? false }
    /// Whether the owner was deleted or its store is closed; reads register like those of the elements.
    public var isInvalidated: Bool { !isValid }
}
