import ColumnStorage

/// A handle of a list or a map inside a mixed value, which follows its path from the stored value at each use.
///
/// Reading and writing follow the path without decoding other elements. Writing copies the bytes of the whole value, so
/// values should be of moderate size. Indexes start at 0. A handle is confined to the store's thread.
package struct NestedCollection {
    /// One step from a collection to one of its elements.
    package enum Step: Hashable, Sendable {
        /// The step to the list element at this index.
        case index(Int)
        /// The step to the map entry with this key.
        case key(TextKey)
    }

    /// The location of the outermost value.
    package enum Location {
        /// A mixed property of an object.
        case property(LiveObject, Property)
        /// An element of a list of mixed values.
        case element(LiveList, Int)
        /// An entry of a map of mixed values.
        case entry(LiveMap, String)

        /// The object and the property of the value, and the step to the value in a list or map of mixed values.
        fileprivate var root: (owner: LiveObject, property: Property, step: Step?) {
            switch self {
            case .property(let object, let property): (object, property, nil)
            case .element(let list, let index): (list.header.object, list.property, .index(index))
            case .entry(let map, let key): (map.header.object, map.property, .key(TextKey(key)))
            }
        }
    }

    /// The kind of a collection.
    package enum Kind: Sendable {
        /// A list.
        case list
        /// A map with strings as keys.
        case map

        /// The kind of a value; nil for a value that is not a collection.
        init?(of value: Value) {
            switch value {
            case .list: self = .list
            case .dictionary: self = .map
            default: return nil
            }
        }
    }

    /// The location of the outermost value.
    package let location: Location
    /// The steps from the outermost value; empty for the outermost collection itself.
    package let path: [Step]
    /// The kind of the collection when the handle was created.
    package let kind: Kind
    /// Whether the collection was removed, even if its path leads to another one.
    private(set) var isRemoved = false

    /// The value of an element; a collection is not decoded.
    package enum Item {
        /// A value that is neither a list nor a map.
        case value(Value)
        /// A list or map.
        case nested(NestedCollection)
    }

    init(_ location: Location, _ path: [Step], _ kind: Kind) {
        self.location = location
        self.path = path
        self.kind = kind
    }

    /// Creates a handle of the collection at the end of a path from the value of a property; nil for a path that the
    /// property cannot have.
    ///
    /// The first step from a list or map of mixed values leads to one of these values.
    init?(at path: [Step], of property: Property, in owner: LiveObject, kind: Kind) {
        switch (property.collection, path.first) {
        case (nil, _): self.init(.property(owner, property), path, kind)
        case (.list?, .index(let index)?):
            let list = LiveList(owner.header(of: property))
            self.init(.element(list, index), Array(path.dropFirst()), kind)
        case (.map?, .key(let name)?):
            let map = LiveMap(owner.header(of: property))
            self.init(.entry(map, name.text), Array(path.dropFirst()), kind)
        default: return nil
        }
    }

    /// Returns the stored value at a location.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package static func item(at location: Location) throws -> Item {
        guard let bytes = try bytes(at: location) else { return .value(.null) }
        var reader = MixedReader(bytes)
        return reader.item(at: location, []) ?? .value(.null)
    }
}

extension NestedCollection {
    /// The store, or the frozen view, from which the collection is read.
    package var source: ObjectSource { location.root.owner.source }

    /// The object and the property of the value, and the steps from the value of the property.
    package var root: (owner: LiveObject, property: Property, path: [Step]) {
        let (owner, property, step) = location.root
        return (owner, property, (step.map { [$0] } ?? []) + path)
    }

    /// The address of the collection, without its store.
    var address: NestedAddress {
        let root = root
        return NestedAddress(
            owner: root.owner.reference, column: root.property.column, path: root.path, kind: kind)
    }

