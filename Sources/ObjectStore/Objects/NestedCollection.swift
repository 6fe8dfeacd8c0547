import ColumnStorage

/// A list or a map inside a mixed value: a handle that follows its path from the stored value at each use.
///
/// Reading follows the path without decoding other elements. Writing decodes the whole value, changes it and stores it
/// again: it is meant for values of moderate size. Indexes are 0-based. Confined to the store's thread.
package struct NestedCollection {
    /// One step from a collection into it.
    package enum Step: Hashable, Sendable {
        /// To an element of a list.
        case index(Int)
        /// To an entry of a map.
        case key(String)
    }

    /// Where the outermost value is stored.
    package enum Place {
        /// A mixed property of an object.
        case property(LiveObject, Property)
        /// An element of a list of mixed values.
        case element(LiveList, Int)
        /// An entry of a map of mixed values.
        case entry(LiveMap, String)
    }

    /// Whether it is a list or a map.
    package enum Kind: Sendable {
        /// A list.
        case list
        /// A map with text as keys.
        case map

        /// The kind of a value; nil for one that is not a collection.
        init?(of value: Value) {
            switch value {
            case .list: self = .list
            case .dictionary: self = .map
            default: return nil
            }
        }
    }

    /// Where the outermost value is stored.
    package let place: Place
    /// The steps from there; empty for the outermost collection itself.
    package let path: [Step]
    /// The kind of the collection when the handle was created.
    package let kind: Kind

    /// The value of an element; a collection is not decoded.
    package enum Item {
        /// A value, no list or map.
        case value(Value)
        /// A list or map.
        case nested(NestedCollection)
    }

    init(_ place: Place, _ path: [Step], _ kind: Kind) {
        self.place = place
        self.path = path
        self.kind = kind
    }

    /// The collection at the end of a path from the value of a property; nil for a path that the property cannot have.
    ///
    /// The first step from a list or map of mixed values leads to one of them.
    init?(_ owner: LiveObject, _ property: Property, _ path: [Step], _ kind: Kind) {
        let key = owner.key
        switch (property.collection, path.first) {
        case (nil, _): self.init(.property(owner, property), path, kind)
        case (.list?, .index(let index)?):
            let list = LiveList(owner.source, owner.classSchema, property, key)
            self.init(.element(list, index), Array(path.dropFirst()), kind)
        case (.map?, .key(let name)?):
            let map = LiveMap(owner.source, owner.classSchema, property, key)
            self.init(.entry(map, name), Array(path.dropFirst()), kind)
        default: return nil
        }
    }

    /// The stored value in a place.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package static func item(at place: Place) throws -> Item {
        guard let bytes = try bytes(at: place) else { return .value(.null) }
        var reader = MixedReader(bytes)
        return reader.item(at: place, []) ?? .value(.null)
    }
}

extension NestedCollection {
    /// The store, or the frozen view, that the collection is read from.
    package var source: ObjectSource {
        switch place {
        case .property(let object, _): object.source
        case .element(let list, _): list.source
        case .entry(let map, _): map.source
        }
    }

    /// The object and the property that the value belongs to, and the steps from the value of the property.
    package var root: (owner: LiveObject, property: Property, path: [Step]) {
        switch place {
        case .property(let object, let property): (object, property, path)
        case .element(let list, let index):
            (
                LiveObject(list.source, list.classSchema, list.owner), list.property,
                [.index(index)] + path
            )
        case .entry(let map, let key):
            (LiveObject(map.source, map.classSchema, map.owner), map.property, [.key(key)] + path)
        }
    }

    /// The collection without its store.
    var address: NestedAddress {
        let root = root
        return NestedAddress(
            owner: root.owner.reference, column: root.property.column, path: root.path, kind: kind)
    }

    /// Whether both are handles of the same collection of the same store, or of the same version.
    package func isSame(as other: NestedCollection) -> Bool {
        address == other.address && source.isSame(as: other.source)
    }

    /// The same collection in another version, such as a frozen one.
    func moved(to source: ObjectSource) -> NestedCollection {
        let root = root
        let owner = LiveObject(source, root.owner.classSchema, root.owner.key)
        // The path is one that the property has.
        return NestedCollection(owner, root.property, root.path, kind) ?? self
    }

    /// The same collection at the end of another path from the value of the property.
    package func moved(toPath path: [Step]) -> NestedCollection {
        let root = root
        return NestedCollection(root.owner, root.property, path, kind) ?? self
    }

