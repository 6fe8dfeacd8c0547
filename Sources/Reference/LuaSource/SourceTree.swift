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
