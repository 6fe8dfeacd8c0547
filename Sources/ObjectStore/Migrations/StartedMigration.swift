import ColumnStorage

/// The state of a migration that is started and not complete, for reports.
package struct StartedMigration: Sendable {
    /// An object that cannot be converted yet.
    package struct Failure: Hashable, Sendable {
        /// The class of the object in the old schema.
        package let className: String
        /// The primary key of the object, or its number.
        package let key: String
        /// The reason.
        package let message: String
    }

    /// The number of the migration, its name, and the checksum of its file.
    package let number: Int
    package let name: String
    package let checksum: String
    /// The time at which it was started.
    package let startedAt: Timestamp
    /// Whether all objects are converted, so that programs of both versions can use the file.
    package let isReady: Bool
    /// The schema versions of the old and of the new programs.
    package let versions: (old: UInt64, new: UInt64)
    /// The number of converted objects, and of all that had to be converted at the start.
    package let converted: Int
    package let total: Int
    /// The objects that cannot be converted.
    package let failures: [Failure]
    /// Whether `up` converts the objects, which then completes the migration.
    package let isWhole: Bool
    /// The time at which the last process began to convert objects, and the number of objects converted before.
    package let run: (startedAt: Timestamp, converted: Int)
}

extension Store {
    /// Returns the state of the started migration; nil if there is none.
    ///
    /// Throws `closed`, `wrong_thread`, `file_corrupt`.
    package func startedMigration() throws -> StartedMigration? {
        try check()
        guard let transition = fileSchema.transition else { return nil }
        let progress = try MigrationProgress.read(view.snapshot)
        return StartedMigration(
            number: transition.number, name: transition.name, checksum: transition.checksum,
            startedAt: transition.startedAt, isReady: transition.isReady,
            versions: (fileSchema.old.version, transition.new.version),
            converted: transition.isReady ? transition.total : progress.convertedCount,
            total: max(transition.total, progress.converted),
            failures: progress.failures.map { failure in
                StartedMigration.Failure(
                    className: fileSchema.old.find(table: failure.table)?.name ?? "",
                    key: view.name(of: ObjectReference(table: failure.table, key: failure.key)),
                    message: failure.message)
            }, isWhole: progress.isWhole, run: progress.run ?? (transition.startedAt, 0))
    }

    /// Throws `schema_in_transition` while a migration is started.
    func requireNoTransition() throws {
        guard let transition = fileSchema.transition else { return }
        throw StoreError(
            .schemaInTransition, "\(transition.title) is started and not complete",
            program: "complete or abort it first",
            script: "complete or abort it first with moonpool migrate")
    }

    private func requireTransition() throws -> SchemaTransition {
        if let transition = fileSchema.transition { return transition }
        throw StoreError(.invalidArgument, "no migration of \(title) is started")
    }

    /// Converts further objects of the started migration in a write transaction of its own, for about 10 milliseconds and
    /// at most `limit` objects; `isWhole` tells others that the process will also complete the migration.
    ///
    /// Returns whether the conversion has ended. The transaction that visits the last object opens the file to programs of
    /// the new version, unless there are objects that cannot be converted, or programs that write without being able to
    /// run the functions of the migration: call it again until they have ended. No observer receives the transaction, and undo
    /// skips it. Throws the errors of a write.
    package func convertBatch(atMost limit: Int = 1000, isWhole: Bool = false) throws -> Bool {
        try beginWrite()
        do {
            var transition = try requireTransition()
            guard let session = view.snapshot.write, !transition.isReady else {
                try cancelWrite()
                return true
            }
            // An observer may have made changes in the transaction, which undo must not skip.
            let isAlone = session.isUntouched
            let history = try VersionHistory(snapshot: view.snapshot).state(of: view.version)
            view.recordChange()
            inserterCache.releaseInserters()
            var progress = try MigrationProgress.read(view.snapshot)
            let run = conversionRun ?? (.now, progress.convertedCount)
            (conversionRun, progress.run, progress.isWhole) = (run, run, isWhole)
            let writer = ObjectWriter(self, session)
            let isFinished = try convertNext(&progress, writer, limit)
            if isFinished { try convertFailed(&progress, writer) }
            progress.batches += 1
            try progress.write(session)
            let isReady =
                try isFinished && progress.failures.isEmpty
                && (transition.functions.isEmpty || areAllConverting())
            if isReady {
                transition.isReady = true
                try adopt(FileSchema(fileSchema.old, transition), session)
            } else if isAlone {
                session.restoration = history
            }
            try commitWrite()
            return isReady || isFinished && !progress.failures.isEmpty
        } catch {
            if !isClosed, isInWrite { try cancelWrite() }
            throw error
        }
    }

