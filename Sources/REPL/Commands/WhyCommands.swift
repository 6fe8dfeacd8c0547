import LineEditing
import LuaHost
import ObjectStore
import StoreBindings

extension MetaCommand {
    /// Commands that explain why observers were called, or were not.
    static var reasons: [MetaCommand] {
        [
            MetaCommand(
                "why", "N",
                "Show the reason for an observer's last call, as a tree from the commit and the changed objects to the observer.",
                argument: .number, isPaged: true
            ) { session, text in try session.writeReason(text) },
            MetaCommand(
                "whynot", "OBSERVER OBJECT",
                "Explain why an observer was not called for an object, such as Dog 3, and which change would call it.",
                argument: .expression, isPaged: true
            ) { session, text in try session.writeSilence(text) },
        ]
    }
}

/// The lines of a tree in which each line is a branch of the line above.
private struct Branches {
    private(set) var lines: [String] = []
    private var depth = 0

    mutating func down(_ line: String) {
        lines.append(depth == 0 ? line : String(repeating: "   ", count: depth - 1) + "└─ " + line)
        depth += 1
    }

    mutating func beside(_ texts: [String]) {
        let indent = String(repeating: "   ", count: max(0, depth - 1))
        for (index, text) in texts.enumerated() {
            lines.append(indent + (index == texts.count - 1 ? "└─ " : "├─ ") + text)
        }
        depth += 1
    }
}

extension Session {
    /// Returns the active observer with this number, name or source location.
    private func observer(_ text: String) -> TokenHandle? {
        context.storeModule.activeTokens.first {
            "\($0.number)" == text || $0.name == text || $0.location == text
        }
    }

    private func noObserver(_ text: String) -> CommandError {
        let tokens = context.storeModule.activeTokens
        if let ended = seenObservers[text] {
            return CommandError("\(ended) has ended and receives no more calls; observe again")
        }
        guard !tokens.isEmpty else {
            return CommandError("there are no observers; register one with results:observe(fn)")
        }
        let known = tokens.map { "\($0.number) \($0.name.isEmpty ? $0.location : $0.name)" }
        return CommandError(
            "expected the number, name or location of an observer: "
                + known.prefix(12).joined(separator: ", "))
    }

    /// Records the titles of the observers, so that `.why` can name observers that have ended.
    func noteObservers() {
        for token in context.storeModule.activeTokens where seenObservers["\(token.number)"] == nil
        {
            let title = "observer \(token.number), \(token.title)"
            seenObservers["\(token.number)"] = title
            if !token.name.isEmpty { seenObservers[token.name] = title }
        }
    }

    fileprivate func writeReason(_ text: String) throws {
        guard let token = observer(text) else { throw noObserver(text) }
        guard let reason = token.reason else {
            return write("\(token.title) has not been called for a change yet\n")
        }
        let texts = VersionText(style: style)
        let handle = try requireLiveStore()
        let origin = texts.origin(handle.store.commit(of: reason.version))
        var tree = Branches()
        let commits = reason.version - reason.previousVersion
        tree.down(
            style.paint("version \(reason.version)", .strong)
                + (commits > 1
                    ? style.paint(
                        "  \(ValueText.count(Int(clamping: commits))) commits, after \(reason.previousVersion)",
                        .dim) : "")
                + (origin.isEmpty ? "" : style.paint("  \(origin)", .dim)))
        let objects = try reasonLines(reason, handle, texts)
        if !objects.isEmpty { tree.beside(objects) }
        if let path = reason.keyPath {
            tree.down("key path " + style.paint(path, .key))
        } else if !reason.properties.isEmpty {
            tree.down("properties " + style.paint(reason.properties.joined(separator: ", "), .key))
        }
        tree.down(
            style.paint(token.title, .type) + (token.location.isEmpty ? "" : " (\(token.location))")
                + ", of \(token.subject)")
        let rows = ValueText.count(reason.rowCount, "object")
        let time = Self.text(of: .nanoseconds(Int64(token.statistics.handling.last * 1_000)))
        tree.down("\(rows), the call took \(time)")
        if !token.cost.isEmpty {
            tree.down(style.paint("it \(token.cost)", .dim))
        }
        for line in tree.lines { write(wrapped(line) + "\n") }
    }

