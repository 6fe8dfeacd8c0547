import ColumnStorage

/// A computed value of each object: a number of elements, an element, or a value inside a mixed value.
struct ComputedValue: Sendable {
    let expression: any PredicateExpression
    let tables: [TableID]
    let type: PropertyType
    /// Every key path that the value depends on.
    let dependencies: [PropertyPath]
    /// Whether the value is a type, as a number of ``MixedType``.
    let isTypeName: Bool

    /// Returns whether a text is more than names and dots.
    static func isMeant(
        by text: String, class classSchema: ClassSchema, schema: Schema
    ) -> Bool {
        text.utf8.contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "[") }
            || PropertyPath.entersMixed(text, class: classSchema, schema: schema)
    }

    /// Compiles a path; errors use `purpose` to describe what needs the value.
    init(
        _ syntax: PathSyntax, _ range: Range<Int>, for purpose: String,
        class classSchema: ClassSchema, schema: Schema
    ) throws(QueryFault) {
        var compiler = PredicateCompiler(schema: schema, arguments: [])
        let scope = PredicateCompiler.Scope(classSchema: classSchema, variable: nil, prefix: [])
        let operand = try compiler.path(
            PathContext(syntax: syntax, range: range, scope: scope))
        guard let expression = operand.expression, !operand.isToMany else {
            throw QueryFault(
                "\(purpose) requires one value for each object; \(operand.description) can have several",
                at: range)
        }
        guard case .value(let type) = operand.type, !compiler.dependencies.isEmpty else {
            throw QueryFault("\(purpose) cannot use \(operand.description)", at: range)
        }
        self.expression = expression
        self.type = type
        isTypeName = operand.isTypeName
        tables = compiler.tables
        dependencies = compiler.dependencies
    }
}