    /// Records the collection as a dependency of the running effect.
    func noteRead() {
        let root = root
        root.owner.source.noteRead(root.owner.classSchema, root.owner.key, root.property.column)
    }

    /// Whether there still is a collection of this kind at the end of the path.
    package var isValid: Bool { source.isOpen && (try? reader()) != nil }

    /// The number of elements or entries.
    ///
    /// Throws `invalid_object` if the owner was deleted or another value has replaced the collection.
    package func count() throws -> Int {
        var reader = try reader()
        return reader.head() ?? 0
    }

    /// The whole collection.
    ///
    /// Throws as ``count()``.
    package func value() throws -> Value {
        var reader = try located()
        return reader.value() ?? .null
    }

    /// The element at an index of a list, nil past the end.
    ///
    /// Throws as ``count()``.
    package func item(at index: Int) throws -> Item? {
        var reader = try reader()
        guard kind == .list, reader.enter(index) else { return nil }
        return reader.item(at: place, path + [.index(index)])
    }

    /// The value of an entry of a map, nil if it has none.
    ///
    /// Throws as ``count()``.
    package func item(forKey key: String) throws -> Item? {
        var reader = try reader()
        guard kind == .map, reader.enter(key) else { return nil }
        return reader.item(at: place, path + [.key(key)])
    }

    /// All elements of a list, or all entries of a map in the order of their keys.
    ///
    /// Throws as ``count()``.
    package func items() throws -> [(key: String?, item: Item)] {
        var reader = try reader()
        var items: [(key: String?, item: Item)] = []
        for index in 0..<(reader.head() ?? 0) {
            let key = kind == .map ? reader.key() : nil
            let step = key.map(Step.key) ?? .index(index)
            guard let item = reader.item(at: place, path + [step]) else { break }
            items.append((key, item))
        }
        return items
    }

    /// The keys of a map in the order of their bytes.
    ///
    /// Throws as ``count()``.
    package func keys() throws -> [String] {
        var reader = try reader()
        var keys: [String] = []
        for _ in 0..<(reader.head() ?? 0) {
            guard let key = reader.key(), reader.skip() else { break }
            keys.append(key)
        }
        return keys
    }

    /// The first index of an equal value in a list, or nil; 1 equals 1.0.
    ///
    /// Throws as ``count()``.
    package func firstIndex(of wanted: Value) throws -> Int? {
        guard case .list(let elements) = try value() else { return nil }
        return elements.firstIndex { ValueOrder.isEqual($0, wanted) }
    }

    /// A reader that has read the collection's tag.
    private func reader() throws -> MixedReader {
        var reader = try located()
        guard reader.tag() == (kind == .list ? .list : .map) else { throw gone() }
        return reader
    }

    /// A reader positioned at the beginning of the collection.
    private func located() throws -> MixedReader {
        guard let bytes = try Self.bytes(at: place) else { throw gone() }
        var reader = MixedReader(bytes)
        for step in path {
            let tag = reader.tag()
            switch step {
            case .index(let index):
                guard tag == .list, reader.enter(index) else { throw gone() }
            case .key(let key):
                guard tag == .map, reader.enter(key) else { throw gone() }
            }
        }
        return reader
    }

    static func bytes(at place: Place) throws -> [UInt8]? {
        switch place {
        case .property(let object, let property):
            let rows = try object.source.openView().table(object.classSchema)
            object.source.noteRead(object.classSchema, object.key, property.column)
            guard rows.isPresent(object.key) else {
                throw StoreError.deleted(object.classSchema.name)
            }
            return rows.bytes(property.column, object.key)
        case .element(let list, let index):
            return try list.bytes(at: index)
        case .entry(let map, let key):
            return try map.bytes(forKey: key)
        }
    }

    func gone() -> StoreError {
        StoreError(
            .invalidObject,
            "this \(kind == .list ? "list" : "map") inside a mixed value no longer exists: another value replaced it; "
                + "read it from its object again")
    }
}

extension MixedReader {
    /// The next value; a collection is gone past.
    fileprivate mutating func item(
        at place: NestedCollection.Place, _ path: [NestedCollection.Step]
    ) -> NestedCollection.Item? {
        let kind: NestedCollection.Kind
        switch nextTag {
        case .list: kind = .list
        case .map: kind = .map
        default: return value().map(NestedCollection.Item.value)
        }
        return skip() ? .nested(NestedCollection(place, path, kind)) : nil
    }
}