    /// Returns a line of the tree; a long line is wrapped below its own text.
    private func wrapped(_ line: String) -> String {
        guard TerminalText.width(line) > wrap.columns else { return line }
        let branch = String(line.prefix { " └├─".contains($0) })
        let indent = String(repeating: " ", count: max(branch.count, 3))
        var parts = wrap.lines(String(line.dropFirst(branch.count)), indent: indent)
        if let first = parts.first { parts[0] = branch + first.drop { $0 == " " } }
        return parts.joined(separator: "\n")
    }

    /// Returns the first objects of a reason, with their changed properties.
    private func reasonLines(
        _ reason: DeliveryReason, _ handle: StoreHandle, _ texts: VersionText
    ) throws -> [String] {
        let difference = try? handle.store.difference(
            from: reason.previousVersion, to: reason.version, for: holder)
        let view = handle.store.view
        var lines: [String] = []
        for cause in reason.causes.prefix(5) {
            let object = cause.object
            guard let classSchema = view.schema.find(table: object.table) else { continue }
            let entry = difference?.classes.first { $0.classSchema.table == object.table }
            if entry?.inserted.contains(object) == true {
                lines.append(style.paint("+ \(texts.label(object, classSchema, view))", .added))
            } else if entry?.deleted.contains(object) == true, let old = difference?.first {
                lines.append(style.paint("- \(texts.label(object, classSchema, old))", .removed))
            } else if let change = entry?.modified.first(where: { $0.object == object }),
                let difference
            {
                let named = change.properties.filter { cause.properties.contains($0.property.name) }
                let parts = (named.isEmpty ? change.properties : named).prefix(3).map { property in
                    "\(style.paint(property.property.name, .key)) "
                        + style.paint(texts.text(property.old, difference.first), .removed) + " → "
                        + style.paint(texts.text(property.new, difference.second), .added)
                }
                lines.append(
                    texts.label(object, classSchema, view) + "  "
                        + parts.joined(separator: ", "))
            } else if try view.isPresent(object) {
                lines.append(
                    texts.label(object, classSchema, view)
                        + style.paint("  \(cause.properties.joined(separator: ", "))", .key)
                        + style.paint("  set to equal values", .dim))
            } else {
                lines.append("\(classSchema.name) (deleted)")
            }
        }
        let more = reason.causes.count - 5
        if more > 0 { lines.append(style.paint("… \(ValueText.count(more)) more", .dim)) }
        return lines
    }

    // MARK: - Why not

    fileprivate func writeSilence(_ text: String) throws {
        let words = text.split(maxSplits: 1, whereSeparator: \.isWhitespace).map(String.init)
        guard words.count == 2 else {
            throw CommandError(
                ".whynot takes an observer and an object: .whynot 2 Dog 3, or .whynot kennel rex")
        }
        guard let token = observer(words[0]) else { throw noObserver(words[0]) }
        let object = try object(words[1])
        let handle = try requireLiveStore()
        let texts = VersionText(style: style)
        let label = texts.label(object.reference, object.classSchema, object.source.view)
        guard let coverage = try token.coverage(of: object) else {
            return try writeDependencies(token, object, label)
        }
        var lines = ["\(style.paint(token.title, .type)) and \(style.paint(label, .strong)):"]
        var remedies: [String] = []
        func add(_ kind: String, holds: Bool, _ text: String, remark: String = "") {
            let sign = holds ? style.paint("✓", .added) : style.paint("✗", .removed)
            let padding = String(repeating: " ", count: max(1, 10 - kind.count))
            lines.append(
                "  \(sign) \(style.paint(kind, .dim))\(padding)\(text)"
                    + (remark.isEmpty ? "" : style.paint("   \(remark)", .dim)))
        }
        if let other = coverage.observedObject, other != object.reference {
            let observed = object.source.view.schema.find(table: other.table).map {
                texts.label(other, $0, object.source.view)
            }
            add("object", holds: false, "it observes \(observed ?? "another object") only")
            remedies.append("observe \(label)")
        }
        if let name = coverage.otherClass {
            add("class", holds: false, "it observes objects of \(name)")
            remedies.append("observe \(object.classSchema.name)")
        }
        for condition in coverage.conditions {
            let values = condition.values.map {
                "\($0.path) is \(texts.text($0.value, object.source.view))"
            }
            add(
                "filter", holds: condition.holds, condition.text,
                remark: values.joined(separator: ", "))
            if !condition.holds { remedies.append("\(condition.text) must be true") }
        }
        if coverage.isCutOff {
            add("limit", holds: false, "the object matches, but limit or distinct excludes it")
            remedies.append("it must come before the limit")
        }
        let changed = lastChange(of: object, handle)
        if !coverage.keyPaths.isEmpty {
            let paths = coverage.keyPaths.joined(separator: ", ")
            let covered = changed.filter(coverage.covers)
            if changed.isEmpty {
                add("key paths", holds: true, paths)
            } else {
                add(
                    "key paths", holds: !covered.isEmpty, paths,
                    remark: "the last commit changed \(changed.joined(separator: ", "))")
                if covered.isEmpty {
                    remedies.append("a property on its key paths must change: \(paths)")
                }
            }
        } else if changed.isEmpty, coverage.otherClass == nil {
            add(
                "change", holds: false,
                "the last commit, version \(handle.store.version), did not touch the object")
            if remedies.isEmpty { remedies.append("the object must change") }
        }
        if let version = coverage.silencedVersion {
            add(
                "silent", holds: version != handle.store.version,
                "version \(version) was written with without_notifying for this observer")
        }
        switch coverage.pace {
        case .debounce(let time)?:
            add(
                "debounce", holds: !coverage.isHolding,
                "it waits for a time without changes: \(Self.text(of: time))")
            if coverage.isHolding { remedies.append("a call is pending") }
        case .throttle(let time)?:
            add(
                "throttle", holds: !coverage.isHolding, "at most one call in \(Self.text(of: time))"
            )
            if coverage.isHolding { remedies.append("a call is pending") }
        case nil: break
        }
        if handle.store.isInWrite {
            add(
                "write", holds: false, "a write transaction is open; observers run after its commit"
            )
            remedies.append("commit the open write")
        }
        for line in lines { write(line + "\n") }
        write(
            remedies.isEmpty
                ? "It is called when the object changes; its last call was for version "
                    + "\(token.reason.map { "\($0.version)" } ?? "none yet").\n"
                : "Required for a call: \(remedies.joined(separator: "; ")).\n")
    }

