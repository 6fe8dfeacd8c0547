import ObjectStore

/// Checks one script by traversing its statements.
final class LintRun {
    let linter: Linter
    let survey: SourceSurvey
    private let lines: SourceLines
    private(set) var findings: [LintFinding] = []
    /// The types of variables; the inner nil marks variables of unknown type.
    private var known: [ObjectIdentifier: KnownType?] = [:]
    private var knownGlobals: [String: KnownType?] = [:]
    /// The schemas of schema literals, by the offset of the table.
    private var schemas: [Int: Schema?] = [:]

    init(_ linter: Linter, _ survey: SourceSurvey, _ lines: SourceLines) {
        self.linter = linter
        self.survey = survey
        self.lines = lines
    }

    func report(_ rule: LintFinding.Rule, _ message: String, at offset: Int) {
        let location = lines.location(of: offset)
        findings.append(
            LintFinding(line: location.line, column: location.column, rule: rule, message: message))
    }

    // MARK: - Statements

    func check(_ statements: [SourceStatement]) {
        for statement in statements { check(statement) }
    }

    private func check(_ statement: SourceStatement) {
        switch statement {
        case .local(_, let values): check(values)
        case .assignment(let targets, let values):
            for target in targets { checkTarget(target) }
            check(values)
        case .call(let call): check(call)
        case .block(let body): check(body)
        case .loop(let condition, let body):
            check(condition)
            check(body)
        case .branches(let branches):
            for branch in branches {
                if let condition = branch.condition { check(condition) }
                check(branch.body)
            }
        case .counting(_, let bounds, let body):
            check(bounds)
            check(body)
        case .iteration(let variables, let values, let body):
            check(values)
            bindLoop(variables, values)
            check(body)
        case .function(let target, let function):
            // An assignment reads only the container of its target.
            if case .chain(let root, _) = target { check(root) }
            check(function.body)
        case .localFunction(_, let function): check(function.body)
        case .results(let values): check(values)
        }
    }

    private func checkTarget(_ target: SourceExpression) {
        guard case .chain(let root, let suffixes) = target else { return }
        // An assignment sets the last step; a property of an object must exist to be set.
        _ = walk(root, suffixes, isTarget: true)
    }

    // MARK: - Expressions

    func check(_ expressions: [SourceExpression]) {
        for expression in expressions { check(expression) }
    }

    func check(_ expression: SourceExpression) {
        switch expression {
        case .constant, .string: break
        case .name(let name): checkGlobal(name)
        case .function(let function): check(function.body)
        case .table(let fields, _):
            for field in fields {
                if let key = field.key { check(key) }
                check(field.value)
            }
        case .chain(let root, let suffixes): _ = walk(root, suffixes, isTarget: false)
        case .operation(let operands, let words):
            let isTest = words.contains(where: { SourceSurvey.tests.contains($0) })
            for operand in operands {
                // `table.unpack or unpack` tests whether the function exists.
                if isTest, case .chain(let root, let suffixes) = operand,
                    suffixes.count == 1, case .field = suffixes[0], case .name = root
                {
                    check(root)
                } else {
                    check(operand)
                }
            }
        case .parenthesized(let inner): check(inner)
        }
    }

    private func checkGlobal(_ name: SourceName) {
        guard name.variable == nil, name.token.kind == .name, !survey.hidesGlobals else { return }
        let text = name.token.text
        guard Linter.known[text] == nil, !survey.assignedGlobals.contains(text),
            !survey.testedGlobals.contains(text), !linter.globals.contains(text),
            !(text == "store" && linter.schema != nil)
        else { return }
        let names = Array(Linter.known.keys) + survey.assignedGlobals + linter.globals
        // Almost every name is similar to a name of one or two letters.
        let near = text.utf8.count < 3 ? nil : NearestName.find(text, among: names)
        // Globals that other code sets are unknown, but a misspelled name can still be recognized.
        guard near != nil || !survey.runsOtherCode else { return }
        report(
            .unknownGlobal,
            "unknown global '\(text)'" + (near.map { "; did you mean '\($0)'?" } ?? ""),
            at: name.token.range.lowerBound)
    }

    // MARK: - Types

    /// Returns the type of an expression, if it can be determined, without reporting errors in the expression.
    func kind(of expression: SourceExpression) -> KnownType? {
        switch expression {
        case .name(let name): kind(of: name)
        case .parenthesized(let inner): kind(of: inner)
        case .chain(let root, let suffixes):
            ChainWalk(self, isJudging: false).walk(root, suffixes, isTarget: false)
        case .constant, .string, .function, .table, .operation: nil
        }
    }

    private func kind(of name: SourceName) -> KnownType? {
        guard let variable = name.variable else { return kind(ofGlobal: name.token.text) }
        let key = ObjectIdentifier(variable)
        if let known = known[key] { return known }
        // The entry ends the recursion for a variable that is part of its own value.
        known[key] = .some(nil)
        let found = variable.changes == 0 ? variable.value.flatMap { kind(of: $0) } : nil
        known[key] = .some(found)
        return found
    }

