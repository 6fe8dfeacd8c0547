import ColumnStorage
import ObjectStore
import Synchronization

/// A link to an object, as the value of a model's property.
///
/// A live object shows the linked object instead: `rex.owner?.name`, `rex.owner = ann`.
///
/// ```swift
/// struct Dog: Model {
///     var owner: Link<Person>?
///     var siblings: [Link<Dog>] = []
/// }
/// try tx.insert(Dog(owner: Link(ann), siblings: [.new(Dog())]))
/// ```
public struct Link<M: Model>: Hashable, Sendable {
    private enum Content: Sendable {
        case id(ObjectID<M>)
        case primaryKey(Mixed)
        case new(Box)
    }

    private final class Box: Sendable {
        let value: M
        init(_ value: M) { self.value = value }
    }

    private let content: Content
    /// The primary key of an object with a known ID, if it was read with the link.
    private var knownKey: Mixed?

    /// Creates a link to an object.
    public init(_ object: Live<M>) {
        content = .id(object.objectID)
        knownKey = object.modelTable.primaryKey(of: object.objectKey)
    }

    /// Creates a link to the object with an ID.
    public init(_ id: ObjectID<M>) { content = .id(id) }

    /// Creates a link to the object with a primary key, which is looked up on insertion.
    ///
    /// The insertion throws `invalid_object` if the object does not exist.
    public init(primaryKey: some StoredValue & Hashable) {
        content = .primaryKey(primaryKey.stored)
    }

    private init(_ content: Content) { self.content = content }

    /// Creates a link to a new object, which is inserted together with the linking value.
    public static func new(_ value: M) -> Link { Link(.new(Box(value))) }

    /// The identity of the object; nil before a primary key is looked up or a new object is inserted.
    public var objectID: ObjectID<M>? {
        if case .id(let id) = content { id } else { nil }
    }

    /// Returns whether both link to the same object: by ID, by primary key, or to the same new value.
    public static func == (left: Link, right: Link) -> Bool {
        switch (left.content, right.content) {
        case (.id(let left), .id(let right)): left == right
        case (.primaryKey(let left), .primaryKey(let right)): left == right
        case (.new(let left), .new(let right)): left === right
        default: false
        }
    }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) {
        switch content {
        case .id(let id): hasher.combine(id)
        case .primaryKey(let key): hasher.combine(key)
        case .new(let box): hasher.combine(ObjectIdentifier(box))
        }
    }
}

extension Link: StoredValue {
    /// The linked object.
    public typealias LiveForm = Live<M>
    /// The frozen linked object.
    public typealias FrozenForm = Frozen<M>
    /// The linked model.
    public typealias Target = M

    /// A link to the model.
    public static var storedType: StoredType { StoredType(.object, target: M.self) }
    /// The object's ID; null for a link that is not resolved.
    public var stored: Mixed {
        switch content {
        case .id(let id): .object(AnyObjectID(id))
        case .primaryKey(let key): key
        case .new: .null
        }
    }
    /// Creates a link from an object's ID.
    public init(stored: Mixed) throws {
        guard case .object(let id) = stored, id.className == M.className else {
            throw stored.mismatch(expected: "a link to '\(M.className)'")
        }
        content = .id(ObjectID(id.reference.key, in: id.file))
    }
    /// Reads the column.
    public static func _read(_ cell: StoredCell) -> Live<M>? {
        guard let linked = try? cell.table.rows.link(cell.column, cell.key),
            let target = try? cell.table.context.table(M.self)
        else { return nil }
        return Live(target, linked)
    }
    /// True: every value that is not null can be read from the column.
    public static var _hasFastRead: Bool { true }
    /// Returns the linked object.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Live<M> {
        Live(try context.context.table(M.self), try reference(element).key)
    }
    /// Returns the frozen linked object.
    public static func _frozen(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Frozen<M> {
        Frozen(try FrozenVersion.of(context.context), try reference(element).key)
    }
    /// Returns the link.
    public static func _plain(_ element: StoredElement, in context: StoredContext) throws -> Link {
        var link = Link(
            ObjectID(try reference(element).key, in: context.context.fileNumber))
        link.knownKey = try context.context.table(M.self).primaryKey(
            of: try reference(element).key)
        return link
    }

    private static func reference(_ element: StoredElement) throws -> ObjectReference {
        guard case .object(let reference) = element.value else {
            throw Mixed(element.value).mismatch(expected: "a link to '\(M.className)'")
        }
        return reference
    }

    /// Returns the linked object's row, or the values of a new object.
    public func _element(in context: StoredContext) throws -> StoredElement {
        switch content {
        case .id(let id) where !context.context.owns(id.file) && knownKey != nil:
            return try Link(.primaryKey(knownKey ?? .null))._element(in: context)
        case .id(let id):
            let table = try context.context.table(M.self)
            try context.context.requireOwn(id.file, M.className)
            guard try table.rows.isPresent(id.key) else {
                throw StoreError(
                    .invalidObject, "the linked '\(M.className)' does not exist in this store")
            }
            return StoredElement(
                .object(ObjectReference(table: table.classSchema.table, key: id.key)))
        case .primaryKey(let key):
            let engine = try context.context.engine
            guard
                let found = try engine.object(M.className, primaryKey: key.engineValue)
            else {
                throw StoreError(
                    .invalidObject, "there is no '\(M.className)' with the primary key \(key)")
            }
            return StoredElement(.object(found.reference))
        case .new(let box):
            return StoredElement(try ModelValues.dictionary(of: box.value, in: context))
        }
    }
    /// Returns the object's row.
    public static func _element(
        of live: Live<M>, in context: StoredContext
    ) throws -> StoredElement {
        try context.context.requireOwn(live.modelTable.context.fileNumber, M.className)
        return StoredElement(
            .object(
                ObjectReference(table: live.modelTable.classSchema.table, key: live.objectKey)))
    }
}

