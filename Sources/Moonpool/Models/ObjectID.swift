import ColumnStorage
import ObjectStore

/// The identity of an object: it is Sendable and valid in every store of the file.
///
/// ```swift
/// let id = rex.objectID
/// try await otherActor.rename(id)   // there: store[id]?.name = "Rexie"
/// ```
public struct ObjectID<M: ObjectModel>: Hashable, Sendable {
    package let key: ObjectKey

    package init(_ key: ObjectKey) { self.key = key }
}

extension ObjectID: CustomStringConvertible {
    /// The class and the object's number.
    public var description: String { "\(M.className) \(key.rawValue)" }
}

/// The identity of an object of any model, in a ``Mixed`` value.
public struct AnyObjectID: Hashable, Sendable {
    package let reference: ObjectReference
    /// The name of the object's class; nil if it is unknown.
    public let className: String?

    package init(_ reference: ObjectReference, _ className: String? = nil) {
        self.reference = reference
        self.className = className
    }

    /// Returns whether both identify the same object.
    public static func == (left: AnyObjectID, right: AnyObjectID) -> Bool {
        left.reference == right.reference
    }
    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(reference) }

    /// Returns the identity as an ID of a model; nil for an object of another model.
    public func of<M: ObjectModel>(_ type: M.Type) -> ObjectID<M>? {
        className == M.className ? ObjectID(reference.key) : nil
    }
}

extension Mixed {
    /// Creates a link to an object.
    public init<M: Model>(_ object: Live<M>) {
        self = .object(
            AnyObjectID(
                ObjectReference(table: object.modelTable.classSchema.table, key: object.objectKey),
                M.className))
    }
}
