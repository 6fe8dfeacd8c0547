import ColumnStorage

/// The calls of an observer of an object other than those after a change.
package struct ObjectObservation {
    /// Whether only the end of the object is reported, and not changes of its properties.
    package var onlyEnd = false
    /// A list, set or map of the object, whose removal from the schema is also the end.
    package var collection: Property?
    /// The first call, at the next delivery.
    package var initial: (() throws -> Void)?
    /// Receives a change before the store moves to it: the store still shows the old values, and must not be changed.
    ///
    /// Each call after a change follows at most one such call.
    package var prior: ((ObjectChange) throws -> Void)?

    /// Creates an observation without other calls.
    package init() {}
}

/// Observes one object.
///
/// Reports changes of the object's own properties or, with key paths, of the properties on the paths. Linked objects
/// are observed only through key paths. A step takes one search in the change set.
final class ObjectObserver: ReportingObserver<ObjectChange> {
    private let object: ObjectReference
    private let className: String
    private let texts: [String]
    private var filter: KeyPathFilter?
    private var extras: ObjectObservation

    /// Creates an observer of an object.
    ///
    /// Throws `invalid_query` for a key path that the class does not have.
    init(
        _ object: ObjectReference, keyPaths: [String], _ extras: ObjectObservation, name: String,
        dispatcher: NotificationDispatcher,
        schema: Schema, handler: @escaping Handler
    ) throws {
        guard let classSchema = schema.find(table: object.table) else {
            throw StoreError(.invalidObject, "the class of the observed object no longer exists")
        }
        self.object = object
        className = classSchema.name
        texts = keyPaths
        self.extras = extras
        super.init(name: name, dispatcher: dispatcher, handler: handler)
        try follow(schema)
    }

    override var subject: String { "a '\(className)'" }

    override var interests: ObserverInterests {
        var interests = ObserverInterests()
        interests.add(row: object)
        if let filter { interests.add(filter.watched, root: object) }
        return interests
    }

    override func cost(in schema: Schema) -> String {
        "looks up the object in the changes of a commit"
    }

    override func release() {
        super.release()
        filter = nil
        extras = ObjectObservation()
    }

    /// Returns the initial call, which most observers do not have.
    ///
    /// If the object is deleted before its observer's first call, the observer receives the deletion.
    override func begin(in view: StoreView) throws -> Call? {
        try view.isPresent(object)
            ? extras.initial
            : lastCall(
                ObjectChange(kind: .deleted, object: object, properties: []),
                from: view.version, to: view.version)
    }

    override var isEarly: Bool { extras.prior != nil }

    override func prior(to step: VersionStep) throws -> Call? {
        guard let prior = extras.prior, let change = try change(along: step) else { return nil }
        return { try prior(change) }
    }

    override func advance(along step: VersionStep) throws -> Call? {
        guard let change = try change(along: step) else { return nil }
        guard case .change = change.kind else {
            return lastCall(change, from: step.old.version, to: step.new.version)
        }
        try explain(change.properties.map(\.property), step)
        return call(change)
    }

    /// Returns the change that a step makes; nil if there is none to report.
    private func change(along step: VersionStep) throws -> ObjectChange? {
        if step.changes.schemaChanged { try step.requireClass(object.table) }
        let classSchema = step.new.schema.find(table: object.table)
        guard let classSchema,
            step.changes(of: object.table)?.deleted.contains(object.key) != true,
            extras.collection.map({ classSchema.property(in: $0.column)?.collection != nil })
                ?? true
        else { return end(after: step.old) }
        if extras.onlyEnd { return nil }
        if step.changes.schemaChanged { try follow(step.new.schema) }
        var changed = try changedProperties(of: classSchema, in: step)
        if let delay { changed.removeAll { delay.isSilent($0.name) } }
        if changed.isEmpty { return nil }
        return ObjectChange(
            kind: .change, object: object,
            properties: entries(changed, from: step.old, to: step.new))
    }

    /// Returns the deletion after a version, with the changes whose call was delayed until then.
    private func end(after old: StoreView) -> ObjectChange {
        let last = delay?.viewBeforeEnd ?? old
        let pending = last.schema.find(table: object.table)?.properties.filter {
            delay?.isReported($0.name) == true
        }
        return ObjectChange(
            kind: .deleted, object: object, properties: entries(pending ?? [], from: old, to: last),
            viewBefore: last)
    }

    private func entries(
        _ properties: [Property], from old: StoreView, to new: StoreView
    ) -> [PropertyChange] {
        properties.map {
            PropertyChange(property: $0, object: object, oldView: old, newView: new)
        }
    }

    override func failed(_ error: StoreError) -> Call? {
        call(ObjectChange(kind: .error(error), object: object, properties: []))
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

    private func lastCall(_ change: ObjectChange, from: UInt64, to: UInt64) -> Call? {
        let object = object
        makeReason = {
            DeliveryReason(
                previousVersion: from, version: to,
                causes: [.init(object: object, properties: [])], rowCount: 1, keyPath: nil)
        }
        isFinished = true
        return call(change)
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
        guard filter.watched.mayTouch(step) else { return [] }
        var names: Set<String> = []
        for first in filter.paths.flatMap(\.first)
        where try !names.contains(first.property.name)
            && first.watched.touchedRows(in: step).contains(object.key)
        {
            names.insert(first.property.name)
        }
        let hit = classSchema.properties.filter { names.contains($0.name) }
        return hit.filter { !$0.isBacklinks } + hit.filter(\.isBacklinks)
    }

    private func explain(_ changed: [Property], _ step: VersionStep) throws {
        let (object, schema) = (object, step.new.schema)
        let (from, to) = (step.old.version, step.new.version)
        var causes = ChangeCauses()
        var keyPath: String?
        if let filter {
            for path in filter.paths {
                for first in path.first
                where changed.contains(where: { $0.name == first.property.name }) {
                    keyPath = keyPath ?? path.text
                    try first.watched.addCauses(of: KeySet(object.key), in: step, to: &causes)
                }
            }
        } else {
            for property in changed { causes.add(object, property.column) }
        }
        makeReason = {
            DeliveryReason(
                previousVersion: from, version: to, causes: causes.named(in: schema), rowCount: 1,
                keyPath: keyPath)
        }
    }
}
