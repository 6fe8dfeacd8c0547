import ColumnStorage

/// A path text, compiled for the objects of a class.
///
/// A path leads through links, lists, sets, maps, backlinks and embedded objects to values: `owner.name`,
/// `toys.@max.price`, `toys[1].name`, `notes["food"]`, `notes.@keys`, `extra.scores[1]`. A name in backquotes is never a
/// word of the predicate language. All users of paths compile them here, and then state the values that they accept, so
/// a path means the same everywhere.
///
/// ```swift
/// let path = try ValuePath("owner.name", class: dog, schema: schema)
/// try path.requireOne(for: "sorting")
/// let name = path.value(try path.bound(to: view).value(key))
/// ```
package struct ValuePath: Sendable {
    /// The text of the path.
    package let text: String
    /// Every key path that the values depend on.
    package let dependencies: [PropertyPath]
    /// The type of the values: `.object` for objects, `.mixed` for values of any type.
    package let type: PropertyType
    /// The table of the objects at the end; nil for values.
    let target: TableID?
    /// The path, if it has names and dots only.
    let plain: PropertyPath?
    /// The compiled form that reads the values.
    let reading: PathReading

    /// Compiles a path; it may have any number of values.
    ///
    /// Throws `unknown_property` for an unknown name, and `invalid_query` for other errors.
    package init(_ text: String, class classSchema: ClassSchema, schema: Schema) throws {
        guard Self.isCompound(text, class: classSchema, schema: schema) else {
            self.init(try PropertyPath.parse(text, class: classSchema, schema: schema))
            return
        }
        do throws(QueryFault) {
            try self.init(
                PredicateParser.parsePath(text), 0..<text.utf8.count, text, class: classSchema,
                schema: schema)
        } catch {
            throw error.rendered(in: text)
        }
    }

    /// Creates a path of names and dots.
    init(_ path: PropertyPath) {
        text = path.description
        dependencies = [path]
        let last = path.components.last
        type = last?.property.type == .backlinks ? .object : last?.property.type ?? .bool
        target = last?.target
        plain = path
        reading = PathReading(path)
    }

    /// Compiles a parsed path, which is at a range of a larger text.
    init(
        _ syntax: PathSyntax, _ range: Range<Int>, _ text: String, class classSchema: ClassSchema,
        schema: Schema
    ) throws(QueryFault) {
        var compiler = PredicateCompiler(schema: schema, arguments: [])
        let operand = try compiler.path(
            PathContext(
                syntax: syntax, range: range,
                scope: .init(classSchema: classSchema, variable: nil, prefix: [])))
        guard let expression = operand.expression, !compiler.dependencies.isEmpty else {
            throw QueryFault("\(operand.description) is not a value of an object", at: range)
        }
        switch operand.type {
        case .value(let type):
            (self.type, target) = (expression.hasAnyNumbers ? .mixed : type, nil)
        case .object(let table): (type, target) = (.object, table)
        case .null, .literal:
            throw QueryFault("\(operand.description) is not a value of an object", at: range)
        }
        self.text = text
        dependencies = compiler.dependencies
        plain = nil
        reading = PathReading(
            expression, isMixed: type == .mixed,
            typeNames: operand.isTypeName ? MixedType.names(in: schema) : nil, compiler.tables)
    }

    /// Returns whether a text is more than names and dots.
    static func isCompound(
        _ text: String, class classSchema: ClassSchema, schema: Schema
    ) -> Bool {
        hasOperations(text)
            || PropertyPath.entersMixed(text, class: classSchema, schema: schema)
    }

    /// Returns whether a text has operations, elements or quoted names.
    static func hasOperations(_ text: String) -> Bool {
        text.utf8.contains { "@[`".utf8.contains($0) }
    }

    /// Whether the path reads mixed values, whose links may lead to objects of any class.
    var readsMixed: Bool {
        dependencies.contains { $0.components.contains { $0.property.type == .mixed } }
    }

    /// Whether one object may have several values or none.
    package var isToMany: Bool { reading.expression.isToMany }

    /// Whether the values are the names of types.
    var isTypeName: Bool { reading.typeNames != nil }

    /// Throws `invalid_query`, with the fix in its message, unless each object has one value, possibly nil.
    func requireOne(for purpose: String) throws(StoreError) {
        guard isToMany else { return }
        let list = dependencies.first?.components.firstIndex(where: \.isToMany)
        guard let plain, let list else {
            throw StoreError(
                .invalidQuery,
                "'\(text)' can have several values, and \(purpose) needs one value of each object; choose one "
                    + "with [1], [first], [last] or ['key'], or end the path in @count, @sum, @min, @max or @avg"
            )
        }
        let names = plain.components.map(\.property.name)
        let start = names[...list].joined(separator: ".")
        let rest = names[(list + 1)...].map { "." + $0 }.joined()
        let isMap = plain.components[list].property.collection == .map
        let element = start + (isMap ? "['key']" : "[1]") + rest
        let isNumber = type.isNumeric || type == .mixed
        let ways =
            ["'\(start).@count'"]
            + (isNumber ? ["sum", "min", "max", "avg"] : type == .date ? ["min", "max"] : [])
            .map { "'\(start).@\($0)\(rest)'" }
        throw StoreError(
            .invalidQuery,
            "the key path '\(text)' goes through the \(isMap ? "map" : "list") '\(names[list])', and \(purpose) needs one value of each "
                + "object; write \(ways.joined(separator: ", ")) or '\(element)'; conditions also take "
                + "'any \(text)'")
    }

    /// Returns the path with the same meaning in another schema.
    func remade(class classSchema: ClassSchema, schema: Schema) throws -> ValuePath {
        plain == nil ? try ValuePath(text, class: classSchema, schema: schema) : self
    }

    /// Returns the path bound to a view, ready to read values.
    func bound(to view: StoreView) throws -> BoundPath { try BoundPath(reading, in: view) }

    /// Converts a value that was read to a value of the store.
    func value(_ scalar: Scalar) -> Value { scalar.value(of: type, target: target) }
}

