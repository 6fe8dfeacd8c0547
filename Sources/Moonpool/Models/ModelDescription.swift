import ObjectStore
import StructLayouts
import Synchronization
import SystemCalls

/// The description of a model: its class, and the accessors of each stored property.
///
/// It is created once for each model and exists until the process ends.
package class ModelDescription {
    package let type: any ObjectModel.Type
    package let className: String
    package let isEmbedded: Bool
    package let fields: [ModelField]
    /// The index in ``fields`` by byte offset; -1 if no stored property begins there.
    package let fieldsByOffset: [Int]
    package let compositeIndexes: [[String]]

    init(
        _ type: any ObjectModel.Type, fields: [ModelField], size: Int,
        compositeIndexes: [[String]]
    ) {
        self.type = type
        self.fields = fields
        self.compositeIndexes = compositeIndexes
        className = type.className
        isEmbedded = type is any EmbeddedModel.Type
        var byOffset = [Int](repeating: -1, count: max(size, 1))
        for (index, field) in fields.enumerated() where field.size > 0 {
            byOffset[field.offset] = index
        }
        fieldsByOffset = byOffset
    }

    /// Returns the class in the form of the engine's schema.
    func classSchema() throws -> ClassSchema {
        let properties = try fields.map { field in
            let type = field.storedType
            var origin: Property.Origin?
            if let link = type.origin {
                origin = Property.Origin(
                    className: link.model.className, property: try link.property())
            }
            var property = Property(
                field.name, type.type, isOptional: type.isOptional, collection: type.collection,
                target: type.target?.className, isPrimary: field.isPrimary,
                isIndexed: field.isIndexed, isFullText: field.isFullText,
                defaultValue: field.constantDefault, origin: origin)
            property.storedName = field.storedName
            property.rules = field.rules
            return property
        }
        return ClassSchema(
            className, properties, isEmbedded: isEmbedded,
            indexes: compositeIndexes.map { CompositeIndex($0) })
    }
}

/// One stored property of a model.
package struct ModelField: Sendable {
    package let name: String
    package let storedName: String
    package let offset: Int
    package let size: Int
    package let storedType: StoredType
    package let isPrimary: Bool
    package let isIndexed: Bool
    package let isFullText: Bool
    package let rules: PropertyRules
    /// The default that is the same for all objects, in the form of the engine's schema.
    package let constantDefault: Value?
    /// Computes the default of one object, if it differs between objects.
    package let computedDefault: (@Sendable () throws -> Value)?
}

