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
        let watched: WatchedPaths
        /// The properties of the observed class with which the path begins.
        let first: [(property: Property, watched: WatchedPaths)]
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
    /// All dependencies.
    let watched: WatchedPaths

    /// Parses the key paths of a class.
    ///
    /// If `texts` is empty, there is no filter.
    ///
    /// Throws `invalid_query` for an unknown name, with the most similar known name.
    init(_ texts: [String], class classSchema: ClassSchema, schema: Schema) throws {
        self.texts = texts
        table = classSchema.table
        var all: [WatchedPath] = []
        paths = try texts.map { text in
            let expanded = try WildcardPath.expand(text, class: classSchema, schema: schema)
            try StoreError.step(64 * expanded.count)
            all += expanded
            let names = Dictionary(grouping: expanded, by: \.firstName)
            return Path(
                text: text, watched: WatchedPaths(expanded, of: classSchema.table),
                first: classSchema.properties.compactMap { property in
                    names[property.name].map {
                        (property, WatchedPaths($0, of: classSchema.table))
                    }
                })
        }
        watched =
            texts.isEmpty
            ? WatchedPaths(WatchGraph(everythingFrom: classSchema.table, schema: schema))
            : WatchedPaths(all, of: classSchema.table)
    }

    /// Returns the rows of the class that a step changes in a way that the observer receives.
    func touchedRows(in step: VersionStep) throws -> KeySet {
        // For one column, reading the rows from the change set costs less than caching them.
        if watched.isOneNode, step.changes(of: table)?.modified.count ?? 0 <= 1 {
            return try watched.touchedRows(in: step)
        }
        return try step.touchedRows(in: Scope(table: table, texts: texts)) {
            try watched.touchedRows(in: step)
        }
    }

    /// Returns the first key path that matches a change of the given rows; nil without a filter.
    func matchingPath(for rows: KeySet, in step: VersionStep) throws -> String? {
        try paths.first { try $0.watched.touchedRows(in: step).intersects(rows) }?.text
    }
}

/// A path whose changes an observer receives.
struct WatchedPath {
    /// The properties that the values of the path depend on.
    let dependencies: [PropertyPath]
    /// The path of which only a different value counts as a change; nil if every change of a dependency counts.
    let exact: ValuePath?

    /// Creates a path of names and dots.
    init(_ path: PropertyPath) { (dependencies, exact) = ([path], nil) }

    /// Creates a path with operations or through mixed values.
    init(_ path: ValuePath, isExact: Bool) {
        (dependencies, exact) = (path.dependencies, isExact ? path : nil)
    }

    /// The property of the observed class with which the path begins.
    var firstName: String { dependencies.first?.components[0].property.name ?? "" }
}

/// The dependencies of several paths of a class.
///
/// An element of a list, and the contents of a mixed value, have no column of their own. The dependencies of a path to
/// them include more than the path reaches, so its values before and after a step decide.
struct WatchedPaths {
    /// The dependencies of which every change counts.
    private let graph: WatchGraph
    /// The paths of which only a different value counts, with their dependencies.
    private let exact: [(path: ValuePath, graph: WatchGraph)]

    init(_ graph: WatchGraph) { (self.graph, exact) = (graph, []) }

    init(_ paths: [WatchedPath], of table: TableID) {
        graph = WatchGraph(paths.filter { $0.exact == nil }.flatMap(\.dependencies), of: table)
        exact = paths.compactMap { path in
            path.exact.map { ($0, WatchGraph(path.dependencies, of: table)) }
        }
    }

    /// The dependencies of all paths.
    var graphs: [WatchGraph] { [graph] + exact.map(\.graph) }

    /// The columns of the rows themselves whose changes matter; nil for all columns.
    var ownColumns: Set<ColumnID>? {
        exact.reduce(graph.ownColumns) { columns, path in
            columns.flatMap { columns in path.graph.ownColumns.map(columns.union) }
        }
    }

    /// Whether only columns of the rows themselves matter.
    var isOneNode: Bool { exact.isEmpty && graph.nodes.count == 1 }

    /// Returns whether a step may touch a row.
    func mayTouch(_ step: VersionStep) -> Bool {
        step.changes.tables.keys.contains { table in
            graph.tables.contains(table) || exact.contains { $0.graph.tables.contains(table) }
        }
    }

    /// Returns the rows that a step touches; they may include rows that the step inserted.
    func touchedRows(in step: VersionStep) throws -> KeySet {
        var rows = try graph.touchedRows(in: step)
        for (path, graph) in exact {
            let candidates = try graph.touchedRows(in: step).subtracting(rows)
            guard !candidates.isEmpty else { continue }
            // A change of schema may have added the properties of the path.
            guard !step.changes.schemaChanged else {
                rows.formUnion(candidates)
                continue
            }
            let (before, after) = try (path.bound(to: step.old), path.bound(to: step.new))
            let inserted = step.changes(of: graph.nodes[0].table)?.inserted ?? KeySet()
            let changed = try candidates.filter { key in
                try inserted.contains(key) || before.values(key) != after.values(key)
            }
            rows.formUnion(KeySet(unordered: changed))
        }
        return rows
    }