    /// Returns whether both handles refer to the same collection of the same store or frozen version.
    package func isSame(as other: NestedCollection) -> Bool {
        address == other.address && isRemoved == other.isRemoved
            && source.isSame(as: other.source)
    }

    /// Returns the same collection in another version, such as a frozen one.
    func moved(to source: ObjectSource) -> NestedCollection {
        let root = root
        let owner = LiveObject(source, root.owner.classSchema, root.owner.key)
        // The path is valid, because it is the path of this handle.
        var moved =
            NestedCollection(at: root.path, of: root.property, in: owner, kind: kind) ?? self
        moved.isRemoved = isRemoved
        return moved
    }

    /// Returns the same collection after a change that its observer received: at its new path, or invalid if it was
    /// removed.
    package func after(_ change: CollectionChange) -> NestedCollection {
        let (root, path) = (root, change.nestedPath)
        var moved =
            path.flatMap {
                NestedCollection(at: $0, of: root.property, in: root.owner, kind: kind)
            } ?? self
        moved.isRemoved = !change.isCollectionValid
        return moved
    }

    /// Records the collection as a dependency of the running reaction.
    func recordRead() {
        let root = root
        root.owner.source.recordRead(root.owner.classSchema, root.owner.key, root.property.column)
    }

    /// Whether the path still leads to a collection of this kind.
    package var isValid: Bool { source.isOpen && (try? reader()) != nil }

    /// Returns the number of elements or entries.
    ///
    /// Throws `invalid_object` if the owner was deleted or another value has replaced the collection.
    package func count() throws -> Int {
        var reader = try reader()
        return reader.head() ?? 0
    }

    /// Returns the whole collection as a value.
    ///
    /// Throws the errors of ``count()``.
    package func value() throws -> Value {
        try follow { trail in
            guard var reader = trail.follow(path) else { throw removedError() }
            return reader.value() ?? .null
        }
    }

    /// Returns the element at an index of a list; nil past the end.
    ///
    /// Throws the errors of ``count()``.
    package func item(at index: Int) throws -> Item? { try item(.index(index), of: .list) }

    /// Returns the value of a key in a map; nil if the map does not have the key.
    ///
    /// Throws the errors of ``count()``.
    package func item(forKey key: String) throws -> Item? { try item(.key(TextKey(key)), of: .map) }

    private func item(_ step: Step, of kind: Kind) throws -> Item? {
        try follow { trail in
            _ = try reader(trail.follow(path))
            let path = path + [step]
            guard self.kind == kind, var reader = trail.follow(path) else { return nil }
            return reader.item(at: location, path)
        }
    }

    /// Returns all elements of a list, or all entries of a map in the order of their keys.
    ///
    /// Throws the errors of ``count()``.
    package func items() throws -> [(key: String?, item: Item)] {
        var reader = try reader()
        var items: [(key: String?, item: Item)] = []
        for index in 0..<(reader.head() ?? 0) {
            let key = kind == .map ? reader.key() : nil
            let step = key.map { Step.key(TextKey($0)) } ?? .index(index)
            guard let item = reader.item(at: location, path + [step]) else { break }
            items.append((key, item))
        }
        return items
    }

    /// Returns the keys of a map in byte order.
    ///
    /// Throws the errors of ``count()``.
    package func keys() throws -> [String] {
        var reader = try reader()
        var keys: [String] = []
        for _ in 0..<(reader.head() ?? 0) {
            guard let key = reader.key(), reader.skip() else { break }
            keys.append(key)
        }
        return keys
    }

    /// Returns the first index of an equal value in a list, or nil; 1 equals 1.0.
    ///
    /// Throws the errors of ``count()``.
    package func firstIndex(of wanted: Value) throws -> Int? {
        guard case .list(let elements) = try value() else { return nil }
        return elements.firstIndex { ValueOrder.isEqual($0, wanted) }
    }

    /// Returns a reader that has already read the tag of the collection.
    private func reader() throws -> MixedReader { try follow { try reader($0.follow(path)) } }

