/// A plain struct whose stored properties describe the objects of a class.
///
/// Conform to ``Model`` or ``EmbeddedModel``. The property values that `init()` sets are the defaults of new objects.
public protocol ObjectModel: Sendable {
    /// Creates a value with the defaults.
    init()
    /// The name of the class in the schema; by default the type's name without its outer types.
    static var className: String { get }
    /// The primary key, indexes and names; none by default.
    static var options: ModelOptions<Self> { get }
}

extension ObjectModel {
    /// The type's name without its outer types.
    public static var className: String {
        let name = "\(Self.self)"
        return name.split(separator: ".").last.map(String.init) ?? name
    }
    /// No primary key, no indexes.
    public static var options: ModelOptions<Self> { ModelOptions() }
}

/// A model whose objects exist on their own.
///
/// ```swift
/// struct Dog: Model {
///     var name = ""
///     var age: Int?
///     var owner: Link<Person>?
///     static let options = ModelOptions<Dog>(primaryKey: \.name)
/// }
/// ```
public protocol Model: ObjectModel {}

/// A model whose objects belong to one property of another object, and are deleted with it.
///
/// ```swift
/// struct Address: EmbeddedModel { var city = "" }
/// struct Person: Model { var home: Address? }
/// ```
public protocol EmbeddedModel: ObjectModel, StoredValue
where LiveForm == Live<Self>, FrozenForm == Frozen<Self>, Target == Self {}

/// The primary key, indexes and names of a model.
public struct ModelOptions<M: ObjectModel>: Sendable {
    // Key paths of literals are immutable, but PartialKeyPath is Sendable only if this is declared.
    package let content: ModelOptionsContent

    /// Creates options.
    ///
    /// - Parameters:
    ///   - primaryKey: The property that identifies an object.
    ///   - indexes: Properties with an index each.
    ///   - compositeIndexes: Indexes over several properties.
    ///   - fullText: Text properties with a full-text index.
    ///   - renamed: Names in the file that differ from those in Swift.
    ///   - ignored: Properties that are not stored.
    ///   - fields: All stored properties by name, for a type whose properties reflection cannot find.
    public init(
        primaryKey: PartialKeyPath<M>? = nil, indexes: [PartialKeyPath<M>] = [],
        compositeIndexes: [[PartialKeyPath<M>]] = [], fullText: [PartialKeyPath<M>] = [],
        renamed: KeyValuePairs<PartialKeyPath<M>, String> = [:],
        ignored: [PartialKeyPath<M>] = [], fields: KeyValuePairs<String, PartialKeyPath<M>> = [:]
    ) {
        content = ModelOptionsContent(
            primaryKey: primaryKey, indexes: indexes, compositeIndexes: compositeIndexes,
            fullText: fullText, renamed: renamed.map { ($0.key, $0.value) }, ignored: ignored,
            fields: fields.map { ($0.key, $0.value) })
    }
}
