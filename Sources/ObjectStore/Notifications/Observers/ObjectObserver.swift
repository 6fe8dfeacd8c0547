import ColumnStorage

/// Observes one object.
///
/// Reports changes of the object's own properties or, with key paths, of the properties on the paths. Linked objects
/// are observed only through key paths. A step takes one search in the change set.
final class ObjectObserver: Observer {
    typealias Handler = (ObjectChange) throws -> Void

    private let object: ObjectReference
    private let className: String
    private let texts: [String]
    private var filter: KeyPathFilter?
    private var handler: Handler?

    /// Creates an observer of an object.
    ///
    /// Throws `invalid_query` for a key path that the class does not have.
    init(
        _ object: ObjectReference, keyPaths: [String], name: String,
        dispatcher: NotificationDispatcher,
        schema: Schema, handler: @escaping Handler
    ) throws {
        guard let classSchema = schema.find(table: object.table) else {
            throw StoreError(.invalidObject, "the class of the observed object no longer exists")
        }
        self.object = object
        self.handler = handler
        className = classSchema.name
        texts = keyPaths
        super.init(name: name, dispatcher: dispatcher)
        try follow(schema)
    }

    override var subject: String { "a '\(className)'" }

    override var interests: ObserverInterests {
        var interests = ObserverInterests()
        interests.add(row: object)
        if let filter { interests.add(filter.graph, root: object) }
        return interests
    }

    override var cost: String { "looks up the object in the changes of a commit" }

    override func release() {
        handler = nil
        filter = nil
    }

    /// Returns nil, because objects have no initial call.
    ///
    /// If the object is deleted before its observer's first call, the observer receives the deletion.
    override func begin(in view: StoreView) throws -> Call? {
        try view.isPresent(object) ? nil : lastCall(from: view.version, to: view.version)
    }

    override func advance(along step: VersionStep) throws -> Call? {
        if step.changes(of: object.table)?.deleted.contains(object.key) == true {
            return lastCall(from: step.old.version, to: step.new.version, viewBefore: step.old)
        }
        if step.changes.schemaChanged { try follow(step.new.schema) }
        guard let classSchema = step.new.schema.find(table: object.table) else {
            return lastCall(from: step.old.version, to: step.new.version, viewBefore: step.old)
        }
        var changed = try changedProperties(of: classSchema, in: step)
        if let delay { changed.removeAll { delay.isSilent($0.name) } }
        guard !changed.isEmpty, let handler else { return nil }
        let change = ObjectChange(
            kind: .change, object: object,
            properties: changed.map {
                PropertyChange(property: $0, object: object, oldView: step.old, newView: step.new)
            })
        explain(changed, step)
        return { try handler(change) }
    }

    override func failed(_ error: StoreError) -> Call? {
        guard let handler else { return nil }
        let change = ObjectChange(kind: .error(error), object: object, properties: [])
        return { try handler(change) }
    }

    override func coverage(of object: ObjectReference, in view: StoreView) -> ObserverCoverage? {
        var coverage = commonCoverage(keyPaths: texts)
        coverage.observedObject = self.object
        return coverage
    }

    private func follow(_ schema: Schema) throws {
        guard !texts.isEmpty, let classSchema = schema.find(table: object.table) else { return }
        filter = try KeyPathFilter(texts, class: classSchema, schema: schema)
    }

    private func lastCall(
        from: UInt64, to: UInt64, viewBefore: StoreView? = nil
    ) -> Call? {
        guard let handler else { return nil }
        let object = object
        makeReason = {
            DeliveryReason(
                previousVersion: from, version: to, objects: [object], properties: [],
                keyPath: nil)
        }
        let change = ObjectChange(
            kind: .deleted, object: object, properties: [], viewBefore: viewBefore)
        isFinished = true
        return { try handler(change) }
    }

    /// Returns the changed properties in schema order, with the computed backlinks last.
    private func changedProperties(
        of classSchema: ClassSchema, in step: VersionStep
    ) throws -> [Property] {
        guard let filter else {
            guard let modified = step.changes(of: object.table)?.modified else { return [] }
            return classSchema.properties.filter {
                !$0.isBacklinks && modified[$0.column]?.contains(object.key) == true
            }
        }
        guard step.changes.tables.keys.contains(where: filter.graph.tables.contains) else {
            return []
        }
        var names: Set<String> = []
        for first in filter.paths.flatMap(\.first)
        where try !names.contains(first.property.name)
            && first.graph.touchedRows(in: step).contains(object.key)
        {
            names.insert(first.property.name)
        }
        let hit = classSchema.properties.filter { names.contains($0.name) }
        return hit.filter { !$0.isBacklinks } + hit.filter(\.isBacklinks)
    }

    private func explain(_ changed: [Property], _ step: VersionStep) {
        let names = changed.map(\.name)
        let (object, filter) = (object, filter)
        let (from, to) = (step.old.version, step.new.version)
        let path = filter?.paths.first { path in
            path.first.contains { names.contains($0.property.name) }
        }?.text
        makeReason = {
            DeliveryReason(
                previousVersion: from, version: to, objects: [object], properties: names,
                keyPath: path)
        }
    }
}
