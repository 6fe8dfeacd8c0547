/// One stored property of a struct.
package struct StoredField {
    /// The property's name.
    package let name: String
    /// The property's type.
    package let type: Any.Type
    /// The offset of the value in bytes.
    package let offset: Int
    /// The size of the value in bytes.
    package let size: Int
}

/// The reason why a struct's layout cannot be computed, or why a key path is not a stored property.
package struct StructLayoutError: Error, CustomStringConvertible {
    /// A sentence with the type and the reason.
    package let description: String
}

/// The stored properties of a struct type with their offsets, computed from a default instance.
///
/// A struct places its stored properties in declaration order, each at the next multiple of its alignment after the end
/// of the previous property. The computed layout is compared with the compiler's before anything relies on it: the size
/// and alignment of the struct, and the value at each offset.
package struct StructLayout<Root> {
    /// The stored properties in declaration order.
    package let fields: [StoredField]
    private let sample: Root

    /// Computes the layout of a plain struct.
    ///
    /// Throws for classes, enums, types with a custom mirror, and types with properties of protocol types.
    package init(of sample: Root) throws(StructLayoutError) {
        self.sample = sample
        fields = try Self.fields(of: sample)
        try verifyValues()
    }

    /// Uses the listed properties of a type whose mirror does not show them.
    ///
    /// Throws for a key path that is not a stored property.
    package init(
        of sample: Root, listing listed: [(String, PartialKeyPath<Root>)]
    ) throws(StructLayoutError) {
        self.sample = sample
        var fields: [StoredField] = []
        for (name, path) in listed {
            guard let offset = MemoryLayout<Root>.offset(of: path) else {
                throw StructLayoutError(description: Self.noStoredProperty(path))
            }
            let type = Swift.type(of: path).valueType
            fields.append(
                StoredField(
                    name: name, type: type, offset: offset, size: Self.layout(of: type).size))
        }
        self.fields = fields
    }

    /// Returns the index in ``fields`` of the property that a key path names.
    ///
    /// Throws for a path of several steps and for a computed, lazy, observed or wrapped property.
    package func index(of path: PartialKeyPath<Root>) throws(StructLayoutError) -> Int {
        guard let offset = MemoryLayout<Root>.offset(of: path) else {
            throw StructLayoutError(description: Self.noStoredProperty(path))
        }
        let target = type(of: path).valueType
        let found = fields.indices.filter {
            fields[$0].offset == offset && fields[$0].type == target
        }
        guard let first = found.first else {
            throw StructLayoutError(
                description: "'\(Root.self)' has no stored property of type '\(target)' at byte "
                    + "\(offset); name one property of '\(Root.self)' itself")
        }
        guard found.count == 1 else {
            let names = found.map { "'\(fields[$0].name)'" }.joined(separator: " and ")
            throw StructLayoutError(
                description: "the key path leads to \(names), which have no size and the same "
                    + "offset; list the fields of '\(Root.self)'")
        }
        return first
    }

    /// Returns the value of a property; `type` is the property's type.
    package static func read<Value>(
        _ type: Value.Type, at offset: Int, of root: borrowing Root
    ) -> Value {
        withUnsafeBytes(of: root) {
            $0.baseAddress!.advanced(by: offset).assumingMemoryBound(to: Value.self).pointee
        }
    }

    /// Calls the body with the memory of a struct, without copying it.
    @inlinable
    package static func withFields<Result>(
        of root: borrowing Root, _ body: (StructFields) throws -> Result
    ) rethrows -> Result {
        try withUnsafeBytes(of: root) { try body(StructFields($0.baseAddress!)) }
    }

    /// Assigns a property; `Value` is the property's type.
    package static func assign<Value>(_ value: Value, at offset: Int, of root: inout Root) {
        withUnsafeMutableBytes(of: &root) {
            $0.baseAddress!.advanced(by: offset).assumingMemoryBound(to: Value.self).pointee =
                value
        }
    }

    // MARK: Layout

    private static func noStoredProperty(_ path: PartialKeyPath<Root>) -> String {
        "the key path to '\(type(of: path).valueType)' does not lead to a stored property of "
            + "'\(Root.self)': it goes through a computed or lazy property, a property with observers or a "
            + "wrapper, an optional or a subscript"
    }

    private static func fields(of value: Root) throws(StructLayoutError) -> [StoredField] {
        guard !(Root.self is AnyObject.Type) else {
            throw StructLayoutError(description: "'\(Root.self)' is a class; a model is a struct")
        }
        guard !(value is any CustomReflectable) else {
            throw StructLayoutError(
                description:
                    "'\(Root.self)' has a custom mirror, which hides its properties; list its fields"
            )
        }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .struct else {
            throw StructLayoutError(
                description: "'\(Root.self)' is not a struct; a model is a struct")
        }
        var fields: [StoredField] = []
        var end = 0
        var alignment = 1
        for child in mirror.children {
            let type = Swift.type(of: child.value)
            let layout = layout(of: type)
            let offset = (end + layout.alignment - 1) / layout.alignment * layout.alignment
            fields.append(
                StoredField(
                    name: child.label ?? "", type: type, offset: offset, size: layout.size))
            end = offset + layout.size
            alignment = max(alignment, layout.alignment)
        }
        guard end == MemoryLayout<Root>.size, alignment == MemoryLayout<Root>.alignment else {
            throw StructLayoutError(
                description: fields.isEmpty
                    ? "'\(Root.self)' shows no properties: it was built without reflection metadata; list its fields"
                    : "a stored property of '\(Root.self)' is of a protocol type, or the type was built without "
                        + "reflection metadata; list its fields")
        }
        return fields
    }

    private static func layout(of type: Any.Type) -> (size: Int, alignment: Int) {
        func open<T>(_ type: T.Type) -> (size: Int, alignment: Int) {
            (MemoryLayout<T>.size, MemoryLayout<T>.alignment)
        }
        return open(type)
    }

    /// Compares the value at each computed offset with the mirror's value, if the type is Equatable.
    private func verifyValues() throws(StructLayoutError) {
        func isEqual<T: Equatable>(_ shown: T, _ read: Any) -> Bool { (read as? T) == shown }
        func isSame<T>(_ type: T.Type, _ field: StoredField, _ shown: Any) -> Bool {
            guard let shown = shown as? any Equatable else { return true }
            return isEqual(shown, Self.read(T.self, at: field.offset, of: sample))
        }
        for (field, child) in zip(fields, Mirror(reflecting: sample).children)
        where !isSame(field.type, field, child.value) {
            // because: NaN never equals itself.
            guard let shown = child.value as? any FloatingPoint, shown.isNaN else {
                throw StructLayoutError(
                    description:
                        "'\(Root.self).\(field.name)' is not at its computed offset; list the fields"
                )
            }
        }
    }
}

/// The memory of a struct during a call, for reading its stored properties one by one.
///
/// In generic code, reading through this value is faster than reading from the struct, whose type is unknown there.
@safe
package struct StructFields {
    @usableFromInline let base: UnsafeRawPointer

    @inlinable
    init(_ base: UnsafeRawPointer) { self.base = base }

    /// Returns the value of a property; `type` is the property's type.
    @inlinable
    package func read<Value>(_ type: Value.Type, at offset: Int) -> Value {
        base.advanced(by: offset).assumingMemoryBound(to: Value.self).pointee
    }
}
