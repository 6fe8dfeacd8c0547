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

        /// The question that somebody has to answer.
        package var question: String {
            guard let className else {
                return "Was class '\(oldName)' renamed to '\(newName)'?"
            }
            return "Was '\(className).\(oldName)' renamed to '\(className).\(newName)'?"
        }

        /// The line of a migration that does it.
        var call: String {
            let names = [className, oldName, newName].compactMap { $0 }.map {
                LuaLiteral.string($0)
            }
            let method = className == nil ? "rename_class" : "rename_property"
            return "m:\(method)(\(names.joined(separator: ", ")))"
        }
    }

    /// What somebody has said of a candidate.
    package enum Answer: Sendable {
        /// It was renamed.
        case yes
        /// The two have nothing to do with each other.
        case no
        /// Nobody was asked: the script keeps the values and marks the line.
        case unasked
    }

    /// What differs, with the classes renamed that were.
    package let differences: [SchemaDifference]
    /// What was renamed, in the order of the script, and whether somebody has said so.
    let renames: [(candidate: Candidate, isMarked: Bool)]
    let wanted: [ClassSchema]

    /// Compares, and asks about each probable renaming, classes first.
    ///
    /// Throws `invalid_schema` and what `answer` throws.
    package init(
        from schema: Schema, to classes: [ClassSchema], answer: (Candidate) throws -> Answer
    ) throws {
        wanted = classes
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
        try ask(Self.propertyCandidates(differences))
        self.renames = renames
    }

    /// Whether nothing differs.
    package var isEmpty: Bool { differences.isEmpty }

    /// What is gone and what is new, of one type and in one class; the most similar names first.
    private static func propertyCandidates(_ differences: [SchemaDifference]) -> [Candidate] {
        var pairs: [(candidate: Candidate, distance: Int)] = []
        for case .propertyRemoved(let name, let old) in differences {
            for case .propertyAdded(name, let new) in differences
            where new.type == old.type && new.collection == old.collection
                && new.target == old.target
            {
                let candidate = Candidate(className: name, oldName: old.name, newName: new.name)
                pairs.append((candidate, NearestName.distance(between: old.name, and: new.name)))
            }
        }
        return sorted(pairs)
    }

    /// Classes that are gone and new ones that have more than half of their properties.
    private static func classCandidates(
        _ differences: [SchemaDifference], _ schema: Schema, _ classes: [ClassSchema]
    ) -> [Candidate] {
        var pairs: [(candidate: Candidate, distance: Int)] = []
        for case .classRemoved(let old) in differences {
            let oldNames = Set(schema.find(old)?.properties.map(\.name) ?? [])
            for case .classAdded(let new) in differences {
                let wanted = classes.first { $0.name == new }
                let shared = oldNames.intersection(wanted?.properties.map(\.name) ?? [])
                guard shared.count * 2 > oldNames.count else { continue }
                let candidate = Candidate(className: nil, oldName: old, newName: new)
                // Common properties say more than the letters of the name.
                pairs.append(
                    (
                        candidate,
                        NearestName.distance(between: old, and: new) - 100 * shared.count
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
