/// A report to an observer of an object.
public struct ObjectChange {
    /// The kind of change.
    public enum Kind {
        /// Properties changed; they are in schema order, backlinks last.
        case change
        /// The object is gone. This is the last call.
        case deleted
        /// Nothing more can be said about the object, for instance because its class is gone. This
        /// is the last call.
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