    private func reader(_ located: MixedReader?) throws -> MixedReader {
        guard var reader = located, reader.tag() == (kind == .list ? .list : .map) else {
            throw removedError()
        }
        return reader
    }

    /// Calls `body` with the trail from the outermost value, which the view keeps for the value that was used last.
    private func follow<Result>(_ body: (inout MixedTrail) throws -> Result) throws -> Result {
        let view = try source.openView()
        if !isRemoved, try !Self.isRecent(location, in: view) {
            view.recentMixed = try Self.bytes(at: location).map {
                RecentMixedValue(location, $0, in: view)
            }
        }
        guard !isRemoved, var recent = view.recentMixed else { throw removedError() }
        // The trail is changed in place, and after an error it may differ from the stored value.
        view.recentMixed = nil
        let result = try body(&recent.trail)
        recent.stamp = ViewStamp(view)
        view.recentMixed = recent
        return result
    }

    /// Returns whether the view has the value at a location, which is then a dependency of the running reaction.
    private static func isRecent(_ location: Location, in view: StoreView) throws -> Bool {
        guard let recent = view.recentMixed, recent.isCurrent(location, in: view) else {
            return false
        }
        let (owner, property, _) = location.root
        owner.source.recordRead(owner.classSchema, owner.key, property.column)
        return true
    }

    static func bytes(at location: Location) throws -> [UInt8]? {
        let view = try location.root.owner.source.openView()
        if try isRecent(location, in: view) { return view.recentMixed?.trail.bytes }
        switch location {
        case .property(let object, let property):
            let rows = try view.table(object.classSchema)
            object.source.recordRead(object.classSchema, object.key, property.column)
            guard try rows.isPresent(object.key) else {
                throw StoreError.deleted(object.classSchema.name)
            }
            return try rows.bytes(property.column, object.key)
        case .element(let list, let index):
            return try list.bytes(at: index)
        case .entry(let map, let key):
            return try map.bytes(forKey: key)
        }
    }

    func removedError() -> StoreError {
        StoreError(
            .invalidObject,
            "this \(kind == .list ? "list" : "map") inside a mixed value no longer exists: another value replaced it; "
                + "read it from its object again")
    }
}

extension MixedReader {
    /// Reads the next value; skips the contents of a collection.
    fileprivate mutating func item(
        at location: NestedCollection.Location, _ path: [NestedCollection.Step]
    ) -> NestedCollection.Item? {
        let kind: NestedCollection.Kind
        switch nextTag {
        case .list: kind = .list
        case .map: kind = .map
        default: return value().map(NestedCollection.Item.value)
        }
        return skip() ? .nested(NestedCollection(location, path, kind)) : nil
    }
}

extension NestedCollection {
    /// Replaces the element at an index of a list.
    ///
    /// Throws `not_in_write`, `out_of_range`, `invalid_object`, `type_mismatch`, `invalid_argument`, `frozen`.
    package func set(_ value: Value, at index: Int) throws {
        try editList(adding: [value]) { trail, count in
            try check(index, count, count)
            return trail.replace(index..<index + 1, at: path, by: [value])
        }
    }

