import ObjectStore

/// Determines the type at the end of a chain such as `store:objects("Dog"):where("age > 3")[1].name`.
struct ChainWalk {
    private let run: LintRun
    /// Whether to report errors and to check nested expressions.
    private let isJudging: Bool

    init(_ run: LintRun, isJudging: Bool) {
        self.run = run
        self.isJudging = isJudging
    }

    /// The meaning of the chain up to a step.
    private enum Meaning {
        case unknown
        case value(KnownType)
        /// An API function that has not been called yet; `hasPoint` if a dot precedes the name of a method.
        case function(HelpEntry, of: KnownType, name: LuaToken, hasPoint: Bool)
        /// A table of a standard library of Lua.
        case library(String)
        /// The function `require`.
        case require
    }

    func walk(
        _ root: SourceExpression, _ suffixes: [SourceSuffix], isTarget: Bool
    ) -> KnownType? {
        if isJudging { run.check(root) }
        var meaning = start(root)
        for (index, suffix) in suffixes.enumerated() {
            let isSet = isTarget && index == suffixes.count - 1
            meaning = step(meaning, suffix, isSet: isSet)
        }
        if case .value(let type) = meaning { return type }
        return nil
    }

    private func start(_ root: SourceExpression) -> Meaning {
        if let type = run.kind(of: root) { return .value(type) }
        guard case .name(let name) = root, name.variable == nil, !run.survey.hidesGlobals,
            !run.survey.assignedGlobals.contains(name.token.text)
        else { return .unknown }
        if name.token.text == "require" { return .require }
        return Linter.known[name.token.text]?.isEmpty == false
            ? .library(name.token.text) : .unknown
    }

    // MARK: - Steps

    private func step(_ meaning: Meaning, _ suffix: SourceSuffix, isSet: Bool) -> Meaning {
        switch suffix {
        case .field(let name): return field(name, of: meaning, isSet: isSet)
        case .element(let key):
            if isJudging { run.check(key) }
            guard case .value(let type) = meaning else { return .unknown }
            if let text = SourceText.content(of: key) {
                guard type.type == HelpCatalog.object || type.type == HelpCatalog.map else {
                    return .unknown
                }
                let token = LuaToken(
                    kind: .name, range: text.start..<text.start + text.text.utf8.count,
                    text: text.text)
                return field(token, of: meaning, isSet: isSet)
            }
            return type.elements.map(Meaning.value) ?? .unknown
        case .call(let arguments, let token): return call(meaning, arguments, token)
        case .method(let name, let arguments):
            return method(name, arguments, of: meaning)
        }
    }

    private func field(_ name: LuaToken, of meaning: Meaning, isSet: Bool) -> Meaning {
        switch meaning {
        case .library(let library):
            judgeLibrary(library, name, isSet: isSet)
            return .unknown
        case .value(let type): return field(name, of: type, isSet: isSet)
        case .unknown, .function, .require: return .unknown
        }
    }

    private func field(_ name: LuaToken, of type: KnownType, isSet: Bool) -> Meaning {
        if type.type == HelpCatalog.object, let property = type.element?.property(named: name.text)
        {
            return type.value(of: property).map(Meaning.value) ?? .unknown
        }
        if type.type == HelpCatalog.moonpool,
            let part = HelpCatalog.type(named: "moonpool.\(name.text)")
        {
            return .value(KnownType(type: part))
        }
        // A map key with the name of a method refers to the method.
        guard let entry = type.entry(name.text) ?? moduleEntry(name.text, of: type) else {
            if type.type == HelpCatalog.map {
                return type.elements.map(Meaning.value) ?? .unknown
            }
            judgeMissing(name, of: type, isSet: isSet)
            return .unknown
        }
        switch entry.kind {
        case .field(let annotation, _):
            return type.meaning(of: annotation).map(Meaning.value) ?? .unknown
        case .function: return .function(entry, of: type, name: name, hasPoint: false)
        case .method:
            // In `moonpool.observe(dog, …)`, the receiver is an argument.
            if type.type == HelpCatalog.moonpool { return .unknown }
            return .function(entry, of: type, name: name, hasPoint: true)
        }
    }

    /// Returns the module's function for a method; every method has one.
    private func moduleEntry(_ name: String, of type: KnownType) -> HelpEntry? {
        guard type.type == HelpCatalog.moonpool else { return nil }
        return HelpCatalog.find(name).first { $0.kind == .method }
    }

