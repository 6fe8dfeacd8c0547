// Lua source as a tree, as detailed as the linter needs it.
//
// Chains (`a.b:c(d)[e]`) and operations (`a + b or c`) are flat: in everything else, a source that the compiler accepts
// is nested at most about two hundred levels deep, so traversing a tree cannot exhaust the stack. Operator precedence
// is left out.

/// A local variable or a parameter.
final class SourceVariable {
    let name: LuaToken
    /// The value of its declaration; nil for parameters and loop variables.
    var value: SourceExpression?
    /// The number of later assignments to it, or to a part of its table.
    var changes = 0

    init(_ name: LuaToken) { self.name = name }
}

/// A function's parameters and statements.
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
    /// `.name`
    case field(LuaToken)
    /// `[key]`
    case element(SourceExpression)
    /// `(arguments)`; the token is the parenthesis, string or table that begins them.
    case call([SourceExpression], LuaToken)
    /// `:name(arguments)`
    case method(LuaToken, [SourceExpression])
}

/// A field of a table constructor.
struct SourceField {
    /// The name in `name = value`.
    var name: LuaToken?
    /// The key in `[key] = value`.
    var key: SourceExpression?
    var value: SourceExpression
}

indirect enum SourceExpression {
    case name(SourceName)
    /// nil, a truth value, a number, `...`
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
    /// `while` and `repeat`.
    case loop(SourceExpression, [SourceStatement])
    case branches([(condition: SourceExpression?, body: [SourceStatement])])
    case counting(SourceVariable, [SourceExpression], [SourceStatement])
    case iteration([SourceVariable], [SourceExpression], [SourceStatement])
    /// `function a.b:c() … end`
    case function(SourceExpression, SourceFunction)
    case localFunction(SourceVariable, SourceFunction)
    case results([SourceExpression])
}