    /// Adds values at the end of a list.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func append(_ values: [Value]) throws {
        try editList(adding: values) { trail, count in
            trail.replace(count..<count, at: path, by: values)
        }
    }

    /// Inserts a value into a list at an index; the count is a valid index.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func insert(_ value: Value, at index: Int) throws {
        try editList(adding: [value]) { trail, count in
            try check(index, count + 1, count)
            return trail.replace(index..<index, at: path, by: [value])
        }
    }

    /// Removes the element at an index of a list.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func remove(at index: Int) throws {
        try editList { trail, count in
            try check(index, count, count)
            return trail.replace(index..<index + 1, at: path, by: [])
        }
    }

    /// Moves an element of a list to an index in the list without this element.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func move(from: Int, to destination: Int) throws {
        try editList { trail, count in
            try check(from, count, count)
            try check(destination, count, count)
            guard let element = element(from, &trail) else { return false }
            return trail.replace(from..<from + 1, at: path, by: [])
                && trail.replace(destination..<destination, at: path, by: [element])
        }
    }

    /// Exchanges two elements.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func swap(_ first: Int, _ second: Int) throws {
        try editList { trail, count in
            try check(first, count, count)
            try check(second, count, count)
            guard let one = element(first, &trail), let other = element(second, &trail) else {
                return false
            }
            return trail.replace(first..<first + 1, at: path, by: [other])
                && trail.replace(second..<second + 1, at: path, by: [one])
        }
    }

    private func element(_ index: Int, _ trail: inout MixedTrail) -> Value? {
        var reader = trail.follow(path + [.index(index)])
        return reader?.value()
    }

    /// Sets an entry of a map; a nil value is stored.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func set(_ value: Value, forKey key: String) throws {
        try edit(.map, adding: [value]) { trail, _ in trail.set(key, at: path, to: value) }
    }

    /// Removes an entry of a map; returns false if the map does not have the key.
    ///
    /// Throws the errors of ``set(_:at:)``.
    @discardableResult  // because most callers only need the key to be absent afterward
    package func removeValue(forKey key: String) throws -> Bool {
        try checkWritable()
        guard try item(forKey: key) != nil else { return false }
        try edit(.map) { trail, _ in trail.set(key, at: path, to: nil) }
        return true
    }

    /// Removes all elements.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func removeAll() throws {
        try checkWritable()
        guard try count() > 0 else { return }
        try edit(kind) { trail, count in trail.replace(0..<count, at: path, by: []) }
    }

    private func editList(
        adding values: [Value] = [], _ change: (inout MixedTrail, _ count: Int) throws -> Bool
    ) throws {
        try edit(.list, adding: values, change)
    }

    /// Changes the bytes of the outermost value, and stores them; `change` returns false for damaged bytes.
    private func edit(
        _ kind: Kind, adding values: [Value] = [],
        _ change: (inout MixedTrail, _ count: Int) throws -> Bool
    ) throws {
        try checkWritable()
        let (owner, property, _) = root
        try follow { trail in
            let writer = try source.writableStore().writer(
                changing: property, of: owner.key, in: owner.classSchema)
            for value in values {
                try ValueConversion.checkDepth(
                    value, property, owner.classSchema, depth: path.count + 1)
                try ObjectCreation(writer).checkLinks(value, property, owner.classSchema)
            }
            trail.keepsLinks = true
            guard kind == self.kind, let count = trail.count(at: path, kind),
                try change(&trail, count)
            else { throw removedError() }
            try ValueConversion.checkSize(of: trail.bytes, property, owner.classSchema)
            switch location {
            case .property(let object, let property):
                writer.session.set(
                    object.classSchema.table, property.column, object.key, mixed: trail.bytes,
                    keepsLinks: trail.keepsLinks)
            case .element(let list, let index): try list.set(bytes: trail.bytes, at: index)
            case .entry(let map, let key): try map.set(bytes: trail.bytes, forKey: key)
            }
        }
    }

    private func checkWritable() throws {
        try source.writableStore().requireWrite(kind == .list ? "a list" : "a map")
    }

    private func check(_ index: Int, _ limit: Int, _ count: Int) throws {
        guard (0..<limit).contains(index) else {
            throw StoreError.outside(
                index, of: "the list of length \(count) inside a mixed value")
        }
    }
}

/// The mixed value that was used last: a loop that reads or changes its elements reads it once.
struct RecentMixedValue {
    private let owner: ObjectReference
    private let column: ColumnID
    private let step: NestedCollection.Step?
    var stamp: ViewStamp
    var trail: MixedTrail

