/// Counts values of a Realm file that a store cannot represent exactly.
struct RealmLosses {
    /// The kinds of losses.
    enum Kind: Int, CaseIterable {
        case nanoseconds, distantDates, malformedText, malformedKeys, repeatedKeys, unknownLinks,
            danglingLinks, orphans, sharedParts, requiredValues, equalElements
    }

    private struct Entry {
        var count = 0
        var first = ""
    }

    private var entries = [Entry](repeating: Entry(), count: Kind.allCases.count)

    /// Counts a value; `location` is recorded for the first one.
    mutating func add(_ kind: Kind, count: Int = 1, _ location: @autoclosure () -> String) {
        if entries[kind.rawValue].count == 0 { entries[kind.rawValue].first = location() }
        entries[kind.rawValue].count += count
    }

    /// One note for each kind that occurred.
    var notes: [String] {
        Kind.allCases.compactMap { kind in
            let entry = entries[kind.rawValue]
            guard entry.count > 0 else { return nil }
            return Self.text(kind, entry.count) + " (first: \(entry.first))"
        }
    }

    private static func text(_ kind: Kind, _ count: Int) -> String {
        func counted(_ one: String, _ many: String) -> String {
            count == 1 ? "1 \(one)" : "\(count) \(many)"
        }
        return switch kind {
        case .nanoseconds:
            counted("date has", "dates have")
                + " fractions of a microsecond; the import truncates them"
        case .distantDates:
            counted("date is", "dates are")
                + " beyond the range of a store; the import stores its first or last date"
        case .malformedText:
            counted("text is", "texts are") + " not UTF-8; invalid bytes become U+FFFD"
        case .malformedKeys:
            counted("dictionary entry has", "dictionary entries have")
                + " no key; the import omits them"
        case .repeatedKeys:
            counted("dictionary key occurs", "dictionary keys occur")
                + " twice; the last value counts"
        case .unknownLinks:
            counted("mixed value links", "mixed values link")
                + " to a class that is not imported; the import stores nil"
        case .danglingLinks:
            counted("link leads", "links lead")
                + " to an object that does not exist; the import stores nil, or omits the element"
        case .orphans:
            counted("embedded object has", "embedded objects have")
                + " no parent; the import omits them"
        case .sharedParts:
            counted("embedded object has", "embedded objects have")
                + " several parents; each gets a copy"
        case .equalElements:
            counted("set element is", "set elements are")
                + " equal to another element in Moonpool; the import omits equal elements"
        case .requiredValues:
            counted("value is", "values are")
                + " nil, which the schema does not allow; the import stores zero or an empty value"
        }
    }
}
