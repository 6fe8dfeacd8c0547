import ObjectStore

/// The properties of a projection by name and offset.
enum ProjectionLayout<P: Projection> {
    /// Returns the index of the property at a key path.
    ///
    /// Throws `invalid_argument` for a path of several steps and for a computed property, `invalid_schema` if the types
    /// of the map's paths differ from the struct.
    static func index(of path: PartialKeyPath<P>) throws -> Int {
        let offsets = try offsets()
        if let wanted = MemoryLayout<P>.offset(of: path) {
            for (index, column) in P.projection.columns.enumerated()
            where offsets[index] == wanted && type(of: path).valueType == column.type {
                return index
            }
        }
        throw StoreError(
            .invalidArgument,
            "the key path to \(type(of: path).valueType) is not a property of '\(P.self)'")
    }

    /// Returns the index of the property at an observed path, as text.
    static func text(of path: PartialKeyPath<P>) -> String {
        do { return String(try index(of: path)) } catch { ModelContext.trap(error) }
    }

    /// Returns the names of the properties, which reflection of a value provides.
    ///
    /// Throws `invalid_schema` if the map differs from the struct.
    static func names(of value: P) throws -> [String] {
        _ = try offsets()
        let children = Array(Mirror(reflecting: value).children)
        let columns = P.projection.columns
        guard children.count == columns.count else {
            throw StoreError(
                .invalidSchema,
                "'\(P.self)' has \(children.count) properties, but its map has \(columns.count) paths"
            )
        }
        for (child, column) in zip(children, columns) where type(of: child.value) != column.type {
            throw StoreError(
                .invalidSchema,
                "'\(P.self).\(child.label ?? "")' has the type \(type(of: child.value)), but its path '\(column.text)' has the type "
                    + "\(column.type)")
        }
        return children.map { $0.label ?? "" }
    }

    /// Returns the offset of each property in bytes: the properties of a struct are in order, each at the next multiple
    /// of its alignment.
    private static func offsets() throws -> [Int] {
        func layout<T>(_ type: T.Type) -> (size: Int, alignment: Int) {
            (MemoryLayout<T>.size, MemoryLayout<T>.alignment)
        }
        var end = 0
        let offsets = P.projection.columns.map { column in
            let (size, alignment) = layout(column.type)
            let offset = (end + alignment - 1) / alignment * alignment
            end = offset + size
            return offset
        }
        guard end == MemoryLayout<P>.size else {
            throw StoreError(
                .invalidSchema,
                "the paths of '\(P.self)' do not match the types of its properties; list one path for each property, in order"
            )
        }
        return offsets
    }
}
