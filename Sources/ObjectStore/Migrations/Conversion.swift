import ColumnStorage

/// The conversion of the objects of one class from one schema of a file to the other.
///
/// It depends on the object alone. Properties that both schemas share need no conversion.
struct ClassConversion {
    let source: ClassSchema
    let target: ClassSchema
    /// Whether it leads to the new schema.
    let isUp: Bool
    /// The name of the class in the new schema, if the migration has a function for this direction.
    let functionName: String?
    private let schemas: (source: Schema, target: Schema)
    /// The properties of both schemas with a column of their own in each.
    private let pairs: [(source: Property, target: Property)]
    /// The values of properties that only the target has, if the function does not set them.
    private let unset: [(property: Property, value: Value)]
    /// The properties of the target that the source does not share.
    private let own: [Property]

    /// Returns the conversions between the schemas of a file.
    static func all(of file: FileSchema, toNew: Bool) -> [ClassConversion] {
        guard let transition = file.transition else { return [] }
        let (from, to) = toNew ? (file.old, transition.new) : (transition.new, file.old)
        return to.classes.compactMap { target in
            guard let source = from.find(table: target.table) else { return nil }
            let pairs = transition.pairs.filter { $0.table == target.table }.compactMap { pair in
                source.property(in: toNew ? pair.old : pair.new).flatMap { first in
                    target.property(in: toNew ? pair.new : pair.old).map { (first, $0) }
                }
            }
            let paired = Set(pairs.map(\.1.column))
            // A migration of all objects at once keeps the column of a property that becomes required.
            let own = target.properties.filter {
                !$0.isBacklinks && source.property(in: $0.column)?.isOptional != $0.isOptional
            }
            let functions = transition.functions[target.table]
            let hasFunction = (toNew ? functions?.up : functions?.down) == true
            // Without a function, no conversion has set another value before; an index needs a value of each object.
            let unset = own.filter {
                !paired.contains($0.column)
                    && (hasFunction
                        || $0.isSingle && ($0.defaultValue != nil || $0.hasIndex && !$0.isOptional))
            }.map { ($0, $0.unsetValue) }
            guard hasFunction || !pairs.isEmpty || !unset.isEmpty else { return nil }
            return ClassConversion(
                source: source, target: target, isUp: toNew,
                functionName: hasFunction ? (toNew ? target : source).name : nil,
                schemas: (from, to), pairs: pairs, unset: unset, own: own)
        }
    }

    /// Sets all values of the target.
    ///
    /// Throws ``ConversionFailure`` for an object that cannot be converted.
    func convert(
        _ key: ObjectKey, _ view: StoreView, _ writer: ObjectWriter,
        _ engine: (any ConversionEngine)?
    ) throws {
        let results = try run(key, view, engine)
        for (property, value) in unset where results[property.name] == nil {
            try set(property, of: key, to: value, writer)
        }
        for (first, second) in pairs where results[second.name] == nil {
            let value = try view.value(first, of: key, in: source)
            try set(second, of: key, to: exact(value, first, second), writer)
        }
        try store(results, key, writer)
    }

    /// Sets a property of the target to a value as it is stored.
    ///
    /// Embedded objects are created from their values, and the present ones are deleted.
    private func set(
        _ property: Property, of key: ObjectKey, to value: Value, _ writer: ObjectWriter
    ) throws {
        guard property.type == .object, schemas.target.target(of: property)?.isEmbedded == true
        else { return try writer.write(value, to: property, of: key, in: target) }
        let writer = writer.using(schemas.target)
        try writer.atomically {
            try EmbeddedWriter(writer, property, target, of: key)?.set(value, of: key)
        }
    }

    /// Sets the values of the target that a function has computed.
    private func store(_ results: [String: Value], _ key: ObjectKey, _ writer: ObjectWriter) throws
    {
        for property in own {
            guard let value = results[property.name] else { continue }
            try set(property, of: key, to: value, writer)
        }
    }

    /// Sets the values that the function computes from the object in another version.
    func runFunction(
        _ key: ObjectKey, in view: StoreView, _ writer: ObjectWriter,
        _ engine: any ConversionEngine
    ) throws {
        try store(run(key, view, engine), key, writer)
    }

    /// Sets the values of the target whose conversion has another result than before.
    ///
    /// A value that was written through the other schema therefore stays as written. Throws ``ConversionFailure`` for an
    /// object that cannot be converted.
    func update(
        _ key: ObjectKey, from before: StoreView, _ view: StoreView, _ writer: ObjectWriter,
        _ engine: (any ConversionEngine)?
    ) throws {
        let results = try run(key, view, engine)
        var earlier: [String: Value] = [:]
        do { earlier = try run(key, before, engine) } catch is ConversionFailure {
            // because: an object without a result has all of them now.
        }
        for property in own {
            guard let value = results[property.name], value != earlier[property.name] else {
                continue
            }
            try set(property, of: key, to: value, writer)
        }
        // What the function has set before and does not set now.
        for (property, value) in unset
        where results[property.name] == nil && earlier[property.name] != nil {
            try set(property, of: key, to: value, writer)
        }
        for (first, second) in pairs where results[second.name] == nil {
            let wasSet = earlier[second.name] != nil
            guard wasSet || writer.session.hasSet(source.table, first.column, key) else { continue }
            let value = try exact(view.value(first, of: key, in: source), first, second)
            let former = try ExactConversion.convert(
                before.value(first, of: key, in: source), to: second)
            guard wasSet || value != former else { continue }
            try set(second, of: key, to: value, writer)
        }
    }

