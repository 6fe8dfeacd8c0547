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
        guard depth < Self.mostNested else { return .constant(take()) }
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
        while !isAtEnd, !current.isSymbol("}"), depth < Self.mostNested {
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