extension Link: Codable {
    /// Decodes a primary key; for a model without one, the object's number.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if (try? ModelRegistry.description(of: M.self).fields.contains { $0.isPrimary }) == true {
            content = .primaryKey(try Self.primaryKey(container))
        } else {
            content = .id(
                ObjectID(ObjectKey(rawValue: try container.decode(Int64.self)), in: 0))
        }
    }

    private static func primaryKey(_ container: any SingleValueDecodingContainer) throws -> Mixed {
        let field = try ModelRegistry.description(of: M.self).fields.first { $0.isPrimary }
        // A key in the form of a mixed value has the name of its type.
        if let key = try? container.decode(Mixed.self) {
            switch key {
            case .uuid, .objectID: return key
            default: break
            }
        }
        return switch field?.storedType.type {
        case .string: .string(try container.decode(String.self))
        case .uuid: .uuid(try container.decode(UUIDValue.self))
        case .objectID: .objectID(try container.decode(ObjectIDValue.self))
        default: .int(try container.decode(Int.self))
        }
    }

    private static func encode(
        _ key: Mixed, to container: inout any SingleValueEncodingContainer
    ) throws {
        switch key {
        case .uuid(let identifier): try container.encode(identifier)
        case .objectID(let identifier): try container.encode(identifier)
        default: try container.encode(key)
        }
    }

    /// Encodes the primary key; for a model without one, the object's number.
    ///
    /// Throws for a new object, and for a link with an unknown primary key, which was read from a store by its ID.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch content {
        case .primaryKey(let key): try Self.encode(key, to: &container)
        case .id(let id):
            if let key = knownKey {
                try Self.encode(key, to: &container)
            } else {
                try container.encode(id.key.rawValue)
            }
        case .new:
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: encoder.codingPath,
                    debugDescription: "a link to a new '\(M.className)' has no identity yet"))
        }
    }
}

/// The values of a model in the form from which the engine creates an object.
enum ModelValues {
    static func dictionary<M: ObjectModel>(
        of model: M, in context: StoredContext
    ) throws -> Value {
        let typed = try ModelRegistry.description(of: M.self)
        var values = ValueMap()
        for (index, field) in typed.fields.enumerated() where field.storedType.origin == nil {
            values[field.name] = try typed.elements[index](model, context).value
        }
        return .dictionary(values)
    }
}

extension EmbeddedModel {
    /// An embedded object.
    public static var storedType: StoredType { StoredType(.object, target: Self.self).optional() }
    /// The properties as a map.
    public var stored: Mixed {
        guard let typed = try? ModelRegistry.description(of: Self.self) else { return .null }
        var values: [String: Mixed] = [:]
        for (index, field) in typed.fields.enumerated() where field.storedType.origin == nil {
            values[field.name] = typed.stored[index](self)
        }
        return .map(values)
    }
    /// Creates the value from a map of its properties.
    public init(stored: Mixed) throws {
        guard case .map(let values) = stored else {
            throw stored.mismatch(expected: "the values of '\(Self.className)'")
        }
        var model = Self()
        let typed = try ModelRegistry.description(of: Self.self)
        for (index, field) in typed.fields.enumerated() {
            guard let value = values[field.name] else { continue }
            try typed.assignsStored[index](&model, value)
        }
        self = model
    }
    /// Returns the embedded object.
    public static func _read(_ cell: StoredCell) -> Live<Self>? {
        guard let linked = try? cell.table.rows.link(cell.column, cell.key),
            let target = try? cell.table.context.table(Self.self)
        else { return nil }
        return Live(target, linked)
    }
    /// True: every value that is not null can be read from the column.
    public static var _hasFastRead: Bool { true }
    /// Returns the embedded object.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Live<Self> {
        Live(try context.context.table(Self.self), try reference(element).key)
    }
    /// Returns the frozen embedded object.
    public static func _frozen(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Frozen<Self> {
        Frozen(try FrozenVersion.of(context.context), try reference(element).key)
    }
    /// Returns the embedded object's values.
    public static func _plain(_ element: StoredElement, in context: StoredContext) throws -> Self {
        let table = try context.context.table(Self.self)
        return try table.detached(try reference(element).key, as: Self.self)
    }
    private static func reference(_ element: StoredElement) throws -> ObjectReference {
        guard case .object(let reference) = element.value else {
            throw Mixed(element.value).mismatch(expected: "an embedded '\(Self.className)'")
        }
        return reference
    }
    /// Returns the values.
    public func _element(in context: StoredContext) throws -> StoredElement {
        StoredElement(try ModelValues.dictionary(of: self, in: context))
    }
    /// Returns the values of a live embedded object, for a copy.
    public static func _element(
        of live: Live<Self>, in context: StoredContext
    ) throws -> StoredElement {
        try live.detached()._element(in: context)
    }
    /// A value with the defaults.
    public static var _placeholder: Self? { Self() }
}