    /// Runs the function of the class; without one, there are no results.
    func run(
        _ key: ObjectKey, _ view: StoreView, _ engine: (any ConversionEngine)?
    ) throws -> [String: Value] {
        guard let functionName, let engine else { return [:] }
        return try engine.convert(
            functionName, isUp: isUp,
            ConversionSource(view: view, classSchema: source, schema: schemas.source, key: key),
            to: ConversionTarget(
                classSchema: target, schema: schemas.target, own: Set(own.map(\.column))))
    }

    /// The columns of the source on which the target depends.
    fileprivate var columns: [ColumnID] {
        functionName == nil
            ? pairs.map(\.source.column)
            : source.properties.filter { !$0.isBacklinks }.map(\.column)
    }

    private func exact(_ value: Value, _ first: Property, _ second: Property) throws -> Value {
        if let converted = ExactConversion.convert(value, to: second) {
            guard second.isSet, case .list(let elements) = converted else { return converted }
            return .list(ElementOrder(second).normalized(elements))
        }
        throw ConversionFailure(
            value == .null
                ? "'\(second.name)' is required, and '\(first.name)' has no value"
                : "'\(first.name)' is \(value.summary), which does not convert exactly to \(second.typeName)"
        )
    }
}

extension Property {
    /// The value of a property that no program has set.
    var unsetValue: Value {
        switch collection {
        case .map?: .dictionary([:])
        case _?: .list([])
        case nil: defaultValue ?? (isOptional ? .null : type.zero)
        }
    }
}

/// Converts the objects that the open write of a store has created or changed to the other schema of the file.
///
/// It runs in the writing process, so that both versions of an object change in one commit. Until all objects are
/// converted, a failure is recorded for the migration; from then on it refuses the write.
struct Conversion {
    private let store: Store
    private let transition: SchemaTransition
    private let session: WriteSession
    private let writer: ObjectWriter

    init(_ store: Store, _ transition: SchemaTransition, _ session: WriteSession) {
        self.store = store
        self.transition = transition
        self.session = session
        writer = ObjectWriter(store, session)
    }

    /// Throws `conversion_failed`, with the object in the message, and `schema_in_transition` without an engine.
    func run() throws {
        // An undo restores the columns of both schemas.
        guard !transition.isReady || session.restoration == nil else { return }
        var before: StoreView?
        var progress: MigrationProgress?
        for conversion in store.conversions {
            let keys = try touchedKeys(conversion)
            guard !keys.isEmpty else { continue }
            let old = try before ?? store.committedView()
            before = old
            let rows = try old.table(conversion.source.table)
            let engine = try engine(for: conversion)
            for key in keys {
                try StoreError.step()
                var failure: ConversionFailure?
                do {
                    if conversion.functionName != nil, engine == nil {
                        throw ConversionFailure("a program without Lua has changed the object")
                    }
                    if try transition.isReady && rows.isPresent(key) {
                        try conversion.update(key, from: old, store.view, writer, engine)
                    } else {
                        try conversion.convert(key, store.view, writer, engine)
                    }
                } catch let error as ConversionFailure {
                    guard !transition.isReady else { throw self.error(error, key, conversion) }
                    failure = error
                }
                guard !transition.isReady else { continue }
                var recorded = try progress ?? MigrationProgress.read(store.view.snapshot)
                if recorded.record(failure?.text, key, in: conversion.source.table) {
                    try recorded.write(session)
                }
                progress = recorded
            }
        }
    }

    /// Returns the objects that were created, or of which the write has set a property or an embedded object.
    private func touchedKeys(_ conversion: ClassConversion) throws -> KeySet {
        var keys = KeySet()
        let table = conversion.source.table
        if session.hasTouched(table) {
            keys = try StoreError.wrapping(session.touchedKeys(table, conversion.columns))
        }
        guard conversion.functionName != nil else { return keys }
        for owned in try ownersOfTouched(conversion.source) { keys.insert(owned) }
        return keys
    }

    /// Returns the objects of a class in which the write has set a property of an embedded object, at any depth.
    private func ownersOfTouched(_ classSchema: ClassSchema) throws -> [ObjectKey] {
        let schema = store.view.schema
        var owners: [ObjectKey] = []
        for property in schema.embeddingProperties(of: classSchema.table) {
            guard let embedded = schema.target(of: property), embedded !== classSchema else {
                continue
            }
            var touched = try ownersOfTouched(embedded)
            if session.hasTouched(embedded.table) {
                let columns = embedded.properties.filter { !$0.isBacklinks }.map(\.column)
                touched += try StoreError.wrapping(session.touchedKeys(embedded.table, columns))
            }
            let rows = try store.view.table(classSchema)
            for key in touched {
                owners += try rows.sources(of: key, through: property.column)
            }
        }
        return owners
    }

    /// Returns the engine that a conversion needs; nil if the store has none, and the migration must try again.
    private func engine(for conversion: ClassConversion) throws -> (any ConversionEngine)? {
        guard conversion.functionName != nil else { return nil }
        if let engine = try store.conversionEngine() { return engine }
        guard transition.isReady else { return nil }
        throw StoreError(
            .schemaInTransition,
            "'\(conversion.source.name)' is converted by Lua functions of \(transition.title)",
            advice:
                "open the store with conversions = LuaConversions() of MoonpoolScripting, or complete the "
                + "migration")
    }

    private func error(
        _ failure: ConversionFailure, _ key: ObjectKey, _ conversion: ClassConversion
    ) -> StoreError {
        let name = store.view.name(
            of: ObjectReference(table: conversion.source.table, key: key))
        let direction = conversion.isUp ? "up" : "down"
        let line = failure.line.map { ", line \($0)" } ?? ""
        return StoreError(
            .conversionFailed,
            "'\(conversion.source.name)' \(name) cannot be converted by migration \(transition.number) "
                + "(\(transition.name), \(direction)\(line)): \(failure.message)")
    }
}