/// The description of one model with its accessors.
package final class TypedDescription<M: ObjectModel>: ModelDescription {
    typealias Stage = (StructFields, StagedModel) throws -> Void
    typealias Assign = (inout M, StoredElement, StoredContext) throws -> Void

    /// Returns the value with the defaults and a primary key.
    func value(withKey key: Mixed) throws -> M {
        var value = M()
        try assignsStored[primaryIndex](&value, key)
        return value
    }

    /// Returns the primary key of a value.
    func key(of value: borrowing M) throws -> Mixed { stored[try primaryIndex](value) }

    private var primaryIndex: Int {
        get throws {
            guard let index = fields.firstIndex(where: \.isPrimary) else {
                throw StoreError(
                    .invalidArgument,
                    "'\(className)' has no primary key; declare one with ModelOptions(primaryKey:)")
            }
            return index
        }
    }

    let layout: StructLayout<M>
    /// For each field, a closure that passes the value to an inserter.
    let stages: [Stage]
    /// For each field, a closure that returns the value as an element.
    let elements: [(borrowing M, StoredContext) throws -> StoredElement]
    /// For each field, a closure that assigns the stored value.
    let assigns: [Assign]
    /// For each field, a closure that returns the value in a form that is independent of a store.
    let stored: [(borrowing M) -> Mixed]
    /// For each field, a closure that assigns a value in that form.
    let assignsStored: [(inout M, Mixed) throws -> Void]
    /// The properties that encoded data can contain, for a model that is Decodable.
    let decoded: [DecodedField<M>]

    init() throws {
        let sample = M()
        let content = M.options.content
        do {
            if content.fields.isEmpty {
                layout = try StructLayout(of: sample)
            } else {
                layout = try StructLayout(
                    of: sample,
                    listing: content.fields.compactMap { name, path in
                        (path as? PartialKeyPath<M>).map { (name, $0) }
                    })
            }
        } catch {
            throw StoreError(.invalidSchema, error.description)
        }
        let layout = layout
        func index(_ path: AnyKeyPath, _ purpose: String) throws -> Int {
            do {
                guard let path = path as? PartialKeyPath<M> else { return -1 }
                return try layout.index(of: path)
            } catch {
                throw StoreError(
                    .invalidSchema, "\(purpose) of '\(M.className)': \(error.description)")
            }
        }
        let primary = try content.primaryKey.map { try index($0, "the primary key") }
        let indexed = Set(try content.indexes.map { try index($0, "an index") })
        let fullText = Set(try content.fullText.map { try index($0, "a full-text index") })
        let ignored = Set(try content.ignored.map { try index($0, "an ignored property") })
        var storedNames: [Int: String] = [:]
        for (path, name) in content.renamed {
            storedNames[try index(path, "a renamed property")] = name
        }
        var rules: [Int: PropertyRules] = [:]
        for (path, set) in content.rules {
            set(&rules[try index(path, "a rule"), default: PropertyRules()])
        }
        let composite = try content.compositeIndexes.map {
            try $0.map { layout.fields[try index($0, "a composite index")].name }
        }
        let other = M()
        var fields: [ModelField] = []
        var stages: [Stage] = []
        var elements: [(borrowing M, StoredContext) throws -> StoredElement] = []
        var assigns: [Assign] = []
        var stored: [(borrowing M) -> Mixed] = []
        var assignsStored: [(inout M, Mixed) throws -> Void] = []
        for (number, field) in layout.fields.enumerated() where !ignored.contains(number) {
            guard let type = field.type as? any StoredValue.Type else {
                throw StoreError(
                    .invalidSchema,
                    "'\(M.className).\(field.name)' has the type \(field.type), which cannot be stored; "
                        + "conform it to StoredValue, or add the property to 'ignored'")
            }
            func add<V: StoredValue>(_ type: V.Type) throws {
                let offset = field.offset
                let position = fields.count
                let value = StructLayout<M>.read(V.self, at: offset, of: sample)
                let storedType = (value as? any DescribedByValue)?.storedType ?? V.storedType
                var constant: Value?
                var computed: (@Sendable () throws -> Value)?
                if storedType.type != .backlinks {
                    let second = StructLayout<M>.read(V.self, at: offset, of: other)
                    if value.stored != second.stored {
                        computed = {
                            StructLayout<M>.read(V.self, at: offset, of: M()).stored.engineValue
                        }
                    } else {
                        constant = Self.constant(value.stored.engineValue, storedType)
                    }
                }
                fields.append(
                    ModelField(
                        name: field.name, storedName: storedNames[number] ?? field.name,
                        offset: offset, size: field.size, storedType: storedType,
                        isPrimary: primary == number, isIndexed: indexed.contains(number),
                        isFullText: fullText.contains(number),
                        rules: rules[number] ?? PropertyRules(), constantDefault: constant,
                        computedDefault: computed))
                stored.append { StructLayout<M>.read(V.self, at: offset, of: $0).stored }
                assignsStored.append {
                    StructLayout<M>.assign(try V(stored: $1), at: offset, of: &$0)
                }
                if storedType.type == .backlinks {
                    stages.append { _, _ in }
                    elements.append { _, _ in StoredElement(.null) }
                    assigns.append { _, _, _ in }
                    return
                }
                stages.append(Self.stage(V.self, offset, position))
                elements.append { model, context in
                    try StructLayout<M>.read(V.self, at: offset, of: model)._element(in: context)
                }
                assigns.append { model, element, context in
                    let value = try V._plain(element, in: context)
                    StructLayout<M>.assign(value, at: offset, of: &model)
                }
            }
            try add(type)
        }
        assert(
            [stages.count, elements.count, assigns.count, stored.count, assignsStored.count]
                .allSatisfy { $0 == fields.count }, "each field has its accessors")
        self.stages = stages
        self.elements = elements
        self.assigns = assigns
        self.stored = stored
        self.assignsStored = assignsStored
        decoded = DecodedField.all(of: sample, in: layout)
        super.init(
            M.self, fields: fields, size: MemoryLayout<M>.size, compositeIndexes: composite)
    }

    /// Returns the default in the form of the schema; nil if it equals the engine's default.
    private static func constant(_ value: Value, _ type: StoredType) -> Value? {
        switch value {
        case .null, .object: nil
        case .list(let values) where values.isEmpty: nil
        case .dictionary(let values) where values.isEmpty: nil
        case .dictionary where type.type == .object: nil
        case .list where type.type == .object: nil
        default: value
        }
    }

    /// Returns a closure that passes one property to an inserter, specialized for the common types.
    private static func stage<V: StoredValue>(
        _ type: V.Type, _ offset: Int, _ position: Int
    ) -> Stage {
        if V.self == Int.self {
            return { $1.engine.set(position, int: Int64($0.read(Int.self, at: offset))) }
        }
        if V.self == String.self {
            return { $1.engine.set(position, string: $0.read(String.self, at: offset)) }
        }
        if V.self == Double.self {
            return { $1.engine.set(position, double: $0.read(Double.self, at: offset)) }
        }
        if V.self == Bool.self {
            return { $1.engine.set(position, bool: $0.read(Bool.self, at: offset)) }
        }
        return { fields, inserter in
            inserter.engine.set(
                position,
                try fields.read(V.self, at: offset)._element(in: inserter.context).value)
        }
    }

    /// Returns the field of a key path with one step.
    func field(of path: PartialKeyPath<M>) throws -> ModelField {
        let offset: Int
        do {
            offset = layout.fields[try layout.index(of: path)].offset
        } catch {
            throw StoreError(.invalidArgument, error.description)
        }
        let index = fieldsByOffset[offset]
        guard index >= 0 else {
            throw StoreError(
                .invalidArgument, "this property of '\(className)' is ignored and not stored")
        }
        return fields[index]
    }
}