    /// Adds the objects and columns whose changes in a step touch some rows, or with nil any row.
    func addCauses(
        of rows: KeySet?, in step: VersionStep, to causes: inout ChangeCauses
    ) throws {
        for graph in graphs { try graph.addCauses(of: rows, in: step, to: &causes) }
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
    ) throws -> [WatchedPath] {
        let entersMixed = PropertyPath.entersMixed(text, class: classSchema, schema: schema)
        let names = text.split(separator: ".", omittingEmptySubsequences: false)
        if ValuePath.hasOperations(text) || entersMixed && !names.contains("*") {
            let path = try ValuePath(text, class: classSchema, schema: schema)
            return [WatchedPath(path, isExact: entersMixed || text.contains("["))]
        }
        guard names.contains("*") else {
            return [
                WatchedPath(try PropertyPath.parse(text, class: classSchema, schema: schema))
            ]
        }
        var found: [WatchedPath] = []
        var known: Set<String> = []
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
                    for path in try PropertyPath.parseAll(path, class: classSchema, schema: schema)
                    where known.insert(path.description).inserted {
                        found += try watched(path, class: classSchema, schema: schema)
                    }
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

    /// Returns one of the paths that a text with `*` matches; a path through a mixed value also includes that value.
    private static func watched(
        _ path: PropertyPath, class classSchema: ClassSchema, schema: Schema
    ) throws -> [WatchedPath] {
        let components = path.components
        guard let mixed = components.dropLast().firstIndex(where: { $0.property.type == .mixed })
        else { return [WatchedPath(path)] }
        let inside = try ValuePath(path.description, class: classSchema, schema: schema)
        return [
            WatchedPath(PropertyPath(Array(components[...mixed]))),
            WatchedPath(inside, isExact: true),
        ]
    }
}

/// The conditions under which an observer is called for an object.
package struct ObserverCoverage {
    /// One condition of the observed query.
    package struct Condition {
        /// The text of the condition.
        package let text: String
        /// Whether the object satisfies the condition.
        package let holds: Bool
        /// The object's values that the condition reads.
        package let values: [(path: String, value: Value)]
    }

    /// The only observed object; nil for a collection.
    package internal(set) var observedObject: ObjectReference?
    /// The class of the observed objects, if the object belongs to another class.
    package internal(set) var otherClass: String?
    /// The conditions of the observed query.
    package internal(set) var conditions: [Condition] = []
    /// Whether the object satisfies all conditions but a limit or `distinct` excludes it, or it is not an element of
    /// the observed list.
    package internal(set) var isCutOff = false
    /// The key paths that limit what the observer receives; empty for all properties.
    package internal(set) var keyPaths: [String] = []
    /// The latest version that was written without notifying the observer.
    package internal(set) var silencedVersion: UInt64?
    /// The pace of the calls; nil if they are not delayed.
    package internal(set) var pace: ObserverPace?
    /// Whether a call is pending because of the pace.
    package internal(set) var isHolding = false
}

extension NotificationToken {
    /// Returns the conditions under which the observer is called for an object.
    ///
    /// The result is nil for observers that do not observe objects or results.
    package func coverage(of object: LiveObject) throws -> ObserverCoverage? {
        guard observer.isActive, let dispatcher = observer.dispatcher else { return nil }
        return try observer.coverage(of: object.reference, in: dispatcher.store.view)
    }
}

extension ObserverCoverage {
    /// Adds the conditions of a query for an object.
    init(
        _ common: ObserverCoverage, _ query: Query, of className: String, _ object: ObjectReference,
        in view: StoreView
    ) throws {
        self = common
        guard object.table == query.table else {
            otherClass = className
            return
        }
        conditions = try query.conditions(for: object.key, in: view)
        if conditions.allSatisfy(\.holds) {
            isCutOff = try !QueryEvaluator.keys(of: query, in: view).contains(object.key)
        }
    }
}

extension Query {
    /// Returns the conditions of a query, evaluated for an object.
    func conditions(for key: ObjectKey, in view: StoreView) throws -> [ObserverCoverage.Condition] {
        try steps.flatMap { step -> [ObserverCoverage.Condition] in
            guard case .filter(let predicate) = step else { return [] }
            let elements = view.schema.find(table: table)
            return try predicate.parts.map { part in
                let tables = try BoundTables(part.tables, in: view)
                let values = try predicate.dependencies.compactMap {
                    path -> (path: String, value: Value)? in
                    guard path.components.count == 1,
                        let property = path.components.first?.property,
                        !property.isBacklinks, part.text.contains(property.name), let elements
                    else { return nil }
                    return (property.name, try view.value(property, of: key, in: elements))
                }
                return try ObserverCoverage.Condition(
                    text: part.text, holds: part.node.matches(tables, key), values: values)
            }
        }
    }
}
