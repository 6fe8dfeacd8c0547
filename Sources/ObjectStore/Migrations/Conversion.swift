import ColumnStorage

/// The conversion of the objects of one class from one schema of a file to the other.
///
/// It depends on the object alone. Properties that both schemas share need no conversion.
struct ClassConversion: Sendable {
    let source: ClassSchema
    let target: ClassSchema
    /// The properties of both schemas with a column of their own in each.
    fileprivate let pairs: [(source: Property, target: Property)]
    /// The values of properties that only the target has.
    fileprivate let defaults: [(property: Property, value: Value)]

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
            let defaults = target.properties.compactMap { property -> (Property, Value)? in
                guard !property.isBacklinks, property.isSingle, !paired.contains(property.column),
                    source.property(in: property.column) == nil
                else { return nil }
                return property.defaultValue.map { (property, $0) }
            }
            guard !pairs.isEmpty || !defaults.isEmpty else { return nil }
            return ClassConversion(
                source: source, target: target, pairs: pairs, defaults: defaults)
        }
    }

    /// Sets all values of the target; returns the reason why an object cannot be converted, or nil.
    func convert(_ key: ObjectKey, _ view: StoreView, _ writer: ObjectWriter) throws -> String? {
        for (property, value) in defaults {
            try writer.set(property, of: key, in: target, to: value)
        }
        for (first, second) in pairs {
            let value = try view.value(first, of: key, in: source)
            guard let converted = ExactConversion.convert(value, to: second) else {
                return message(value, first, second)
            }
            try writer.set(second, of: key, in: target, to: converted)
        }
        return nil
    }

    /// Sets the values of the target whose conversion has another result than before; returns the reason why an object
    /// cannot be converted, or nil.
    ///
    /// A value that was written through the other schema therefore stays as written.
    fileprivate func update(
        _ key: ObjectKey, from before: StoreView, _ view: StoreView, _ writer: ObjectWriter
    ) throws -> String? {
        for (first, second) in pairs
        where writer.session.hasSet(source.table, first.column, key) {
            let value = try view.value(first, of: key, in: source)
            guard let converted = ExactConversion.convert(value, to: second) else {
                return message(value, first, second)
            }
            let earlier = try ExactConversion.convert(
                before.value(first, of: key, in: source), to: second)
            guard converted != earlier else { continue }
            try writer.set(second, of: key, in: target, to: converted)
        }
        return nil
    }

    fileprivate var columns: [ColumnID] { pairs.map(\.source.column) }

    private func message(_ value: Value, _ first: Property, _ second: Property) -> String {
        guard value != .null else {
            return "'\(second.name)' is required, and '\(first.name)' has no value"
        }
        return
            "'\(first.name)' is \(value.summary), which does not convert exactly to \(second.typeName)"
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

    /// Throws `conversion_failed`, with the object in the message.
    func run() throws {
        // An undo restores the columns of both schemas.
        guard !transition.isReady || session.restoration == nil else { return }
        var before: StoreView?
        var progress: MigrationProgress?
        for conversion in store.conversions where session.hasTouched(conversion.source.table) {
            let table = conversion.source.table
            let keys = try StoreError.wrapping(session.touchedKeys(table, conversion.columns))
            guard !keys.isEmpty else { continue }
            let old = try before ?? store.committedView()
            before = old
            let rows = try old.table(table)
            for key in keys {
                try StoreError.step()
                let isKnown = try transition.isReady && rows.isPresent(key)
                let failure =
                    isKnown
                    ? try conversion.update(key, from: old, store.view, writer)
                    : try conversion.convert(key, store.view, writer)
                guard !transition.isReady else {
                    if let failure { throw error(failure, key, conversion) }
                    continue
                }
                var noted = try progress ?? MigrationProgress.read(store.view.snapshot)
                if noted.note(failure, key, in: table) { try noted.write(session) }
                progress = noted
            }
        }
    }

    private func error(_ message: String, _ key: ObjectKey, _ conversion: ClassConversion)
        -> StoreError
    {
        let name = store.view.name(
            of: ObjectReference(table: conversion.source.table, key: key))
        let direction = store.isNewVersion ? "down" : "up"
        return StoreError(
            .conversionFailed,
            "'\(conversion.source.name)' \(name) cannot be converted by \(transition.title), \(direction): \(message)"
        )
    }
}
