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
        var call: String {
            let names = [className, oldName, newName].compactMap { $0 }
            let method = className == nil ? "rename_class" : "rename_property"
            return "m:\(method)(\(names.map { LuaLiteral.string($0) }.joined(separator: ", ")))"
        }

        /// The rename in the other direction, for `down`.
        var reversed: Candidate {
            Candidate(className: className, oldName: newName, newName: oldName)
        }

        /// Whether both renames cannot be performed, because they have the same old or the same new name.
        func excludes(_ other: Candidate) -> Bool {
            className == other.className
                && (oldName == other.oldName || newName == other.newName)
        }
    }

    /// The decision about a candidate.
    package enum Answer: Sendable {
        /// The property or class was renamed.
        case yes
        /// The old and the new name are unrelated.
        case no
        /// The user was not asked: the script renames if no other rename is possible, and otherwise fails until the user
        /// has chosen.
        case unasked
    }

    /// The differences after the classes were renamed.
    package let differences: [SchemaDifference]
    /// The renames in the order of the script, and whether each line is marked as a guess.
    private(set) var renames: [(candidate: Candidate, isMarked: Bool)] = []
    /// The groups of mutually exclusive renames, from which the user has to choose.
    private(set) var choices: [[Candidate]] = []
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
        let first = try SchemaDifference.between(schema, and: classes)
        let ofClasses = try Decision(Self.classCandidates(first, schema, classes), answer)
        let renamed = Dictionary(
            ofClasses.renames.map { ($0.candidate.oldName, $0.candidate.newName) },
            uniquingKeysWith: { a, _ in a })
        differences = try SchemaDifference.between(schema, and: classes, renamed: renamed)
        let ofProperties = try Decision(Self.propertyCandidates(differences, renamed), answer)
        renames = ofClasses.renames + ofProperties.renames
        choices = ofClasses.choices + ofProperties.choices
    }

    /// The answers to the questions about some candidates.
    private struct Decision {
        var renames: [(candidate: Candidate, isMarked: Bool)] = []
        var choices: [[Candidate]] = []

        init(_ candidates: [Candidate], _ answer: (Candidate) throws -> Answer) throws {
            var open: [Candidate] = []
            for candidate in candidates
            where !renames.contains(where: { $0.candidate.excludes(candidate) }) {
                switch try answer(candidate) {
                case .yes:
                    renames.append((candidate, false))
                    open.removeAll(where: candidate.excludes)
                case .no: break
                case .unasked: open.append(candidate)
                }
            }
            while !open.isEmpty {
                var group = [open.removeFirst()]
                var count = 0
                while count < group.count {
                    let member = group[count]
                    group += open.filter(member.excludes)
                    open.removeAll(where: member.excludes)
                    count += 1
                }
                if group.count == 1 {
                    renames.append((group[0], true))
                } else {
                    choices.append(group)
                }
            }
        }
    }

    /// The renames in an order in which no new name is taken; a ring of names is opened with a temporary name.
    var renameSteps: [(candidate: Candidate, isMarked: Bool)] {
        var left = renames
        var steps: [(candidate: Candidate, isMarked: Bool)] = []
        while !left.isEmpty {
            let free = left.firstIndex { next in
                !left.contains {
                    $0.candidate.className == next.candidate.className
                        && $0.candidate.oldName == next.candidate.newName
                }
            }
            if let free {
                steps.append(left.remove(at: free))
                continue
            }
            let (candidate, isMarked) = left.removeFirst()
            let name = "\(candidate.oldName)_before"
            steps.append(
                (
                    Candidate(
                        className: candidate.className, oldName: candidate.oldName, newName: name),
                    false
                ))
            left.append(
                (
                    Candidate(
                        className: candidate.className, oldName: name, newName: candidate.newName),
                    isMarked
                ))
        }
        return steps
    }

    /// Whether the values of an old property go to another property, or may go to one.
    func movesAway(_ className: String, _ name: String) -> Bool {
        (renames.map(\.candidate) + choices.joined()).contains {
            $0.className == className && $0.oldName == name
        }
    }

    /// Whether a new property has the values of another property, or may have them.
    func receives(_ className: String, _ name: String) -> Bool {
        (renames.map(\.candidate) + choices.joined()).contains {
            $0.className == className && $0.newName == name
        }
    }

    /// Whether the schemas are equal.
    package var isEmpty: Bool { differences.isEmpty }

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
            case .propertyChanged(let name, .index(true), _, let property),
                .propertyChanged(let name, .fullText(true), _, let property):
                return "index_\(word(name))_\(word(property.name))"
            case .propertyChanged(let name, let aspect, _, let property)
            where [.type, .required, .optional, .defaultValue].contains(aspect):
                return "change_\(word(name))_\(word(property.name))"
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

    /// Returns pairs of old and new properties with the same type in the same class; the most similar names come first.
    ///
    /// The old properties are the removed ones, and the new properties the added ones. A property whose type changes is
    /// both if another new property has its old type, and another old property has its new type: names were exchanged.
    private static func propertyCandidates(
        _ differences: [SchemaDifference], _ renamed: [String: String]
    ) -> [Candidate] {
        var removed: [String: [Property]] = [:]
        var added: [String: [Property]] = [:]
        var changed: [String: [(old: Property, new: Property)]] = [:]
        for difference in differences {
            switch difference {
            case .propertyRemoved(let name, let old): removed[name, default: []].append(old)
            case .propertyAdded(let name, let new): added[name, default: []].append(new)
            case .propertyChanged(let name, .type, let old, let new)
            where !old.isBacklinks && !new.isBacklinks:
                changed[name, default: []].append((old, new))
            default: break
            }
        }
        func isSame(_ old: Property, _ new: Property) -> Bool {
            new.type == old.type && new.collection == old.collection && new.name != old.name
                && new.target == old.target.map { renamed[$0] ?? $0 }
        }
        var pairs: [(candidate: Candidate, distance: Int)] = []
        for name in Set(removed.keys).union(changed.keys) {
            var exchanged = changed[name] ?? []
            var count = exchanged.count + 1
            while exchanged.count < count {
                count = exchanged.count
                let (origins, targets) = (
                    (removed[name] ?? []) + exchanged.map(\.old),
                    (added[name] ?? []) + exchanged.map(\.new)
                )
                exchanged.removeAll { old, new in
                    !targets.contains { isSame(old, $0) } || !origins.contains { isSame($0, new) }
                }
            }
            for old in (removed[name] ?? []) + exchanged.map(\.old) {
                let possible = ((added[name] ?? []) + exchanged.map(\.new)).filter {
                    isSame(old, $0)
                }
                // A property that becomes one with a default is less probable.
                let similar = possible.filter {
                    $0.defaultValue == nil || old.defaultValue != nil
                }
                for new in similar.isEmpty ? possible : similar {
                    // A primary key is preferably renamed to a primary key.
                    let isKey = old.isPrimary == new.isPrimary ? 0 : 100
                    pairs.append(
                        (
                            Candidate(className: name, oldName: old.name, newName: new.name),
                            NearestName.distance(between: old.name, and: new.name) + isKey
                        ))
                }
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
            ($0.distance, $0.candidate.className ?? "", $0.candidate.oldName, $0.candidate.newName)
                < (
                    $1.distance, $1.candidate.className ?? "", $1.candidate.oldName,
                    $1.candidate.newName
                )
        }.map(\.candidate)
    }
}
