import ObjectStore
import Reference

/// The difference between the schema of a file and a target schema, with the probable renames.
package struct SchemaPlan {
    /// A property or a class that may have been renamed.
    package struct Candidate: Hashable, Sendable {
        /// The new name of the class; nil if the class itself may have been renamed.
        package let className: String?
        /// The name in the file's schema.
        package let oldName: String
        /// The name in the target schema.
        package let newName: String

        /// The question to the user about the rename.
        package var question: String {
            guard let className else {
                return "Was class '\(oldName)' renamed to '\(newName)'?"
            }
            return "Was '\(className).\(oldName)' renamed to '\(className).\(newName)'?"
        }

        /// The line of a migration that performs the rename.
        var call: String { Self.call(className, oldName, newName) }

        /// The line of `down` that reverses the rename.
        var reverseCall: String { Self.call(className, newName, oldName) }

        private static func call(_ className: String?, _ from: String, _ to: String) -> String {
            let names = [className, from, to].compactMap { $0 }.map { LuaLiteral.string($0) }
            let method = className == nil ? "rename_class" : "rename_property"
            return "m:\(method)(\(names.joined(separator: ", ")))"
        }
    }

    /// The decision about a candidate.
    package enum Answer: Sendable {
        /// The property or class was renamed.
        case yes
        /// The old and the new name are unrelated.
        case no
        /// The user was not asked: the script keeps the values and marks the line.
        case unasked
    }

    /// The differences after the classes were renamed.
    package let differences: [SchemaDifference]
    /// The renames in the order of the script, and whether each line is marked as a guess.
    let renames: [(candidate: Candidate, isMarked: Bool)]
    let before: [ClassSchema]
    let wanted: [ClassSchema]

    /// Compares the schemas and asks about each probable rename, classes first.
    ///
    /// Throws `invalid_schema` and the errors of `answer`.
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

    /// Whether the schemas are equal, except for the order of properties.
    package var isEmpty: Bool {
        // A table without an order has its properties in alphabetical order, and a delta does not reorder properties.
        differences.allSatisfy { if case .orderChanged = $0 { true } else { false } }
    }

    /// A suggested name for the migration file, such as `add_person_phone`.
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

    /// Returns the old name of a class in the new schema.
    func oldName(ofClass name: String) -> String {
        renames.first { $0.candidate.className == nil && $0.candidate.newName == name }?
            .candidate.oldName ?? name
    }

    /// Returns pairs of removed and added properties with the same type in the same class; the most similar names come
    /// first.
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
                // A primary key is preferably renamed to a primary key.
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

    /// Returns pairs of removed and added classes.
    ///
    /// More than half of their properties must have a counterpart with the same name or type.
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
                // Common properties are stronger evidence than similar names.
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
