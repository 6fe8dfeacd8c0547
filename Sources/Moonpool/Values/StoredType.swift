import ColumnStorage
import ObjectStore

/// The property type that a ``StoredValue`` has in the schema.
///
/// Your own type returns one of the constants:
///
/// ```swift
/// struct Celsius: StoredValue {
///     var degrees: Double
///     static var storedType: StoredType { .double }
///     init(stored: Mixed) throws { degrees = try stored.get(as: Double.self) }
///     var stored: Mixed { .double(degrees) }
/// }
/// ```
public struct StoredType: Sendable {
    package var type: PropertyType
    package var isOptional = false
    package var collection: CollectionKind?
    package var target: (any ObjectModel.Type)?
    package var origin: BacklinksOrigin?

    package init(
        _ type: PropertyType, target: (any ObjectModel.Type)? = nil,
        origin: BacklinksOrigin? = nil
    ) {
        self.type = type
        self.target = target
        self.origin = origin
    }

    package func optional() -> StoredType {
        var copy = self
        copy.isOptional = true
        return copy
    }

    package func collected(in kind: CollectionKind) -> StoredType {
        var copy = self
        copy.collection = kind
        // Lists and sets cannot contain nil links; only a property with an embedded object can be nil.
        if type == .object { copy.isOptional = kind == .map }
        return copy
    }
}

extension StoredType {
    /// True or false.
    public static var bool: StoredType { StoredType(.bool) }
    /// A 64-bit integer.
    public static var int: StoredType { StoredType(.int) }
    /// A single-precision number.
    public static var float: StoredType { StoredType(.float) }
    /// A double-precision number.
    public static var double: StoredType { StoredType(.double) }
    /// Text.
    public static var string: StoredType { StoredType(.string) }
    /// Bytes.
    public static var data: StoredType { StoredType(.data) }
    /// A point in time in microseconds.
    public static var date: StoredType { StoredType(.date) }
    /// A UUID.
    public static var uuid: StoredType { StoredType(.uuid) }
    /// A 12-byte object ID.
    public static var objectID: StoredType { StoredType(.objectID) }
    /// A decimal number with 34 digits.
    public static var decimal: StoredType { StoredType(.decimal) }
    /// A value of any type.
    public static var mixed: StoredType { StoredType(.mixed) }
}

/// The link that a backlinks property follows backwards.
package struct BacklinksOrigin: Sendable {
    package let model: any ObjectModel.Type
    package let property: @Sendable () throws -> String
}
