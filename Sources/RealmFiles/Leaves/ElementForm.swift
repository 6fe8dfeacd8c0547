/// How the elements of a leaf are stored.
struct ElementForm: Hashable {
    let type: RealmType
    let isNullable: Bool
    /// Seconds in a plain integer leaf, as formats below 5 store dates.
    var isOldDate = false
    /// Whether the layout is that of formats below 10: nullable truth values are integers, and medium texts mark what is
    /// not null.
    var isOld = false
    /// The number to subtract from a stored link: 1 in columns, 0 in collections.
    var linkOffset: Int64 = 0
    /// The class that links lead to.
    var target = -1
    /// Whether a link is two numbers, table and object.
    var isTypedLink = false
    /// The address of the distinct strings of an enumerated column; 0 if there are none.
    var enumeration: Int64 = 0

    init(_ type: RealmType, isNullable: Bool) {
        self.type = type
        self.isNullable = isNullable
    }

    /// The form of the values of a property, in a column or in a collection.
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
