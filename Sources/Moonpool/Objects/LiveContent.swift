import ObjectStore

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
