/// Reads the elements of lists, sets and dictionaries.
struct CollectionReader {
    private let reader: NodeReader
    private let classes: [Int64: Int]

    init(_ reader: NodeReader, _ classes: [Int64: Int]) {
        self.reader = reader
        self.classes = classes
    }

    /// Returns the value of a collection property of an object; the reference 0 means an empty collection.
    func value(_ reference: Int64, _ property: RealmProperty) throws -> RealmValue {
        if property.collection == .dictionary {
            return .dictionary(try entries(reference, depth: 0))
        }
        var found: [RealmValue] = []
        if reference != 0 {
            let form = ElementForm(property, inCollection: true)
            found = try elements(reference, form, depth: 0)
            // Lists and sets omit links whose target was not synchronized.
            if form.type == .link { found.removeAll { $0 == .null } }
        }
        return property.collection == .set ? .set(found) : .list(found)
    }

    /// Returns the elements of a list or a set of mixed values.
    func mixed(_ reference: Int64, depth: Int) throws -> [RealmValue] {
        if reference == 0 { return [] }
        return try elements(reference, ElementForm(.mixed, isNullable: true), depth: depth)
    }

    /// Returns the elements of a B+tree.
    func elements(_ reference: Int64, _ form: ElementForm, depth: Int) throws -> [RealmValue] {
        var found: [RealmValue] = []
        let leaf = LeafValues(form, reader, classes)
        try reader.forEachLeaf(reference) { node in
            try leaf.decode(node, atMost: NodeReader.maximumLeafCount)
            for index in 0..<leaf.count { found.append(try leaf.value(index, depth: depth)) }
            return leaf.count
        }
        return found
    }

    /// Returns the entries of a dictionary.
    func entries(_ reference: Int64, depth: Int) throws -> [RealmEntry] {
        if reference == 0 { return [] }
        let node = try reader.node(reference)
        var keys: [RealmValue] = []
        var values: [RealmValue] = []
        if node.count == 2, !node.isInner {
            try node.require(node.hasReferences, "the dictionary", "has no keys")
            try reader.forEachLeaf(node.int(0)) { leaf in
                let found = try self.keys(leaf)
                keys += found
                return found.count
            }
            values = try elements(
                node.int(1), ElementForm(.mixed, isNullable: true), depth: depth)
        } else {
            // In formats 21 and 22, an entry is a row with a key and a value.
            let leaf = LeafValues(ElementForm(.mixed, isNullable: true), reader, classes)
            try reader.forEachCluster(reference) { cluster in
                guard cluster.node.count >= 3 else { return }
                let found = try self.keys(try reader.node(cluster.leaf(0)))
                try leaf.decode(try reader.node(cluster.leaf(1)), atMost: Cluster.maximumCount)
                try RealmFileError.require(
                    found.count == cluster.keys.count && leaf.count == cluster.keys.count,
                    "a dictionary has a different number of keys and values")
                keys += found
                for index in 0..<leaf.count { values.append(try leaf.value(index, depth: depth)) }
            }
        }
        try RealmFileError.require(
            keys.count == values.count,
            "a dictionary has \(keys.count) keys and \(values.count) values")
        return zip(keys, values).map { RealmEntry(key: $0, value: $1) }
    }

    /// Returns the keys of a leaf: integers or strings, depending on the form of the leaf.
    private func keys(_ node: Node) throws -> [RealmValue] {
        let isInteger = !node.hasReferences && node.encoding == .integers
        let form = ElementForm(isInteger ? .int : .string, isNullable: !isInteger)
        let leaf = LeafValues(form, reader, classes)
        try leaf.decode(node, atMost: NodeReader.maximumLeafCount)
        return try (0..<leaf.count).map { try leaf.value($0) }
    }
}

/// The storage format of the elements of a leaf.
struct ElementForm: Hashable {
    let type: RealmType
    let isNullable: Bool
    /// Whether a date is a number of seconds in a plain integer leaf, as in formats below 5.
    var isOldDate = false
    /// Whether the layout is that of formats below 10: nullable booleans are integers, and texts of medium length have
    /// a flag for values that are not null.
    var isOld = false
    /// The number to subtract from a stored link: 1 in columns, 0 in collections.
    var linkOffset: Int64 = 0
    /// The index of the target class of links.
    var target = -1
    /// Whether a link consists of two numbers: the table and the object.
    var isTypedLink = false
    /// The address of the distinct strings of an enumerated column; 0 for other columns.
    var enumeration: Int64 = 0

    init(_ type: RealmType, isNullable: Bool) {
        self.type = type
        self.isNullable = isNullable
    }

    /// Creates the form of the values of a property, in a column or in a collection.
    init(_ property: RealmProperty, inCollection: Bool) {
        type = property.type
        isNullable = property.isNullable
        let storage = property.storage
        isOld = storage.isOld
        isOldDate = storage.code == 7
        isTypedLink = storage.code == 16
        linkOffset = inCollection ? 0 : 1
        target = property.target ?? -1
        enumeration = storage.enumeration
    }
}