extension ValuePath: Hashable {
    /// Returns whether both have the same text and the same properties.
    package static func == (left: ValuePath, right: ValuePath) -> Bool {
        left.text == right.text && left.dependencies == right.dependencies
    }

    /// Hashes the text.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// The compiled form of a path, independent of a view.
///
/// The compiled form is created once, because observers bind their paths to two versions at every step.
final class PathReading: Sendable {
    /// The hops to the values; nil for a computed value.
    let path: CompiledPath?
    let expression: any PredicateExpression
    /// Whether the values may be of any type.
    let isMixed: Bool
    /// The names of types by their numbers, if the values are numbers of types.
    let typeNames: [Int64: String]?
    /// The tables for the slots of the path and the expression.
    let tables: [TableID]

    /// Creates a form that reads the values of a path of names and dots.
    convenience init(_ path: PropertyPath) {
        var tables: [TableID] = []
        let compiled = path.compiled(&tables)
        self.init(compiled, isMixed: compiled.isMixed, tables)
    }

    /// Creates a form that reads the values of some hops.
    init(_ path: CompiledPath, isMixed: Bool, _ tables: [TableID]) {
        self.path = path
        expression = PathExpression(path: path)
        self.isMixed = isMixed
        typeNames = nil
        self.tables = tables
    }

    /// Creates a form that computes values.
    init(
        _ expression: any PredicateExpression, isMixed: Bool, typeNames: [Int64: String]?,
        _ tables: [TableID]
    ) {
        path = (expression as? PathExpression)?.path
        self.expression = expression
        self.isMixed = isMixed
        self.typeNames = typeNames
        self.tables = tables
    }
}

/// A path that is bound to a view; reading an object's value is a step of the evaluation, which may be stopped.
///
/// The type is a class, so copying a reference to a path changes only one reference count.
final class BoundPath {
    /// The location of the values.
    private enum Location {
        /// A column of the objects themselves, the most frequent case, which needs no hops.
        case own(TableReader, ColumnSource)
        /// Hops or an expression over these tables.
        case elsewhere(BoundTables)
    }

    private let reading: PathReading
    private let location: Location
    private let interruption = Interruption.current

    init(_ reading: PathReading, in view: StoreView) throws {
        self.reading = reading
        if let path = reading.path, path.hops.isEmpty,
            case .value(let slot, let source) = path.terminal
        {
            location = try .own(view.table(reading.tables[slot]), source)
        } else {
            location = try .elsewhere(BoundTables(reading.tables, in: view))
        }
    }

    /// Whether the values may be of any type.
    var isMixed: Bool { reading.isMixed }

    /// The column of the objects themselves with the values; nil if they are read from elsewhere.
    var ownColumn: ColumnSource? { if case .own(_, let source) = location { source } else { nil } }

    /// Returns the value of an object; null if there is none.
    func value(_ key: ObjectKey) throws -> Scalar {
        try interruption?.step()
        switch location {
        case .own(let rows, let source): return try source.scalar(rows, key)
        case .elsewhere(let tables):
            if let path = reading.path { return named(try path.value(tables, key)) }
            let value = try reading.expression.value(tables, key)
            return value == .nothing ? .null : value
        }
    }

    /// Returns all values of an object, in order.
    func values(_ key: ObjectKey) throws -> [Scalar] {
        guard case .elsewhere(let tables) = location else { return [try value(key)] }
        try interruption?.step()
        var values: [Scalar] = []
        try reading.expression.forEach(tables, key) { value in
            values.append(named(value))
            return true
        }
        return values
    }

    private func named(_ value: Scalar) -> Scalar {
        guard let names = reading.typeNames, case .int(let number) = value else { return value }
        return names[number].map { .bytes(Array($0.utf8)) } ?? .null
    }
}
