import ColumnStorage

/// One property of an object that changed, with the value before and after.
///
/// Values are read on access. A change keeps the previous version readable, and its pages in the file, so release it
/// soon.
public struct PropertyChange {
    /// The property.
    ///
    /// For a change behind a link: the link, list or backlinks that leads there.
    public let property: Property
    /// The object whose property it is.
    public let object: ObjectReference

    let oldView: StoreView
    let newView: StoreView

    /// The property's name.
    public var name: String { property.name }

    /// The value before; null for lists and backlinks, which merely report that they changed.
    public var old: Value { value(in: oldView) }

    /// The value after; null for lists and backlinks.
    ///
    /// Read it while the observer runs: later it shows what the store shows then.
    public var new: Value { value(in: newView) }

    private func value(in view: StoreView) -> Value {
        // A property that got another type has another column, and that of a renamed one another name.
        guard property.isSingle, let classSchema = view.schema.find(table: object.table),
            let seen = classSchema.property(in: property.column)
                ?? classSchema.property(named: property.name),
            seen.isSingle, view.isPresent(object),
            let value = try? view.value(seen, of: object.key, in: classSchema)
        else { return .null }
        return value
    }
}
