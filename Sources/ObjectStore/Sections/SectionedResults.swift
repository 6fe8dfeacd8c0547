import ColumnStorage

/// The objects of a query grouped by a value, lazy and live like ``Results``.
///
/// There is a section for every occurring value, in the order of the values (nil first, or last in descending order).
/// Inside a section, the objects are in the order of the results. A section is created with its first object and
/// removed with its last one. The sections are confined to the store's thread.
///
/// Every member that reads throws `closed` and `wrong_thread`.
package final class SectionedResults {
    /// The grouped objects.
    package let results: Results
    /// The key path whose values determine the sections.
    package let keyPath: String
    /// Whether the order is ascending, with nil first and then small keys.
    package let ascending: Bool

    private(set) var rules: SectionRules
    /// The schema for which the rules were created.
    private var made: Schema
    private var kept: (version: UInt64, generation: UInt64, keys: [Scalar])?

    /// Groups results without running the query.
    ///
    /// The path may also have an operation or an index, such as `items.@count`, or lead into a mixed value. Throws
    /// `invalid_query` for a path that defines no order because it is unknown, ends in a link or data, or goes through
    /// a list.
    package init(_ results: Results, by keyPath: String, ascending: Bool = true) throws {
        made = try results.source.openView().schema
        let sortKey = try SortKey(
            keyPath, ascending: ascending, class: try results.classSchema(), schema: made)
        rules = SectionRules(results.query, sortKey)
        self.results = results
        self.keyPath = keyPath
        self.ascending = ascending
    }

    private init(_ results: Results, _ other: SectionedResults) {
        self.results = results
        (rules, made) = (other.rules, other.made)
        keyPath = other.keyPath
        ascending = other.ascending
    }

    /// Whether the results can be read, as in ``Results/isValid``.
    package var isValid: Bool { results.isValid }

    /// Returns the number of sections.
    ///
    /// The first call at a version reads the value of every object.
    package func count() throws -> Int { try scalars().count }

    /// Returns the values of the sections, in order.
    package func keys() throws -> [Value] { try scalars().map(rules.value) }

    /// Returns the values of the sections with their numbers of objects, in order.
    ///
    /// Reads the value of every object.
    package func counts() throws -> [(key: Value, count: Int)] {
        _ = try scalars()
        let sections = try rules.keys(of: results.keys(), in: results.source.view)
        return sections.map { (rules.value($0.key), $0.count) }
    }

    /// Returns the value of a section and its objects.
    ///
    /// The objects are live: they always match the current values. Throws `out_of_range` past the end.
    package func section(at position: Int) throws -> (key: Value, objects: Results) {
        let keys = try scalars()
        guard keys.indices.contains(position) else {
            throw StoreError.outside(position, of: "the \(keys.count) sections")
        }
        return (rules.value(keys[position]), objects(withScalar: keys[position]))
    }

    /// Returns the objects with a value; the result may be empty.
    ///
    /// Throws `type_mismatch` for a value of another type.
    package func objects(withKey key: Value) throws -> Results {
        objects(withScalar: try rules.scalar(key))
    }

    private func objects(withScalar key: Scalar) -> Results {
        Results(results.source, rules.query(of: key))
    }

    /// Returns the position of the section with a value; nil if no object has it.
    package func index(ofKey key: Value) throws -> Int? {
        let scalar = try rules.scalar(key)
        return rules.position(of: scalar, in: try scalars(), by: \.self)
    }

    /// Returns the same sections on another view or store of the file, such as a frozen one.
    package func moved(to source: ObjectSource) -> SectionedResults {
        SectionedResults(results.moved(to: source), self)
    }

    private func scalars() throws -> [Scalar] {
        let view = try results.source.openView()
        if let (store, _) = results.source.tracked {
            try store.noteRead(of: results.query, path: keyPath)
        }
        if let kept, kept.version == view.version, kept.generation == view.generation {
            return kept.keys
        }
        if made !== view.schema {
            rules = try rules.remade(for: view.schema)
            made = view.schema
        }
        let keys = try rules.keys(of: results.keys(), in: view).map(\.key)
        kept = (view.version, view.generation, keys)
        return keys
    }
}

extension Results {
    /// Returns the objects grouped by the value of a key path.
    ///
    /// Throws `invalid_query` for a path that defines no order.
    package func grouped(by keyPath: String, ascending: Bool = true) throws -> SectionedResults {
        try SectionedResults(self, by: keyPath, ascending: ascending)
    }
}
