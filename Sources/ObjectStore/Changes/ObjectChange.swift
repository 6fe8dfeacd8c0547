/// A report to an observer of an object.
public struct ObjectChange {
    /// The kind of change.
    public enum Kind {
        /// Properties of the object changed; `properties` lists them in schema order, backlinks last.
        case change
        /// The last call: the object was deleted.
        case deleted
        /// The last call: the object can no longer be observed, for example because its class was removed.
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