    /// Writes the dependencies of an effect or an aggregate.
    private func writeDependencies(_ token: TokenHandle, _ object: LiveObject, _ label: String)
        throws
    {
        let names = token.dependencies
        let own = names.filter {
            $0 == object.classSchema.name || $0.hasPrefix(object.classSchema.name + ".")
                || $0 == "a \(object.classSchema.name)"
        }
        write(
            "\(token.title) runs when one of its reads changes: \(names.joined(separator: ", "))\n")
        write(
            own.isEmpty
                ? "It does not read \(object.classSchema.name), so \(label) cannot make it run.\n"
                : "Of \(object.classSchema.name) it reads \(own.joined(separator: ", ")); a change to an equal value does not count.\n"
        )
    }

    /// Returns the properties of an object that the last commit changed.
    private func lastChange(of object: LiveObject, _ handle: StoreHandle) -> [String] {
        let version = handle.store.version
        guard version > 0,
            let difference = try? handle.store.difference(
                from: version - 1, to: version, for: holder)
        else { return [] }
        return difference.classes.flatMap(\.modified).first { $0.object == object.reference }
            .map { $0.properties.map(\.property.name) } ?? []
    }

    /// Returns the object that an expression evaluates to, or that a class and a key name: `Dog 3`.
    private func object(_ text: String) throws -> LiveObject {
        let words = text.split(maxSplits: 1, whereSeparator: \.isWhitespace).map(String.init)
        if words.count == 2, let store, store.store.schema.find(words[0]) != nil {
            let key: Value =
                Int64(words[1]).map(Value.int)
                ?? .string(words[1].trimmingQuotes)
            if let found = try store.store.object(words[0], primaryKey: key) { return found }
            throw CommandError("there is no \(words[0]) with the key \(words[1])")
        }
        let values = try evaluator.prepare("= " + text)()
        guard let value = values.first,
            case .object(let object)? = context.storeModule.inspect(value)
        else {
            throw CommandError(
                "expected an object, got \(values.first?.typeName ?? "nil"): pass an expression, or Dog 3"
            )
        }
        guard object.isValid else { throw CommandError("the object was deleted") }
        return object
    }
}

extension String {
    fileprivate var trimmingQuotes: String {
        guard count >= 2, let first, first == last, first == "\"" || first == "'" else {
            return self
        }
        return String(dropFirst().dropLast())
    }
}
