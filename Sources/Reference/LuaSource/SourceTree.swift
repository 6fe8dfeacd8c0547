// A tree of Lua source with the details that the linter needs.
//
// Chains (`a.b:c(d)[e]`) and operations (`a + b or c`) are flat. Everything else is nested at most about two hundred
// levels deep in a source that the compiler accepts, so traversing a tree cannot exhaust the stack. Operator precedence
// is not represented.

/// A local variable or a parameter.
final class SourceVariable {
    let name: LuaToken
    /// The value of its declaration; nil for parameters and loop variables.
    var value: SourceExpression?
    /// The number of later assignments to the variable, or to a part of its table.
    var changes = 0

    init(_ name: LuaToken) { self.name = name }
}

/// The parameters and the statements of a function.
final class SourceFunction {
    var parameters: [SourceVariable] = []
    var body: [SourceStatement] = []
}

/// A use of a name: a variable or a global.
struct SourceName {
    let token: LuaToken
    let variable: SourceVariable?
}

/// A suffix in a chain.
enum SourceSuffix {
    /// A field access: `.name`
    case field(LuaToken)
    /// An index: `[key]`
    case element(SourceExpression)
    /// A call: `(arguments)`; the token is the first one of the arguments, a parenthesis, string or table.
    case call([SourceExpression], LuaToken)
    /// A method call: `:name(arguments)`
    case method(LuaToken, [SourceExpression])
}

/// A field of a table constructor.
struct SourceField {
    /// The name in `name = value`.
    var name: LuaToken?
    /// The key in `[key] = value`.
    var key: SourceExpression?
    var value: SourceExpression
    /// The bytes of the value.
    var range = 0..<0
}

indirect enum SourceExpression {
    case name(SourceName)
    /// A literal: nil, a boolean, a number, or `...`
    case constant(LuaToken)
    case string(LuaToken)
    case function(SourceFunction)
    case table([SourceField], LuaToken)
    case chain(SourceExpression, [SourceSuffix])
    /// Operands with the operators before or between them.
    case operation([SourceExpression], [String])
    case parenthesized(SourceExpression)
}

indirect enum SourceStatement {
    case local([SourceVariable], [SourceExpression])
    case assignment([SourceExpression], [SourceExpression])
    case call(SourceExpression)
    case block([SourceStatement])
    /// A `while` or `repeat` loop.
    case loop(SourceExpression, [SourceStatement])
    case branches([(condition: SourceExpression?, body: [SourceStatement])])
    case counting(SourceVariable, [SourceExpression], [SourceStatement])
    case iteration([SourceVariable], [SourceExpression], [SourceStatement])
    /// A function declaration: `function a.b:c() … end`
    case function(SourceExpression, SourceFunction)
    case localFunction(SourceVariable, SourceFunction)
    case results([SourceExpression])
}

/// The table constructor in the last statement of a Lua source, `return { … }`, without running the source.
package struct ReturnedTable {
    /// A field with a name, and the bytes of its value.
    package struct Field {
        /// The name.
        package let name: String
        /// The bytes of the value.
        package let value: Range<Int>
    }

    /// The offset behind the opening brace.
    package let start: Int
    /// The fields that have names.
    package let fields: [Field]

    /// Reads a source; nil if it returns something else.
    package init?(of source: String) {
        guard case .results(let results)? = SourceParser.parse(source).last,
            case .table(let found, let open)? = results.first
        else { return nil }
        start = open.range.upperBound
        fields = found.compactMap { field in
            let name = field.name?.text ?? field.key.flatMap(SourceText.content)?.text
            return name.map { Field(name: $0, value: field.range) }
        }
    }

    /// Returns the source with another value of a field, which is inserted as the first one if it is missing.
    ///
    /// Returns nil for a source that does not return a table constructor.
    package static func setting(_ name: String, in source: String, to value: String) -> String? {
        guard let table = ReturnedTable(of: source) else { return nil }
        let bytes = Array(source.utf8)
        func text(_ part: ArraySlice<UInt8>) -> String { String(decoding: part, as: UTF8.self) }
        if let range = table.fields.last(where: { $0.name == name })?.value {
            return text(bytes[..<range.lowerBound]) + value + text(bytes[range.upperBound...])
        }
        let rest = bytes[table.start...]
        return text(bytes[..<table.start]) + "\n  \(name) = \(value),"
            + (rest.first == UInt8(ascii: " ") ? "\n " : "") + text(rest)
    }
}
