/// Parses Lua source that the compiler has accepted into a tree, and resolves variables.
///
/// Accepts any input; the tree of an invalid source has no meaning.
package struct SourceParser {
    let tokens: [LuaToken]
    var position = 0
    var depth = 0
    var scopes: [[String: SourceVariable]] = [[:]]
    var functions: [Range<Int>] = []

    /// The maximum nesting depth, which is higher than the compiler's limit.
    static let maxNesting = 400

    /// Returns the statements of a source.
    static func parse(_ source: String) -> [SourceStatement] {
        var parser = SourceParser(tokens: LuaLexer.tokens(of: source))
        return parser.parseAll()
    }

    /// Returns the bytes of every function, from its parameters to its `end`; a function follows those that it contains.
    package static func functions(in source: String) -> [Range<Int>] {
        var parser = SourceParser(tokens: LuaLexer.tokens(of: source))
        _ = parser.parseAll()
        return parser.functions
    }

    private mutating func parseAll() -> [SourceStatement] {
        var statements = parseBlock()
        // An unexpected token ends a block; parsing continues after it.
        while !isAtEnd {
            position += 1
            statements += parseBlock()
        }
        assert(depth == 0 && scopes.count == 1, "the parser has left all blocks and scopes")
        return statements
    }

    init(tokens: [LuaToken]) { self.tokens = tokens }

    // MARK: - Tokens

    static let end = LuaToken(kind: .symbol, range: 0..<0, text: "")
    var current: LuaToken { position < tokens.count ? tokens[position] : Self.end }
    var isAtEnd: Bool { position >= tokens.count }

    /// The bytes from a token to the last one that was taken.
    func range(from start: Int) -> Range<Int> {
        guard start < position, position <= tokens.count else { return 0..<0 }
        return tokens[start].range.lowerBound..<tokens[position - 1].range.upperBound
    }

    mutating func take() -> LuaToken {
        let token = current
        position += 1
        return token
    }

    mutating func takeSymbol(_ symbol: String) -> Bool {
        guard current.isSymbol(symbol) else { return false }
        position += 1
        return true
    }

    mutating func takeKeyword(_ word: String) -> Bool {
        guard current.isKeyword(word) else { return false }
        position += 1
        return true
    }

    // MARK: - Variables

    func find(_ name: String) -> SourceVariable? {
        for scope in scopes.reversed() { if let found = scope[name] { return found } }
        return nil
    }

    mutating func declare(_ variable: SourceVariable) {
        scopes[scopes.count - 1][variable.name.text] = variable
    }

    mutating func inScope<Result>(_ body: (inout SourceParser) -> Result) -> Result {
        scopes.append([:])
        defer { scopes.removeLast() }
        return body(&self)
    }

    // MARK: - Statements

    static let blockEnds: Set = ["end", "else", "elseif", "until"]

    mutating func parseBlock() -> [SourceStatement] {
        var statements: [SourceStatement] = []
        depth += 1
        defer { depth -= 1 }
        while !isAtEnd, depth < Self.maxNesting {
            if current.kind == .keyword, Self.blockEnds.contains(current.text) { break }
            let start = position
            if let statement = parseStatement() { statements.append(statement) }
            if position == start { position += 1 }
        }
        return statements
    }

    mutating func parseScopedBlock() -> [SourceStatement] {
        inScope { $0.parseBlock() }
    }

    mutating func parseStatement() -> SourceStatement? {
        if takeSymbol(";") { return nil }
        if takeSymbol("::") {
            _ = take()
            _ = takeSymbol("::")
            return nil
        }
        if current.kind == .keyword {
            switch current.text {
            case "break":
                position += 1
                return nil
            case "goto":
                position += 2
                return nil
            case "do":
                position += 1
                let body = parseScopedBlock()
                _ = takeKeyword("end")
                return .block(body)
            case "while":
                position += 1
                let condition = parseExpression()
                _ = takeKeyword("do")
                let body = parseScopedBlock()
                _ = takeKeyword("end")
                return .loop(condition, body)
            case "repeat":
                position += 1
                // The condition can use variables of the body.
                return inScope { parser in
                    let body = parser.parseBlock()
                    _ = parser.takeKeyword("until")
                    return .loop(parser.parseExpression(), body)
                }
            case "if": return parseIf()
            case "for": return parseFor()
            case "function": return parseFunctionStatement()
            case "local": return parseLocal()
            case "return":
                position += 1
                var values: [SourceExpression] = []
                let isDone =
                    isAtEnd || current.isSymbol(";")
                    || current.kind == .keyword && Self.blockEnds.contains(current.text)
                if !isDone { values = parseExpressions() }
                return .results(values)
            default: break
            }
        }
        return parseExpressionStatement()
    }

    mutating func parseIf() -> SourceStatement {
        var branches: [(SourceExpression?, [SourceStatement])] = []
        while takeKeyword("if") || takeKeyword("elseif") {
            let condition = parseExpression()
            _ = takeKeyword("then")
            branches.append((condition, parseScopedBlock()))
        }
        if takeKeyword("else") { branches.append((nil, parseScopedBlock())) }
        _ = takeKeyword("end")
        return .branches(branches.map { (condition: $0.0, body: $0.1) })
    }

    mutating func parseFor() -> SourceStatement {
        position += 1
        var variables = [SourceVariable(take())]
        if takeSymbol("=") {
            let bounds = parseExpressions()
            let body = parseLoopBody(variables)
            return .counting(variables[0], bounds, body)
        }
        while takeSymbol(",") { variables.append(SourceVariable(take())) }
        _ = takeKeyword("in")
        let values = parseExpressions()
        return .iteration(variables, values, parseLoopBody(variables))
    }

    mutating func parseLoopBody(_ variables: [SourceVariable]) -> [SourceStatement] {
        _ = takeKeyword("do")
        let body = inScope { parser in
            for variable in variables { parser.declare(variable) }
            return parser.parseBlock()
        }
        _ = takeKeyword("end")
        return body
    }

    mutating func parseFunctionStatement() -> SourceStatement {
        position += 1
        let name = take()
        let root = SourceName(token: name, variable: find(name.text))
        var suffixes: [SourceSuffix] = []
        var isMethod = false
        while current.isSymbol(".") || current.isSymbol(":") {
            isMethod = take().text == ":"
            suffixes.append(.field(take()))
        }
        root.variable?.changes += 1
        let target = SourceExpression.name(root)
        let function = parseFunction(isMethod ? name : nil)
        return .function(suffixes.isEmpty ? target : .chain(target, suffixes), function)
    }

    mutating func parseLocal() -> SourceStatement {
        position += 1
        if takeKeyword("function") {
            let variable = SourceVariable(take())
            declare(variable)
            return .localFunction(variable, parseFunction(nil))
        }
        var variables: [SourceVariable] = []
        repeat {
            variables.append(SourceVariable(take()))
            if takeSymbol("<") {
                _ = take()
                _ = takeSymbol(">")
            }
        } while takeSymbol(",")
        let values = takeSymbol("=") ? parseExpressions() : []
        for (variable, value) in zip(variables, values) { variable.value = value }
        // A declaration without a value is usually followed by an assignment.
        for variable in variables { declare(variable) }
        return .local(variables, values)
    }

    mutating func parseExpressionStatement() -> SourceStatement {
        var targets = [parseOperand()]
        while takeSymbol(",") { targets.append(parseOperand()) }
        guard takeSymbol("=") else { return .call(targets[0]) }
        let values = parseExpressions()
        for target in targets { recordChange(of: target) }
        return .assignment(targets, values)
    }

    func recordChange(of target: SourceExpression) {
        switch target {
        case .name(let name): name.variable?.changes += 1
        case .chain(.name(let name), let suffixes):
            // `schema.Dog = …` changes the table in the variable, but `dog.age = …` does not change the type of `dog`.
            if case .table? = name.variable?.value, suffixes.count >= 1 {
                name.variable?.changes += 1
            }
        default: break
        }
    }
}