    fileprivate init(
        _ location: NestedCollection.Location, _ bytes: [UInt8], in view: StoreView
    ) {
        let root = location.root
        owner = root.owner.reference
        column = root.property.column
        step = root.step
        stamp = ViewStamp(view)
        trail = MixedTrail(bytes)
    }

    /// Whether this is the value at a location in the current state of the view.
    fileprivate func isCurrent(_ location: NestedCollection.Location, in view: StoreView) -> Bool {
        let root = location.root
        return owner == root.owner.reference && column == root.property.column && step == root.step
            && view.isCurrent(stamp) { $0 ?? column == column && $1 == owner.table }
    }
}

/// The address of a list or map inside a mixed value, independent of a store; observers and references keep it.
package struct NestedAddress: Hashable, Sendable {
    /// The object with the mixed value.
    let owner: ObjectReference
    /// The column of the mixed property.
    let column: ColumnID
    /// The steps from the value of the property to the collection; for a list or map of mixed values, the first step
    /// leads to one of them.
    var path: [NestedCollection.Step]
    /// Whether the collection is a list or a map.
    let kind: NestedCollection.Kind

    /// Returns the collection in a version: a list or a dictionary; nil if the version has no collection of this kind
    /// at the address.
    func value(in view: StoreView) throws -> Value? {
        guard let root = try Self.root(owner, column, in: view) else { return nil }
        let found = path.reduce(root as Value?) { value, step in value?.element(at: step) }
        return found.flatMap { $0.isNested(kind) ? $0 : nil }
    }

    /// Returns the address of the same collection after a step, and its value there; nil if it was removed.
    ///
    /// Insertions and removals before a collection inside a list change its address.
    func followed(along step: VersionStep) throws -> (address: NestedAddress, value: Value)? {
        guard var old = try Self.root(owner, column, in: step.old),
            var new = try Self.root(owner, column, in: step.new)
        else { return nil }
        var moved = self
        for (position, part) in path.enumerated() {
            var next = part
            if case .index(let index) = part, case .list(let olds) = old,
                case .list(let news) = new
            {
                let alignment = ElementAlignment(from: olds, to: news)
                guard olds.indices.contains(index), let newIndex = alignment.newPositions[index]
                else {
                    return nil
                }
                next = .index(newIndex)
            }
            guard let oldElement = old.element(at: part), let newElement = new.element(at: next)
            else { return nil }
            moved.path[position] = next
            (old, new) = (oldElement, newElement)
        }
        return new.isNested(kind) ? (moved, new) : nil
    }

    /// Returns the value of the property, with a list or map of mixed values as one value.
    private static func root(
        _ owner: ObjectReference, _ column: ColumnID, in view: StoreView
    ) throws -> Value? {
        guard let classSchema = view.schema.find(table: owner.table),
            let property = classSchema.property(in: column), property.type == .mixed,
            try view.isPresent(owner)
        else { return nil }
        return try view.value(property, of: owner.key, in: classSchema)
    }
}

extension Value {
    /// Returns the element that a step selects; nil if it does not exist.
    fileprivate func element(at step: NestedCollection.Step) -> Value? {
        switch (self, step) {
        case (.list(let elements), .index(let index)):
            elements.indices.contains(index) ? elements[index] : nil
        case (.dictionary(let entries), .key(let key)): entries[key.text]
        default: nil
        }
    }

    /// Returns whether the value is a collection of a kind.
    fileprivate func isNested(_ kind: NestedCollection.Kind) -> Bool {
        switch self {
        case .list: kind == .list
        case .dictionary: kind == .map
        default: false
        }
    }

    /// The elements of a list, or the values of a map with their keys in byte order; empty for other values.
    var nestedElements: (keys: [String], values: [Value]) {
        switch self {
        case .list(let elements): return ([], elements)
        case .dictionary(let entries):
            let sorted = entries.inByteOrder
            return (sorted.map(\.key), sorted.map(\.value))
        default: return ([], [])
        }
    }
}
