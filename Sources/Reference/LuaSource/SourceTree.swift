// Lua source as a tree, as far as a linter needs it.
//
// Chains (`a.b:c(d)[e]`) and operations (`a + b or c`) are flat: a source that the compiler takes nests at most some two
// hundred levels deep in everything else, so no walk over a tree can exhaust the stack. The order in which operators
// are applied is left out.

/// A local variable or a parameter.
final class SourceVariable {
    let name: LuaToken
    /// What its declaration gives it; nil for parameters and loop variables.
    var value: SourceExpression?
    /// How often it is assigned to after that, or has a part assigned that it is a table with.
    var changes = 0

    init(_ name: LuaToken) { self.name = name }
}

/// A function's parameters and statements.
final class SourceFunction {
    var parameters: [SourceVariable] = []
    var body: [SourceStatement] = []
}

/// A name where it is used: a variable's, or a global's.
struct SourceName {
    let token: LuaToken
    let variable: SourceVariable?
}

/// What follows something in a chain.
enum SourceSuffix {
    /// `.name`
    case field(LuaToken)
    /// `[key]`
    case element(SourceExpression)
    /// `(arguments)`; the token is the bracket, the string or the table that begins them.
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
    /// Operands with what stands before or between them.
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