    private func kind(ofGlobal name: String) -> KnownType? {
        if survey.hidesGlobals { return nil }
        if name == "moonpool", !survey.assignedGlobals.contains(name) {
            return KnownType(type: HelpCatalog.moonpool)
        }
        if name == "store", let schema = linter.schema, !survey.assignedGlobals.contains(name) {
            return KnownType(type: HelpCatalog.store, schema: usable(schema))
        }
        if let known = knownGlobals[name] { return known }
        knownGlobals[name] = .some(nil)
        let found = survey.globalValues[name].flatMap { kind(of: $0) }
        knownGlobals[name] = .some(found)
        return found
    }

    func bind(_ variable: SourceVariable, _ type: KnownType?) {
        guard variable.changes == 0, let type else { return }
        known[ObjectIdentifier(variable)] = .some(type)
    }

    /// Determines the types of loop variables: `for i, dog in ipairs(dogs)`, `for dog in dogs:each()`.
    private func bindLoop(_ variables: [SourceVariable], _ values: [SourceExpression]) {
        guard values.count == 1, case .chain(let root, let suffixes) = values[0],
            let last = suffixes.last
        else { return }
        switch last {
        case .call(let arguments, _):
            guard case .name(let name) = root, name.variable == nil, suffixes.count == 1,
                ["ipairs", "pairs"].contains(name.token.text), let first = arguments.first,
                variables.count > 1, let collection = kind(of: first)
            else { return }
            bind(variables[1], collection.elements)
        case .method(let name, _):
            guard name.text == "each", suffixes.count >= 1,
                let collection = kind(of: .chain(root, Array(suffixes.dropLast())))
            else { return }
            bind(variables[0], collection.elements)
        default: break
        }
    }

    private func walk(
        _ root: SourceExpression, _ suffixes: [SourceSuffix], isTarget: Bool
    ) -> KnownType? {
        ChainWalk(self, isJudging: true).walk(root, suffixes, isTarget: isTarget)
    }

    // MARK: - Schemas

    /// Returns a schema unless the script changes classes while it runs.
    func usable(_ schema: Schema?) -> Schema? { survey.changesSchemas ? nil : schema }

    /// Returns the fields of an expression that is known to be a table.
    func fields(of expression: SourceExpression) -> [SourceField]? {
        switch expression {
        case .table(let fields, _): return fields
        case .parenthesized(let inner): return self.fields(of: inner)
        case .name(let name):
            guard let variable = name.variable, variable.changes == 0,
                case .table(let fields, _)? = variable.value
            else { return nil }
            return fields
        default: return nil
        }
    }

    /// Returns the schema of the store that `moonpool.open` returns, and reports errors in a literal schema.
    func schema(ofOpening argument: SourceExpression?, isJudging: Bool) -> Schema? {
        guard let argument else { return nil }
        if let text = SourceText.content(of: argument) { return schema(ofFile: text.text) }
        guard let options = fields(of: argument) else {
            // A computed path, such as `arg[1]`, is assumed to be the path of the given store.
            if case .table = argument { return nil }
            return usable(linter.schema)
        }
        func value(_ name: String) -> SourceExpression? {
            options.first { $0.name?.text == name }?.value
        }
        guard let given = value("schema") else {
            guard let path = value("path") else { return nil }
            return SourceText.content(of: path).map { schema(ofFile: $0.text) }
                ?? usable(linter.schema)
        }
        guard let fields = self.fields(of: given) else { return nil }
        return usable(schema(ofLiteral: fields, given, isJudging: isJudging))
    }

    private func schema(ofFile path: String) -> Schema? {
        func name(_ path: String) -> Substring? { path.split(separator: "/").last }
        guard let store = linter.storePath, name(store) == name(path) else { return nil }
        return usable(linter.schema)
    }

    private func schema(
        ofLiteral fields: [SourceField], _ expression: SourceExpression, isJudging: Bool
    ) -> Schema? {
        let offset = Self.offset(of: expression, fields)
        if let known = schemas[offset], !isJudging { return known }
        let literal = SchemaLiteral(fields, follow: { self.fields(of: $0) })
        if isJudging {
            for fault in literal.faults {
                report(.invalidSchema, fault.message, at: fault.offset)
            }
        }
        guard let classes = literal.classes else {
            schemas[offset] = .some(nil)
            return nil
        }
        do {
            let schema = try Schema.planned(classes)
            schemas[offset] = schema
            return schema
        } catch {
            if isJudging, let error = error as? StoreError {
                for line in error.message.split(separator: "\n") {
                    report(.invalidSchema, String(line), at: literal.offset(of: line) ?? offset)
                }
            }
            schemas[offset] = .some(nil)
            return nil
        }
    }

    private static func offset(of expression: SourceExpression, _ fields: [SourceField]) -> Int {
        switch expression {
        case .table(_, let token): token.range.lowerBound
        case .name(let name): name.token.range.lowerBound
        case .parenthesized(let inner): offset(of: inner, fields)
        default: 0
        }
    }
}