    private func method(
        _ name: LuaToken, _ arguments: [SourceExpression], of meaning: Meaning
    ) -> Meaning {
        guard case .value(let type) = meaning else {
            if isJudging { run.check(arguments) }
            return .unknown
        }
        guard let entry = type.entry(name.text), entry.kind == .method else {
            if isJudging { run.check(arguments) }
            // A property takes precedence over a method of the same name; in a mixed value it can have any type.
            if type.type == HelpCatalog.object,
                type.element == nil || type.element?.property(named: name.text) != nil
            {
                return .unknown
            }
            judgeMissing(name, of: type, isMethod: true)
            return .unknown
        }
        return CallCheck(run, of: entry, on: type, arguments: arguments, isJudging: isJudging)
            .result
            .map(Meaning.value) ?? .unknown
    }

    private func call(
        _ meaning: Meaning, _ arguments: [SourceExpression], _ token: LuaToken
    ) -> Meaning {
        switch meaning {
        case .require:
            if isJudging { run.check(arguments) }
            guard arguments.first.flatMap(SourceText.content)?.text == "moonpool" else {
                return .unknown
            }
            return .value(KnownType(type: HelpCatalog.moonpool))
        case .function(let entry, let type, let name, let hasPoint):
            guard hasPoint else {
                return CallCheck(
                    run, of: entry, on: type, arguments: arguments, isJudging: isJudging
                ).result
                    .map(Meaning.value) ?? .unknown
            }
            if isJudging {
                run.check(arguments)
                judgePoint(type, name, arguments)
            }
            return .unknown
        case .unknown, .value, .library:
            if isJudging { run.check(arguments) }
            return .unknown
        }
    }

    // MARK: - Findings

    private func judgeLibrary(_ library: String, _ name: LuaToken, isSet: Bool) {
        guard isJudging, !isSet, let fields = Linter.known[library], !fields.contains(name.text),
            !run.survey.assignedFields.contains("\(library).\(name.text)")
        else { return }
        let near = NearestName.find(name.text, among: Array(fields))
        // Other modules can add functions to the tables of the libraries.
        if near == nil, run.survey.loadsModules || run.survey.runsOtherCode { return }
        run.report(
            .unknownName,
            "'\(library)' has no '\(name.text)'" + (near.map { "; did you mean '\($0)'?" } ?? ""),
            at: name.range.lowerBound)
    }

    private func judgeMissing(
        _ name: LuaToken, of type: KnownType, isSet: Bool = false, isMethod: Bool = false
    ) {
        guard isJudging, isMethod || type.isClosed else { return }
        let offset = name.range.lowerBound
        if type.type == HelpCatalog.object, let classSchema = type.element {
            let names = classSchema.properties.map(\.name)
            let hint =
                NearestName.find(name.text, among: names + (isSet ? [] : type.names)).map {
                    "; did you mean '\($0)'?"
                } ?? NearestName.hint(for: name.text, among: names)
            return run.report(
                isMethod ? .unknownName : .unknownProperty,
                "'\(classSchema.name)' has no \(isMethod ? "method" : "property") '\(name.text)'"
                    + hint, at: offset)
        }
        let isModule = type.type.name.hasPrefix("moonpool")
        if isModule, isSet || run.survey.assignedFields.contains("moonpool.\(name.text)") {
            return
        }
        let what = isModule ? "function" : isMethod ? "method" : "member"
        let parts = type.type == HelpCatalog.moonpool ? ["json", "csv", "migrate"] : []
        let near = NearestName.find(name.text, among: type.names + parts)
        run.report(
            .unknownName,
            "\(type.type.name) has no \(what) '\(name.text)'"
                + (near.map { "; did you mean '\($0)'?" } ?? ""), at: offset)
    }

    /// Reports `store.create("Dog", …)`, where the first argument shows that a colon was intended.
    private func judgePoint(
        _ type: KnownType, _ name: LuaToken, _ arguments: [SourceExpression]
    ) {
        switch arguments.first {
        case nil, .string?, .constant?, .function?, .table?: break
        default: return
        }
        run.report(
            .missingColon,
            "'\(name.text)' is a method of \(type.type.name): write :\(name.text)(…) with a colon",
            at: name.range.lowerBound)
    }
}