/// The descriptions of the process's models.
package enum ModelRegistry {
    private static let known = Mutex<[ObjectIdentifier: Unchecked<ModelDescription>]>([:])

    /// Returns the description of a model.
    ///
    /// Throws `invalid_schema` for a type that cannot be a model.
    package static func description<M: ObjectModel>(of type: M.Type) throws -> TypedDescription<M> {
        let found = known.withLock { $0[ObjectIdentifier(type)] }
        if let found { return found.value as! TypedDescription<M> }
        // Runs outside the lock, because the defaults of a model are code of the program.
        let created = Unchecked<ModelDescription>(try TypedDescription<M>())
        let kept = known.withLock { known in
            if let other = known[ObjectIdentifier(type)] { return other }
            known[ObjectIdentifier(type)] = created
            return created
        }
        return kept.value as! TypedDescription<M>
    }

    /// Returns the description of a type that is not known statically.
    package static func erasedDescription(
        of type: any ObjectModel.Type
    ) throws -> ModelDescription {
        func open<M: ObjectModel>(_ type: M.Type) throws -> ModelDescription {
            try description(of: type)
        }
        return try open(type)
    }
}

/// A stored property of a model in the schema.
///
/// ```swift
/// for property in try Dog.storedProperties { print(property.name, property.typeName) }
/// ```
public struct ModelProperty: Hashable, Sendable {
    /// The name in Swift, in Lua and in predicates.
    public let name: String
    /// The name in the file.
    public let storedName: String
    /// The type in the notation of a schema: `int?`, `Toy[]`, `backlinks Person.dogs`.
    public let typeName: String
    /// Whether the property is the primary key.
    public let isPrimaryKey: Bool
    /// Whether the property has its own index.
    public let isIndexed: Bool
    /// Whether the property has a full-text index.
    public let isFullText: Bool

    init(_ property: Property) {
        name = property.name
        storedName = property.storedName
        typeName = property.typeName
        isPrimaryKey = property.isPrimary
        isIndexed = property.isIndexed
        isFullText = property.isFullText
    }
}

extension ObjectModel {
    /// The stored properties, in the order of the struct.
    ///
    /// Throws `invalid_schema` for a model that cannot be stored.
    public static var storedProperties: [ModelProperty] {
        get throws {
            try ModelRegistry.erasedDescription(of: Self.self).classSchema().properties
                .map(ModelProperty.init)
        }
    }
}

/// The content of ``ModelOptions`` without the type of the model.
package struct ModelOptionsContent: Sendable {
    // For the compiler, a key path is Sendable only if its type is. A key path without captured values is Sendable, and
    // a path to a stored property captures none.
    private let paths: Unchecked<Paths>

    private struct Paths {
        let primaryKey: AnyKeyPath?
        let indexes: [AnyKeyPath]
        let compositeIndexes: [[AnyKeyPath]]
        let fullText: [AnyKeyPath]
        let renamed: [(AnyKeyPath, String)]
        let ignored: [AnyKeyPath]
        let rules: [(AnyKeyPath, @Sendable (inout PropertyRules) -> Void)]
        let fields: [(String, AnyKeyPath)]
    }

    init(
        primaryKey: AnyKeyPath?, indexes: [AnyKeyPath], compositeIndexes: [[AnyKeyPath]],
        fullText: [AnyKeyPath], renamed: [(AnyKeyPath, String)], ignored: [AnyKeyPath],
        rules: [(AnyKeyPath, @Sendable (inout PropertyRules) -> Void)],
        fields: [(String, AnyKeyPath)]
    ) {
        paths = Unchecked(
            Paths(
                primaryKey: primaryKey, indexes: indexes, compositeIndexes: compositeIndexes,
                fullText: fullText, renamed: renamed, ignored: ignored, rules: rules,
                fields: fields))
    }

    var primaryKey: AnyKeyPath? { paths.value.primaryKey }
    var indexes: [AnyKeyPath] { paths.value.indexes }
    var compositeIndexes: [[AnyKeyPath]] { paths.value.compositeIndexes }
    var fullText: [AnyKeyPath] { paths.value.fullText }
    var renamed: [(AnyKeyPath, String)] { paths.value.renamed }
    var ignored: [AnyKeyPath] { paths.value.ignored }
    var rules: [(AnyKeyPath, @Sendable (inout PropertyRules) -> Void)] { paths.value.rules }
    var fields: [(String, AnyKeyPath)] { paths.value.fields }
}