// Expressions, calls, tables and functions.
extension SourceParser {
    mutating func parseExpressions() -> [SourceExpression] {
        var expressions = [parseExpression()]
        while takeSymbol(",") { expressions.append(parseExpression()) }
        return expressions
    }

    static let prefixes: Set = ["not", "-", "#", "~"]
    static let operators: Set = [
        "+", "-", "*", "/", "//", "%", "^", "..", "<", "<=", ">", ">=", "==", "~=", "and", "or",
        "&", "|", "~", "<<", ">>",
    ]

    var isOperator: Bool {
        (current.kind == .symbol || current.kind == .keyword)
            && Self.operators.contains(current.text)
    }

    mutating func parseExpression() -> SourceExpression {
        depth += 1
        defer { depth -= 1 }
        guard depth < Self.maxNesting else { return .constant(take()) }
        var operands: [SourceExpression] = []
        var words: [String] = []
        while true {
            while (current.kind == .symbol || current.kind == .keyword),
                Self.prefixes.contains(current.text)
            {
                words.append(take().text)
            }
            operands.append(parseOperand())
            guard isOperator else { break }
            words.append(take().text)
        }
        return words.isEmpty ? operands[0] : .operation(operands, words)
    }

    mutating func parseOperand() -> SourceExpression {
        let first: SourceExpression
        switch current.kind {
        case .name:
            let token = take()
            first = .name(SourceName(token: token, variable: find(token.text)))
        case .string: first = .string(take())
        case .number: return .constant(take())
        case .keyword where current.text == "function":
            position += 1
            return .function(parseFunction(nil))
        case .keyword where ["nil", "true", "false"].contains(current.text):
            return .constant(take())
        case .symbol where current.text == "{": first = parseTable()
        case .symbol where current.text == "(":
            position += 1
            let inner = parseExpression()
            _ = takeSymbol(")")
            first = .parenthesized(inner)
        case .symbol where current.text == "...": return .constant(take())
        // The token is not valid Lua; the caller continues after it.
        default: return .constant(current)
        }
        return parseSuffixes(of: first)
    }