    /// The time after which a batch ends.
    private static let batchTime = Duration.milliseconds(10)

    /// Returns whether no object is left.
    private func convertNext(
        _ progress: inout MigrationProgress, _ writer: ObjectWriter, _ limit: Int
    ) throws -> Bool {
        let end = ContinuousClock.now + Self.batchTime
        var count = 0
        for conversion in conversions.sorted(by: { $0.source.table < $1.source.table })
        where conversion.source.table >= progress.table {
            let table = conversion.source.table
            let rows = try view.table(table)
            let first = table == progress.table ? Int(progress.key.rawValue) + 1 : 0
            for cluster in (first / Cluster.rows)..<max(first / Cluster.rows, rows.clusterCount) {
                var keys: [ObjectKey] = []
                try rows.presence(cluster).forEachRow { row in
                    let key = cluster * Cluster.rows + row
                    if key >= first { keys.append(ObjectKey(rawValue: Int64(key))) }
                }
                for key in keys {
                    try StoreError.step()
                    guard count < limit, count % 64 < 63 || ContinuousClock.now < end else {
                        return false
                    }
                    try convert(conversion, key, writer, noting: &progress)
                    assert(
                        table > progress.table || key > progress.key,
                        "each object is converted once")
                    (progress.table, progress.key) = (table, key)
                    progress.converted += 1
                    count += 1
                }
            }
        }
        return true
    }

    /// Tries again to convert the objects that could not be converted.
    private func convertFailed(
        _ progress: inout MigrationProgress, _ writer: ObjectWriter
    ) throws {
        for failure in progress.failures {
            let isPresent = try view.table(failure.table).isPresent(failure.key)
            guard isPresent,
                let conversion = conversions.first(where: { $0.source.table == failure.table })
            else {
                _ = progress.record(nil, failure.key, in: failure.table)
                continue
            }
            try convert(conversion, failure.key, writer, noting: &progress)
        }
    }

    /// Converts an object, or records why it cannot be converted.
    private func convert(
        _ conversion: ClassConversion, _ key: ObjectKey, _ writer: ObjectWriter,
        noting progress: inout MigrationProgress
    ) throws {
        let engine = conversion.functionName == nil ? nil : try conversionEngine()
        guard conversion.functionName == nil || engine != nil else { throw missingEngine() }
        do {
            try conversion.convert(key, view, writer, engine)
            _ = progress.record(nil, key, in: conversion.source.table)
        } catch let failure as ConversionFailure {
            _ = progress.record(failure.text, key, in: conversion.source.table)
        }
    }

    func missingEngine() -> StoreError {
        StoreError(
            .invalidArgument, "this program cannot run the functions of a migration",
            advice: "start it with moonpool migrate start")
    }

    /// Changes the schemas of the file in the open write transaction: defines the tables, and removes those that no schema
    /// has.
    fileprivate func adopt(_ schemas: FileSchema, _ session: WriteSession) throws {
        let tables = schemas.tableDefinitions
        let removed = Set(fileSchema.tableDefinitions.map(\.id)).subtracting(tables.map(\.id))
            .sorted()
        for table in removed { try deleteObjects(of: table, session) }
        for table in tables where view.snapshot.definition(of: table.id) != table {
            try StoreError.wrapping(session.define(table))
        }
        adoptInWrite(schemas)
        for table in removed {
            try StoreError.wrapping(session.removeTable(table))
        }
        try writeCatalog(SchemaCatalog.encode(schemas), session)
    }

    /// Deletes the objects of a table that is removed, if other objects depend on them: those that they own or embed, and
    /// mixed values that link to them.
    private func deleteObjects(of table: TableID, _ session: WriteSession) throws {
        let schemas = fileSchema.all
        if schemas.contains(where: { !$0.owningProperties(of: table).isEmpty }) {
            let rows = try view.table(table)
            var roots: [ObjectReference] = []
            for cluster in 0..<rows.clusterCount {
                try rows.presence(cluster).forEachRow { row in
                    let key = ObjectKey(rawValue: Int64(cluster * Cluster.rows + row))
                    roots.append(ObjectReference(table: table, key: key))
                }
            }
            var deletion = TreeDeletion(ObjectWriter(self, session))
            try deletion.delete(roots)
        } else if schemas.contains(where: { !$0.mixedProperties.isEmpty }) {
            try StoreError.wrapping(session.deleteAll(table))
        }
    }

