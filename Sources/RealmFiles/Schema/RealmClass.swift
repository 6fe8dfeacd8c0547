/// The type of a property of a Realm file, or of the elements of a collection.
package enum RealmType: String, Hashable, Sendable {
    case int, bool, string, binary, mixed, timestamp, float, double, decimal, link, uuid
    /// An object id of 12 bytes.
    case objectID = "objectId"
    /// A subtable, which exists in formats below 10.
    case table
}

/// The kind of a collection.
package enum RealmCollection: String, Hashable, Sendable {
    case list, set, dictionary
}

/// The kind of an index of a property.
package enum RealmIndex: String, Hashable, Sendable {
    case general, fullText
}

/// A property of a class of a Realm file.
package struct RealmProperty: Hashable, Sendable {
    /// The name.
    ///
    /// It can be empty, and in old files two properties of a class can have the same name.
    package let name: String
    /// The type of the value, or of the elements of a collection.
    package let type: RealmType
    /// Whether the value, or an element of the collection, can be null.
    package let isNullable: Bool
    /// The kind of collection; nil for a single value.
    package let collection: RealmCollection?
    /// The index of the target class of links in ``RealmFile/classes``.
    package let target: Int?
    /// The kind of index; nil for none.
    package let index: RealmIndex?
    /// Whether the keys of a dictionary are integers.
    package let hasIntegerKeys: Bool
    /// The columns of a subtable.
    package let columns: [RealmProperty]
    /// The location and the format of the values in the file.
    let storage: ColumnStorage
}

/// The location and the format of a property's values in a file.
struct ColumnStorage: Hashable, Sendable {
    /// The position of the column: among the leaves of a cluster, or among the columns of an old table.
    var position: Int
    /// The type code of the column.
    var code: Int
    /// The address of the distinct strings that integers refer to; 0 for other columns.
    var enumeration: Int64 = 0
    /// Whether the class has the layout of formats below 10.
    var isOld = false
}

/// Links to the objects of a class, from one property of another class.
package struct RealmBacklinks: Hashable, Sendable {
    /// The index of the linking class in ``RealmFile/classes``.
    package let origin: Int
    /// The index of the linking property in its class; nil if the file does not state it.
    package internal(set) var property: Int?
    let position: Int
    let originColumn: Int64
}

/// A class (a table) of a Realm file.
package struct RealmClass: Hashable, Sendable {
    /// The kind of a class's objects.
    package enum Kind: String, Hashable, Sendable {
        /// Independent objects.
        case object
        /// Embedded objects, which belong to other objects.
        case embedded
        /// Objects that are only sent to a server and cannot be read in the app.
        case asymmetric
    }

    /// The index in ``RealmFile/classes``.
    package let index: Int
    /// The name of the table: `class_Dog` for the class `Dog`.
    package let name: String
    /// The kind of the objects.
    package internal(set) var kind = Kind.object
    /// The properties, in the order of the file.
    package internal(set) var properties: [RealmProperty] = []
    /// The index of the primary key in ``properties``.
    package internal(set) var primaryKey: Int?
    /// The number of objects.
    package internal(set) var count = 0
    /// The number of objects that are known only as targets of links.
    package internal(set) var tombstones = 0
    /// The properties that link to the objects.
    package internal(set) var backlinks: [RealmBacklinks] = []
    /// Whether the file stores the rows in columns, as formats below 10 do.
    var isOld = false
    /// The address of the cluster tree, or of the columns.
    var rows: Int64 = 0
    /// The address of the table.
    let address: Int64
    /// The column keys of the properties, for resolving backlinks.
    var columnKeys: [Int64] = []

    /// Whether the table contains objects of an app and not Realm's own data.
    package var isUserClass: Bool { name.hasPrefix("class_") && !name.hasPrefix("class___") }
}
