import ColumnStorage

/// One property of an object that changed, with the value before and after.
///
/// Values are read on access. A change keeps the previous version readable, and its pages in the file, so release it
/// soon.
public struct PropertyChange {
    /// The property.
    ///
    /// For a change of a linked object, it is the link, list or backlinks property that leads to that object.
    public let property: Property
    /// The object that has the property.
    public let object: ObjectReference

    let oldView: StoreView
    let newView: StoreView

    /// The version after the change, for reading.
    package var viewAfter: StoreView { newView }

    /// The property's name.
    public var name: String { property.name }

    /// The value before the change; null for lists and backlinks, which only report that they changed.
    public var old: Value { get throws { try value(in: oldView) } }

    /// The value after the change; null for lists and backlinks.
    ///
    /// Read it while the observer runs: afterward the store may show a later version.
    public var new: Value { get throws { try value(in: newView) } }

    private func value(in view: StoreView) throws -> Value {
        // After a change of type the property has another column, and after a rename the column has another name.
        guard property.isSingle, let classSchema = view.schema.find(table: object.table),
            let seen = classSchema.property(in: property.column)
                ?? classSchema.property(named: property.name),
            seen.isSingle, try view.isPresent(object)
        else { return .null }
        return try view.value(seen, of: object.key, in: classSchema)
    }
}