    /// Returns the programs that use the file with a version of the schema, for messages; empty if there are none.
    fileprivate func users(of version: UInt64) throws -> String {
        let others = try otherPrograms().filter { $0.schemaVersions.contains(version) }
        guard !others.isEmpty else { return "another thread of this process" }
        return others.map { "process \($0.process)" + ($0.command.map { " (\($0))" } ?? "") }
            .joined(separator: ", ")
    }

    /// Runs `body`, which commits; until then, no program can open the file with a version of the schema.
    ///
    /// Throws `invalid_argument` with the programs that use the version.
    fileprivate func excluding<Result>(
        _ version: UInt64, isForced: Bool, _ body: () throws -> Result
    ) throws -> Result {
        assert(exclusion == nil, "one version is excluded at a time")
        let isOwn = schemaMarkNumber == version
        exclusion = try StoreError.wrapping(
            view.snapshot.file.exclude(version, except: isOwn ? 1 : 0))
        guard exclusion != nil || isForced else {
            throw StoreError(
                .invalidArgument,
                "schema version \(version) of \(title) is in use by \(try users(of: version))",
                program: "end the programs first",
                script: "end the programs first, wait for them with --wait, or pass --force")
        }
        defer { exclusion = nil }
        return try body()
    }
}

extension MigrationTransaction {
    /// Starts a migration without a function: from now on, the file also has the columns and classes of its schema.
    ///
    /// `renames` has the new names of classes and of `Class.property` by the old ones. Returns the differences between the
    /// schemas. Throws `invalid_schema`,
    /// `invalid_argument` for a change that both versions cannot use at once, and for functions in `code` that cannot be
    /// used, `conversion_failed`, and `schema_in_transition`.
    @discardableResult  // because: most callers start known migrations
    package func start(
        to classes: [ClassSchema], version: UInt64, renaming renames: [String: String],
        dropping: Set<String>, number: Int, name: String, checksum: String,
        code: ConversionCode? = nil, isWhole: Bool = false
    ) throws -> [SchemaDifference] {
        try store.requireNoTransition()
        try SchemaValidation.check(classes)
        let before = store.view.schema
        guard version > before.version else {
            throw StoreError(
                .versionTooLow,
                "the file has schema version \(before.version); a migration to version \(version) cannot start"
            )
        }
        let planned = try TransitionPlan(
            store, before, to: classes, version: version, renaming: renames, dropping: dropping)
        var transition = SchemaTransition(
            new: planned.new, number: number, name: name, checksum: checksum, startedAt: .now,
            pairs: planned.pairs)
        let session = try store.writer(changing: "the schema").session
        let engine = try code.map { code in
            guard let engine = try store.makeEngine(code) else { throw store.missingEngine() }
            transition.functions = try engine.functions(
                in: code, before, transition.new)
            return engine
        }
        let needed = ClassConversion.all(
            of: FileSchema(before, transition), toNew: true)
        transition.total = try needed.reduce(0) { try $0 + store.view.count(of: $1.source) }
        transition.isReady = transition.total == 0
        let schemas = FileSchema(before.counting(planned.new), transition)
        try store.adopt(schemas, session)
        if let engine {
            try test(schemas, engine, title: transition.title, ObjectWriter(store, session))
        }
        var progress = MigrationProgress()
        progress.isWhole = isWhole
        try progress.write(session)
        try ConversionCode.write(code, session)
        try store.commitWrite()
        return planned.differences
    }

    /// Converts the first object of each class, and back; throws if a function is wrong for every object, or gives two
    /// results for the same one.
    private func test(
        _ schemas: FileSchema, _ engine: any ConversionEngine, title: String, _ writer: ObjectWriter
    ) throws {
        for isUp in [true, false] {
            for conversion in ClassConversion.all(of: schemas, toNew: isUp)
            where conversion.functionName != nil {
                let results = Results(.store(store), Query(all: conversion.source))
                guard let first = try results.first() else { continue }
                func refusal(_ reason: String) -> StoreError {
                    StoreError(
                        .conversionFailed,
                        "the function '\(isUp ? "up" : "down")' of '\(conversion.target.name)' in \(title) cannot be "
                            + "used: \(reason)")
                }
                do {
                    let values = try conversion.run(first.key, store.view, engine)
                    let again = try conversion.run(first.key, store.view, engine)
                    if let name = values.keys.sorted().first(where: { values[$0] != again[$0] }) {
                        throw refusal("it gives two values of '\(name)' for the same object")
                    }
                    if isUp { try conversion.convert(first.key, store.view, writer, engine) }
                } catch let failure as ConversionFailure where failure.isMisuse {
                    throw refusal(failure.text)
                } catch is ConversionFailure {
                    // because: only this object may be wrong, which the conversion records.
                }
            }
        }
    }

