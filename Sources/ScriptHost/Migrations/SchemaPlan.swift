import ObjectStore
import Reference

/// The difference between a file's schema and a wanted one, and what in it is probably a renaming.
package struct SchemaPlan {
    /// A property, or a class, that may be the new name of an old one.
    package struct Candidate: Hashable, Sendable {
        /// The class, by its new name; nil where the class itself may have been renamed.
        package let className: String?
        /// The name in the file.
        package let oldName: String
        /// The name in the wanted schema.
        package let newName: String

        /// The question to answer.
        package var question: String {
            guard let className else {
                return "Was class '\(oldName)' renamed to '\(newName)'?"
            }
            return "Was '\(className).\(oldName)' renamed to '\(className).\(newName)'?"
        }

        /// The line of a migration that does it.
        var call: String { Self.call(className, oldName, newName) }

        /// The line of `down` that takes it back.
        var reverseCall: String { Self.call(className, newName, oldName) }

        private static func call(_ className: String?, _ from: String, _ to: String) -> String {
            let names = [className, from, to].compactMap { $0 }.map { LuaLiteral.string($0) }
            let method = className == nil ? "rename_class" : "rename_property"
            return "m:\(method)(\(names.joined(separator: ", ")))"
        }
    }

    /// The decision about a candidate.
    package enum Answer: Sendable {
        /// It was renamed.
        case yes
        /// The two have nothing to do with each other.
        case no
        /// Not asked: the script keeps the values and marks the line.
        case unasked
    }

    /// The differences, with classes renamed.
    package let differences: [SchemaDifference]
    /// The renames, in the order of the script, and whether the line is marked as a guess.
    let renames: [(candidate: Candidate, isMarked: Bool)]
    let before: [ClassSchema]
    let wanted: [ClassSchema]

    /// Compares, and asks about each probable rename, classes first.
    ///
    /// Throws `invalid_schema` and what `answer` throws.
    package init(
        from before: [ClassSchema], to classes: [ClassSchema],
        answer: (Candidate) throws -> Answer
    ) throws {
        self.before = before
        wanted = classes
        let schema = try Schema.planned(before.map(\.unplaced))
        var renames: [(Candidate, Bool)] = []
        func ask(_ candidates: [Candidate]) throws {
            var taken: Set<[String?]> = []
            for candidate in candidates {
                let ends = [
                    [candidate.className, candidate.oldName, "old"],
                    [candidate.className, candidate.newName, "new"],
                ]
                guard taken.isDisjoint(with: ends) else { continue }
                let said = try answer(candidate)
                guard said != .no else { continue }
                taken.formUnion(ends)
                renames.append((candidate, said == .unasked))
            }
        }
        let first = try SchemaLint.differences(from: schema, to: classes)
        try ask(Self.classCandidates(first, schema, classes))
        let renamed = Dictionary(
            renames.map { ($0.0.oldName, $0.0.newName) }, uniquingKeysWith: { a, _ in a })
        differences = try SchemaLint.differences(from: schema, to: classes, renamed: renamed)
        try ask(Self.propertyCandidates(differences, renamed))
        self.renames = renames
    }

    /// Whether nothing differs except for the order of properties.
    package var isEmpty: Bool {
        // A table without order has its properties in alphabetical order, and a delta does not reorder them.
        differences.allSatisfy { if case .orderChanged = $0 { true } else { false } }
    }

    /// A name for the file, such as `add_person_phone`.
    var suggestedName: String {
        func word(_ name: String) -> String {
            String(name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        }
        if let (candidate, _) = renames.first {
            return "rename_\(word(candidate.oldName))_to_\(word(candidate.newName))"
        }
        for difference in differences {
            switch difference {
            case .classAdded(let name): return "add_\(word(name))"
            case .propertyAdded(let name, let property):
                return "add_\(word(name))_\(word(property.name))"
            case .classRemoved(let name): return "remove_\(word(name))"
            case .propertyRemoved(let name, let property):
                return "remove_\(word(name))_\(word(property.name))"
            case .typeChanged(let name, _, let property), .madeRequired(let name, let property),
                .madeOptional(let name, let property), .defaultChanged(let name, _, let property):
                return "change_\(word(name))_\(word(property.name))"
            case .indexAdded(let name, let property), .fullTextAdded(let name, let property):
                return "index_\(word(name))_\(word(property))"
            default: continue
            }
        }
        return "change_schema"
    }

    /// The old name of a class of the new schema.
    func oldName(ofClass name: String) -> String {
        renames.first { $0.candidate.className == nil && $0.candidate.newName == name }?
            .candidate.oldName ?? name
    }

    /// Properties that are gone and new ones of the same type in the same class; the most similar names first.
    private static func propertyCandidates(
        _ differences: [SchemaDifference], _ renamed: [String: String]
    ) -> [Candidate] {
        var pairs: [(candidate: Candidate, distance: Int)] = []
        func target(_ name: String?) -> String? { name.map { renamed[$0] ?? $0 } }
        for case .propertyRemoved(let name, let old) in differences {
            for case .propertyAdded(name, let new) in differences
            where new.type == old.type && new.collection == old.collection
                && new.target == target(old.target)
            {
                let candidate = Candidate(className: name, oldName: old.name, newName: new.name)
                // A key is renamed to a key before it is renamed to anything else.
                let isKey = old.isPrimary == new.isPrimary ? 0 : 100
                pairs.append(
                    (
                        candidate,
                        NearestName.distance(between: old.name, and: new.name) + isKey
                    ))
            }
        }
        return sorted(pairs)
    }

    /// Classes that are gone and new ones in which more than half of their properties have a counterpart, by name or by
    /// type.
    private static func classCandidates(
        _ differences: [SchemaDifference], _ schema: Schema, _ classes: [ClassSchema]
    ) -> [Candidate] {
        var pairs: [(candidate: Candidate, distance: Int)] = []
        for case .classRemoved(let old) in differences {
            let oldProperties = schema.find(old)?.properties ?? []
            for case .classAdded(let new) in differences {
                var left = classes.first { $0.name == new }?.properties ?? []
                var byName = 0
                var unmatched: [Property] = []
                for property in oldProperties {
                    if let index = left.firstIndex(where: { $0.name == property.name }) {
                        left.remove(at: index)
                        byName += 1
                    } else {
                        unmatched.append(property)
                    }
                }
                var byType = 0
                for property in unmatched {
                    let index = left.firstIndex {
                        $0.type == property.type && $0.collection == property.collection
                            && $0.isPrimary == property.isPrimary
                    }
                    if let index {
                        left.remove(at: index)
                        byType += 1
                    }
                }
                guard byName > 0, (byName + byType) * 2 > oldProperties.count else { continue }
                // Common properties say more than the letters of the name.
                pairs.append(
                    (
                        Candidate(className: nil, oldName: old, newName: new),
                        NearestName.distance(between: old, and: new) - 100 * byName - 10 * byType
                    ))
            }
        }
        return sorted(pairs)
    }

    private static func sorted(_ pairs: [(candidate: Candidate, distance: Int)]) -> [Candidate] {
        pairs.sorted {
            ($0.distance, $0.candidate.oldName, $0.candidate.newName)
                < ($1.distance, $1.candidate.oldName, $1.candidate.newName)
        }.map(\.candidate)
    }
}
