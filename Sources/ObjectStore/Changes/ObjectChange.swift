/// A report to an observer of an object.
public struct ObjectChange {
    /// What happened.
    public enum Kind {
        /// Properties changed; they are in schema order, backlinks last.
        case change
        /// The object is gone. This is the last call.
        case deleted
        /// Nothing more can be said about the object, for instance because its class is gone. This
        /// is the last call.
        case error(StoreError)
    }

    /// What happened.
    public let kind: Kind
    /// The observed object.
    public let object: ObjectReference
    /// What changed; empty unless the kind is `change`.
    public let properties: [PropertyChange]
    /// The version before the change; nil if it is unknown.
    package var viewBefore: StoreView?
}
