import ColumnStorage

/// The changes of a row that an observer receives.
///
/// Without key paths, these are all changes of the row and of the objects within three links. With key paths, these are
/// the changes of every property on the paths, through any number of links, lists and backlinks. A `*` means every
/// property of its level.
struct KeyPathFilter {
    /// One key path, as passed by the caller.
    struct Path {
        let text: String
        let graph: WatchGraph
        /// The properties of the observed class with which the path begins.
        let first: [(property: Property, graph: WatchGraph)]
    }

    /// The part of a filter that determines the touched rows.
    struct Scope: Hashable {
        let table: TableID
        let texts: [String]
    }

    /// The class at which the key paths begin.
    let table: TableID
    /// The requested key paths; empty for all changes.
    let texts: [String]
    /// The key paths; empty without a filter.
    let paths: [Path]
    /// All dependencies in one graph.
    let graph: WatchGraph

    /// Parses the key paths of a class.
    ///
    /// If `texts` is empty, there is no filter.
    ///
    /// Throws `invalid_query` for an unknown name, with the most similar known name.
    init(_ texts: [String], class classSchema: ClassSchema, schema: Schema) throws {
        self.texts = texts
        table = classSchema.table
        var all: [PropertyPath] = []
        paths = try texts.map { text in
            let expanded = try WildcardPath.expand(text, class: classSchema, schema: schema)
            try StoreError.step(64 * expanded.count)
            all += expanded
            let names = Dictionary(grouping: expanded) { $0.components[0].property.name }
            return Path(
                text: text, graph: WatchGraph(expanded, of: classSchema.table),
                first: classSchema.properties.compactMap { property in
                    names[property.name].map { (property, WatchGraph($0, of: classSchema.table)) }
                })
        }
        graph =
            texts.isEmpty
            ? WatchGraph(everythingFrom: classSchema.table, schema: schema)
            : WatchGraph(all, of: classSchema.table)
    }

    /// Returns the rows of the class that a step changes in a way that the observer receives.
    func touchedRows(in step: VersionStep) throws -> KeySet {
        // For one column, reading the rows from the change set costs less than caching them.
        if graph.nodes.count == 1, step.changes(of: table)?.modified.count ?? 0 <= 1 {
            return try graph.touchedRows(in: step)
        }
        return try step.touchedRows(in: Scope(table: table, texts: texts)) {
            try graph.touchedRows(in: step)
        }
    }

    /// Returns the first key path that matches a change of the given rows; nil without a filter.
    func matchingPath(for rows: KeySet, in step: VersionStep) throws -> String? {
        try paths.first { try $0.graph.touchedRows(in: step).intersects(rows) }?.text
    }
}

/// Key paths that contain `*`.
private enum WildcardPath {
    /// Returns every path that the text matches.
    ///
    /// A `*` before the end matches the properties that the rest of the path can follow. If only `*` follows, it also
    /// matches plain values, at which paths end: `*.*` includes all paths of `*`. Throws `unknown_property` or
    /// `invalid_query` for a text that matches no path, and `invalid_query` for more than 1,000 paths.
    static func expand(
        _ text: String, class classSchema: ClassSchema, schema: Schema
    ) throws -> [PropertyPath] {
        if ValuePath.hasOperations(text) {
            return try ValuePath(text, class: classSchema, schema: schema).dependencies
        }
        let names = text.split(separator: ".", omittingEmptySubsequences: false)
        guard names.contains("*") else {
            do {
                return try PropertyPath.parseAll(text, class: classSchema, schema: schema)
            } catch let error as StoreError
                where error.code == .unknownProperty
                && PropertyPath.entersMixed(text, class: classSchema, schema: schema)
            {
                // No class has the property, so the name is a key of a map.
                return try ValuePath(text, class: classSchema, schema: schema).dependencies
            }
        }
        var found: [PropertyPath] = []
        var fault: (any Error)?
        var tried = 0
        func extend(
            _ prefix: [String], _ current: ClassSchema?, _ rest: ArraySlice<Substring>
        ) throws {
            guard let next = rest.first, let current else {
                tried += 1
                guard tried <= 1000 else {
                    throw StoreError(
                        .invalidQuery, "the key path '\(text)' matches more than 1,000 paths")
                }
                do {
                    let path = (prefix + rest.map(String.init)).joined(separator: ".")
                    found += try PropertyPath.parseAll(
                        path, class: classSchema, schema: schema)
                } catch {
                    fault = fault ?? error
                }
                return
            }
            if next == "*" {
                let endsInStars = rest.allSatisfy { $0 == "*" }
                for property in current.properties {
                    let isFollowed = property.canHoldLinks || property.isBacklinks
                    guard rest.count == 1 || isFollowed || endsInStars else { continue }
                    try extend(
                        prefix + [property.name], schema.target(of: property),
                        isFollowed ? rest.dropFirst() : [])
                }
            } else {
                let property = current.property(named: String(next))
                try extend(
                    prefix + [String(next)], property.flatMap(schema.target), rest.dropFirst())
            }
        }
        try extend([], classSchema, names[...])
        if found.isEmpty {
            throw fault
                ?? StoreError(
                    .invalidQuery,
                    "the key path '\(text)' matches no property: '\(classSchema.name)' has no matching "
                        + "link")
        }
        return found
    }
}
