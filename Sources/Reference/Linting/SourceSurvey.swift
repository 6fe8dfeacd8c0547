import ObjectStore

/// The use of globals and schemas in a script, collected before checking.
struct SourceSurvey {
    /// The globals that the script assigns.
    var assignedGlobals: Set<String> = []
    /// The globals whose existence the script tests: `unpack or table.unpack`, `if jit then`.
    var testedGlobals: Set<String> = []
    /// The fields that the script adds to tables: `string.trim`.
    var assignedFields: Set<String> = []
    /// The values of globals that are assigned exactly once.
    var globalValues: [String: SourceExpression] = [:]
    /// Whether names can have unknown meanings, because of `_ENV` or a metatable of `_G`.
    var hidesGlobals = false
    /// Whether the script runs other code that can set globals.
    var runsOtherCode = false
    /// Whether the script loads other modules, which can add functions to the tables of the libraries.
    var loadsModules = false
    /// Whether the script changes classes while it runs.
    var changesSchemas = false

    /// The operators that test whether their operands exist.
    static let tests: Set<String> = ["and", "or", "not", "==", "~="]

    init(_ statements: [SourceStatement]) {
        visit(statements)
    }

    // MARK: - Statements

    private mutating func visit(_ statements: [SourceStatement]) {
        for statement in statements { visit(statement) }
    }

    private mutating func visit(_ statement: SourceStatement) {
        switch statement {
        case .local(let variables, let values):
            if variables.contains(where: { $0.name.text == "_ENV" }) { hidesGlobals = true }
            visit(values)
        case .assignment(let targets, let values):
            for (index, target) in targets.enumerated() {
                let value = targets.count == 1 && index < values.count ? values[index] : nil
                assign(target, value)
            }
            visit(values)
        case .call(let call): visit(call)
        case .block(let body): visit(body)
        case .loop(let condition, let body):
            visit(condition)
            test(condition)
            visit(body)
        case .branches(let branches):
            for branch in branches {
                if let condition = branch.condition {
                    visit(condition)
                    test(condition)
                }
                visit(branch.body)
            }
        case .counting(_, let bounds, let body):
            visit(bounds)
            visit(body)
        case .iteration(_, let values, let body):
            visit(values)
            visit(body)
        case .function(let target, let function):
            assign(target, nil)
            visit(function)
        case .localFunction(_, let function): visit(function)
        case .results(let values): visit(values)
        }
    }

    private mutating func visit(_ function: SourceFunction) {
        if function.parameters.contains(where: { $0.name.text == "_ENV" }) { hidesGlobals = true }
        visit(function.body)
    }

    private mutating func assign(_ target: SourceExpression, _ value: SourceExpression?) {
        switch target {
        case .name(let name) where name.variable == nil:
            if name.token.text == "_ENV" { hidesGlobals = true }
            // A global that is assigned several values has no certain value.
            globalValues[name.token.text] =
                assignedGlobals.insert(name.token.text).inserted ? value : nil
        case .chain(let root, let suffixes):
            visit(target)
            guard case .name(let name) = root, name.variable == nil, suffixes.count == 1 else {
                return
            }
            let field: String?
            switch suffixes[0] {
            case .field(let token): field = token.text
            case .element(let key): field = SourceText.content(of: key)?.text
            default: field = nil
            }
            guard let field else {
                if name.token.text == "_G" { hidesGlobals = true }
                return
            }
            if name.token.text == "_G" { assignedGlobals.insert(field) }
            assignedFields.insert("\(name.token.text).\(field)")
        default: break
        }
    }

    // MARK: - Expressions

    private mutating func visit(_ expressions: [SourceExpression]) {
        for expression in expressions { visit(expression) }
    }

    private mutating func visit(_ expression: SourceExpression) {
        switch expression {
        case .name, .constant, .string: break
        case .function(let function): visit(function)
        case .table(let fields, _):
            for field in fields {
                if let key = field.key { visit(key) }
                visit(field.value)
            }
        case .chain(let root, let suffixes):
            visit(root)
            if case .name(let name) = root, name.variable == nil {
                recordCall(of: name.token.text, suffixes)
            }
            for suffix in suffixes { visit(suffix) }
        case .operation(let operands, let words):
            visit(operands)
            if words.contains(where: { Self.tests.contains($0) }) {
                for operand in operands { test(operand) }
            }
        case .parenthesized(let inner): visit(inner)
        }
    }

    private mutating func visit(_ suffix: SourceSuffix) {
        switch suffix {
        case .field: break
        case .element(let key): visit(key)
        case .call(let arguments, _): visit(arguments)
        case .method(let name, let arguments):
            if ["define", "import", "replay"].contains(name.text) { changesSchemas = true }
            visit(arguments)
        }
    }

    private mutating func recordCall(of name: String, _ suffixes: [SourceSuffix]) {
        guard case .call(let arguments, _)? = suffixes.first else { return }
        switch name {
        case "dofile", "loadfile", "load", "loadstring": runsOtherCode = true
        case "require":
            if arguments.first.flatMap(SourceText.content)?.text != "moonpool" {
                loadsModules = true
            }
        case "setmetatable", "rawset":
            if case .name(let first)? = arguments.first, first.variable == nil,
                ["_G", "_ENV"].contains(first.token.text)
            {
                hidesGlobals = true
            }
        default: break
        }
    }

    /// Records that the existence of an expression is tested.
    private mutating func test(_ expression: SourceExpression) {
        switch expression {
        case .name(let name) where name.variable == nil: testedGlobals.insert(name.token.text)
        case .parenthesized(let inner): test(inner)
        default: break
        }
    }
}

/// Reads the content of strings in a source.
enum SourceText {
    /// Returns the content of a string without escape sequences, and its UTF-8 offset in the source.
    static func content(of expression: SourceExpression) -> (text: String, start: Int)? {
        switch expression {
        case .string(let token): content(of: token)
        case .parenthesized(let inner): content(of: inner)
        default: nil
        }
    }

    static func content(of token: LuaToken) -> (text: String, start: Int)? {
        guard case .string(isClosed: true) = token.kind else { return nil }
        let bytes = Array(token.text.utf8)
        guard bytes.first == UInt8(ascii: "[") else {
            guard bytes.count >= 2, !bytes.contains(UInt8(ascii: "\\")) else { return nil }
            return (
                String(decoding: bytes[1..<bytes.count - 1], as: UTF8.self),
                token.range.lowerBound + 1
            )
        }
        // The content starts after `[==[` and a line break that directly follows.
        let bracket = 2 + bytes.dropFirst().prefix { $0 == UInt8(ascii: "=") }.count
        guard bytes.count >= 2 * bracket else { return nil }
        var start = bracket
        if bytes.count > start, bytes[start] == 0x0D { start += 1 }
        if bytes.count > start, bytes[start] == 0x0A { start += 1 }
        let end = max(start, bytes.count - bracket)
        return (
            String(decoding: bytes[start..<end], as: UTF8.self), token.range.lowerBound + start
        )
    }
}