    /// Ends the started migration: the old schema is removed, with all that only it has.
    ///
    /// Throws `schema_in_transition` if objects are not converted yet, and `invalid_argument` if a program uses the old
    /// version and the end is not forced.
    package func complete(recording log: MigrationLog, isForced: Bool) throws {
        guard let transition = store.fileSchema.transition, transition.isReady else {
            throw StoreError(
                .schemaInTransition, "\(store.title) has objects that are not converted yet",
                advice: "end the conversion first with moonpool migrate start")
        }
        let old = store.fileSchema.old
        try store.excluding(old.version, isForced: isForced) {
            let session = try store.writer(changing: "the schema").session
            try store.adopt(FileSchema(transition.new.counting(old)), session)
            try MigrationProgress.remove(session)
            try ConversionCode.write(nil, session)
            try log.write(session)
            try store.commitWrite()
        }
    }

    /// Takes the started migration back: the new schema is removed, with all that only it has, which is returned.
    ///
    /// Throws `invalid_argument` if a program uses the new version and the end is not forced.
    package func abort(isForced: Bool) throws -> [AbandonedData] {
        guard let transition = store.fileSchema.transition else {
            throw StoreError(.invalidArgument, "no migration of \(store.title) is started")
        }
        let (old, new) = (store.fileSchema.old, transition.new)
        return try store.excluding(new.version, isForced: isForced) {
            let paired = Set(transition.pairs)
            let lost = new.classes.flatMap { classSchema -> [SchemaDifference] in
                guard let known = old.find(table: classSchema.table) else {
                    return [.classRemoved(classSchema.name)]
                }
                return classSchema.properties.filter { property in
                    !property.isBacklinks && known.property(in: property.column) == nil
                        && !paired.contains { $0.table == known.table && $0.new == property.column }
                }.map { .propertyRemoved(class: classSchema.name, $0) }
            }
            let view = StoreView(
                schema: new, snapshot: try store.committedView().snapshot, isFrozen: true)
            // Before, no program has written by the new schema.
            let losses = transition.isReady ? try SchemaLoss.losses(lost, in: view) : []
            let session = try store.writer(changing: "the schema").session
            try store.adopt(FileSchema(old), session)
            try MigrationProgress.remove(session)
            try ConversionCode.write(nil, session)
            try store.commitWrite()
            return losses.map(\.data)
        }
    }
}

extension ConversionEngine {
    /// Returns the directions of the functions by table.
    ///
    /// Throws `invalid_argument` for a class that does not exist in both schemas.
    fileprivate func functions(
        in code: ConversionCode, _ before: Schema, _ after: Schema
    ) throws -> [TableID: SchemaTransition.Functions] {
        var found: [TableID: SchemaTransition.Functions] = [:]
        for (name, directions) in functions {
            guard let table = after.find(name)?.table, before.find(table: table) != nil
            else {
                throw StoreError(
                    .invalidArgument,
                    "'\(code.fileName)': each has functions of '\(name)', which is not a class of both versions",
                    advice: "use the name after the migration")
            }
            found[table] = SchemaTransition.Functions(up: directions.up, down: directions.down)
        }
        return found
    }
}

extension Migration {
    /// Converts all objects with the functions of a migration, up or down, as they run while programs of two versions
    /// use a file.
    ///
    /// Throws `invalid_argument` for code that cannot be used, and `conversion_failed`.
    package func convert(with code: ConversionCode, at path: String, isUp: Bool) throws {
        try check()
        guard let engine = try store.makeEngine(code) else { throw store.missingEngine() }
        let (from, to) = schemas
        // The functions are named by the schema after `up`.
        let (old, new) = isUp ? (from, to) : (to, from)
        var transition = SchemaTransition(
            new: new, number: 0, name: "", checksum: "", startedAt: .now, pairs: [])
        transition.functions = try engine.functions(in: code, old, new)
        let writer = try store.writer(changing: "objects")
        for conversion in ClassConversion.all(of: FileSchema(old, transition), toNew: isUp)
        where conversion.functionName != nil {
            let walk = try MigrationWalk(self, conversion.source, conversion.target)
            while let key = try walk.next() {
                do {
                    try conversion.runFunction(key, in: walk.oldView, writer, engine)
                } catch let failure as ConversionFailure {
                    let message =
                        (failure.line.map { "\(path):\($0): " } ?? "") + failure.message
                    guard failureHandler != nil else {
                        throw StoreError(.conversionFailed, message)
                    }
                    objectFailed(message, walk.currentName ?? conversion.source.name)
                }
            }
        }
    }
}
