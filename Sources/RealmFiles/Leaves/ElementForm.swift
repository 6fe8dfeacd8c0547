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
