/// A report to an observer of an object.
public struct ObjectChange {
    /// The kind of change.
    public enum Kind {
        /// Properties of the object changed; `properties` lists them in schema order, backlinks last.
        case change
        /// The last call: the object was deleted.
        case deleted
        /// The object could not be read in a version; the next call reports the changes since the last good one.
        ///
        /// If the class was removed, this is the last call.
        case error(StoreError)
    }

    /// The kind of change.
    public let kind: Kind
    /// The observed object.
    public let object: ObjectReference
    /// The changed properties; empty unless the kind is `change`.
    public let properties: [PropertyChange]
    /// The version before the change; nil if it is unknown.
    package var viewBefore: StoreView?
}
