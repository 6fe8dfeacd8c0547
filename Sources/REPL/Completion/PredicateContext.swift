import ObjectStore
import Reference

/// The possible continuations of an unfinished predicate.
enum PredicateContext {
    /// The text of a string literal, which has no completions.
    case literal
    /// A key path.
    case path
    /// One of these words.
    case words(typed: String, [String])

    private static let comparisons = ["==", "!=", "<", "<=", ">", ">=", "between", "in"]
    private static let texts = ["==", "!=", "beginswith", "contains", "endswith", "like", "in"]
    private static let conjunctions = ["and", "or", "sort(", "distinct(", "limit("]
    /// Words after which a key path or a value follows.
    private static let openers: Set = [
        "and", "or", "not", "any", "all", "none", "some", "in", "between", "contains",
        "beginswith", "endswith", "like", "text",
    ]

    init(_ text: String, _ classSchema: ClassSchema, _ schema: Schema?) {
        var quote: Character?
        var words: [String] = [""]
        var depth = 0
        for character in text {
            if let open = quote {
                if character == open { quote = nil }
                continue
            }
            switch character {
            case "'", "\"":
                quote = character
                // A closed string is a value.
                words[words.count - 1] = "''"
            case _ where character.isWhitespace:
                if words.last != "" { words.append("") }
            case "(", "{":
                depth += 1
                words.append("")
            case ")", "}":
                depth -= 1
                words[words.count - 1] = "''"
            case ",": words.append("")
            default: words[words.count - 1].append(character)
            }
        }
        guard quote == nil else {
            self = .literal
            return
        }
        let typed = words.popLast() ?? ""
        let before = words.last { !$0.isEmpty } ?? ""
        let isWord = typed.allSatisfy { $0.isLetter }
        if before.lowercased() == "geowithin", isWord {
            self = .words(typed: typed, ["geoBox(", "geoCircle(", "geoPolygon("])
            return
        }
        guard !before.isEmpty, isWord, !Self.openers.contains(before.lowercased()) else {
            self = .path
            return
        }
        let bare =
            before.lowercased().hasSuffix("]")
            ? String(before.lowercased().prefix { $0 != "[" }) : before.lowercased()
        if Self.openers.contains(bare) || before.last.map({ "=<>!&|+-*/".contains($0) }) == true {
            self = .path
        } else if let property = Self.property(before, classSchema, schema) {
            self = .words(typed: typed, Self.operators(of: property))
        } else {
            self = .words(typed: typed, Self.conjunctions)
        }
    }

    /// Returns the property at the end of a key path.
    private static func property(
        _ path: String, _ classSchema: ClassSchema, _ schema: Schema?
    ) -> Property? {
        var current: ClassSchema? = classSchema
        var property: Property?
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            guard let found = current?.property(named: name.filter { $0 != "`" }) else {
                return nil
            }
            property = found
            current = schema.flatMap { Completer.target(of: found, in: $0) }
        }
        return property
    }

    private static func operators(of property: Property) -> [String] {
        guard property.isSingle else {
            return ["==", "!=", "contains"] + (property.collection == .map ? ["geoWithin"] : [])
        }
        switch property.type {
        case .string, .mixed:
            return property.type == .mixed
                ? Array(Set(texts + comparisons + ["geoWithin"])).sorted()
                : texts + (property.isFullText ? ["text"] : [])
        case .bool: return ["==", "!="]
        case .object: return ["==", "!=", "geoWithin"]
        default: return comparisons
        }
    }
}