    mutating func parseSuffixes(of first: SourceExpression) -> SourceExpression {
        var suffixes: [SourceSuffix] = []
        // A string or a table can have a suffix only in parentheses.
        let isPrefix =
            switch first {
            case .name, .parenthesized: true
            default: false
            }
        guard isPrefix else { return first }
        while true {
            if takeSymbol(".") {
                suffixes.append(.field(take()))
            } else if takeSymbol("[") {
                suffixes.append(.element(parseExpression()))
                _ = takeSymbol("]")
            } else if takeSymbol(":") {
                let name = take()
                suffixes.append(.method(name, parseArguments() ?? []))
            } else {
                let token = current
                guard let arguments = parseArguments() else { break }
                suffixes.append(.call(arguments, token))
            }
        }
        return suffixes.isEmpty ? first : .chain(first, suffixes)
    }

    mutating func parseArguments() -> [SourceExpression]? {
        if case .string = current.kind { return [.string(take())] }
        if current.isSymbol("{") { return [parseTable()] }
        guard takeSymbol("(") else { return nil }
        if takeSymbol(")") { return [] }
        let arguments = parseExpressions()
        _ = takeSymbol(")")
        return arguments
    }

    mutating func parseTable() -> SourceExpression {
        let open = take()
        var fields: [SourceField] = []
        depth += 1
        defer { depth -= 1 }
        while !isAtEnd, !current.isSymbol("}"), depth < Self.maxNesting {
            let start = position
            var valueStart = position
            if takeSymbol("[") {
                let key = parseExpression()
                _ = takeSymbol("]")
                _ = takeSymbol("=")
                valueStart = position
                fields.append(SourceField(name: nil, key: key, value: parseExpression()))
            } else if current.kind == .name, position + 1 < tokens.count,
                tokens[position + 1].isSymbol("=")
            {
                let name = take()
                position += 1
                valueStart = position
                fields.append(SourceField(name: name, key: nil, value: parseExpression()))
            } else {
                fields.append(SourceField(name: nil, key: nil, value: parseExpression()))
            }
            fields[fields.count - 1].range = range(from: valueStart)
            if !takeSymbol(",") { _ = takeSymbol(";") }
            if position == start { break }
        }
        _ = takeSymbol("}")
        return .table(fields, open)
    }

    mutating func parseFunction(_ owner: LuaToken?) -> SourceFunction {
        let function = SourceFunction()
        let start = position
        defer { functions.append(range(from: start)) }
        _ = takeSymbol("(")
        while !isAtEnd, !current.isSymbol(")") {
            let token = take()
            if token.kind == .name { function.parameters.append(SourceVariable(token)) }
        }
        _ = takeSymbol(")")
        function.body = inScope { parser in
            if let owner {
                parser.declare(
                    SourceVariable(LuaToken(kind: .name, range: owner.range, text: "self")))
            }
            for parameter in function.parameters { parser.declare(parameter) }
            return parser.parseBlock()
        }
        _ = takeKeyword("end")
        return function
    }
}
