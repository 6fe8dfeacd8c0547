import ColumnStorage
import ObjectStore

/// The identity of an object: it is Sendable and valid in every store of the file, and in no other.
///
/// ```swift
/// let id = rex.objectID
/// try await otherActor.rename(id)   // there: store[id]?.name = "Rexie"
/// ```
public struct ObjectID<M: ObjectModel>: Hashable, Sendable {
    package let key: ObjectKey
    /// The number of the file; 0 if it is unknown, for a decoded link.
    package let file: UInt64

    package init(_ key: ObjectKey, in file: UInt64) {
        self.key = key
        self.file = file
    }

    /// Returns whether both identify the same object.
    public static func == (left: ObjectID, right: ObjectID) -> Bool {
        left.key == right.key
            && (left.file == right.file || left.file == 0 || right.file == 0)
    }
    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(key) }
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
    /// The number of the file; 0 if it is unknown, for a decoded link.
    package let file: UInt64

    package init(_ reference: ObjectReference, _ className: String?, in file: UInt64) {
        self.reference = reference
        self.className = className
        self.file = file
    }

    package init<M: ObjectModel>(_ id: ObjectID<M>) {
        self.init(
            ObjectReference(table: .unassigned, key: id.key), M.className, in: id.file)
    }

    /// Returns whether both identify the same object.
    public static func == (left: AnyObjectID, right: AnyObjectID) -> Bool {
        left.reference.key == right.reference.key
            && (left.className == right.className || left.className == nil
                || right.className == nil)
            && (left.file == right.file || left.file == 0 || right.file == 0)
    }
    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(reference.key) }

    /// Returns the identity as an ID of a model; nil for an object of another model.
    public func of<M: ObjectModel>(_ type: M.Type) -> ObjectID<M>? {
        className == M.className ? ObjectID(reference.key, in: file) : nil
    }
}

extension Mixed {
    /// Creates a link to an object.
    public init<M: Model>(_ object: Live<M>) {
        self = .object(
            AnyObjectID(
                ObjectReference(table: object.modelTable.classSchema.table, key: object.objectKey),
                M.className, in: object.modelTable.context.fileNumber))
    }
}
