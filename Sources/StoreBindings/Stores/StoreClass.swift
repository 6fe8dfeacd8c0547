import LuaHost
import ObjectStore

extension StoreHandle {
    /// The Lua class of stores.
    static let type: LuaClass<StoreHandle> = LuaClass(
        name: "store",
        methods: readingMethods + versionMethods + historyMethods + writingMethods
            + TransferMethods.store + RecordingMethods.store + ReplicationMethods.store,
        properties: [
            LuaProperty("path") { handle, result in
                if let path = handle.store.path { result.set(path) } else { result.setNil() }
            },
            LuaProperty("version") { handle, result in
                try handle.store.check()
                result.set(Int64(clamping: handle.store.version))
            },
            LuaProperty("schema_version") { handle, result in
                try handle.store.check()
                result.set(Int64(clamping: handle.store.schema.version))
            },
            LuaProperty("is_in_write") { handle, result in
                result.set(!handle.store.isClosed && handle.store.isInWrite)
            },
            LuaProperty("is_frozen") { $1.set(false) },
            LuaProperty("is_read_only") { handle, result in
                result.set(handle.store.isReadOnly)
            },
            LuaProperty("is_follower") { handle, result in
                result.set(!handle.store.isClosed && handle.store.isFollower)
            },
            LuaProperty("is_writer") { handle, result in
                result.set(!handle.store.isClosed && handle.store.isWriter)
            },
            LuaProperty("is_closed") { handle, result in
                result.set(handle.store.isClosed)
            },
            LuaProperty(
                "autorefresh",
                get: { handle, result in result.set(handle.store.autorefresh) },
                set: { handle, field in
                    guard field.kind == .bool else {
                        throw StoreError(.typeMismatch, "autorefresh must be true or false")
                    }
                    handle.store.autorefresh = field.bool
                }),
        ],
        metamethods: [
            LuaMethod("__tostring") { handle, call in
                let state = handle.store.isClosed ? "closed" : "version \(handle.store.version)"
                return call.answer(.text("store \(handle.name) (\(state))"))
            },
            LuaMethod("__close") { handle, _ in
                try handle.closeByScript()
                return .none
            },
        ],
        resolve: { handle, address, _ in
            handle.store.isClosed ? nil : handle.objectClass(at: address)
        })

    private static let readingMethods: [LuaMethod<StoreHandle>] = [
        LuaMethod("close") { handle, _ in
            try handle.closeByScript()
            return .none
        },
        LuaMethod("object") { handle, call in
            if !handle.store.isClosed, let type = handle.objectClass(at: call.address(2)),
                !handle.readScope.isTracking, let found = type.find(call[3])
            {
                guard let found else { return call.answer(.nil) }
                return call.answer(LuaLiveObject(type: type, key: found.rawValue))
            }
            let type = try handle.requireClass(call, 2)
            guard let property = type.classSchema.primaryKey else {
                throw StoreError(
                    .invalidArgument,
                    "'\(type.classSchema.name)' has no primary key to look up; "
                        + "query it with objects(\"\(type.classSchema.name)\")")
            }
            guard !call.isNil(3) || property.isOptional else {
                throw call.typeError(3, property.type.rawValue)
            }
            let key = try ValueBridge(handle, nil).value(
                call[3], for: property, of: type.classSchema)
            guard let found = try handle.store.object(type.classSchema.name, primaryKey: key) else {
                return call.answer(.nil)
            }
            return call.answer(LuaLiveObject(type: type, key: found.key.rawValue))
        },
        LuaMethod("new") { handle, call in
            let type = try handle.requireClass(call, 2)
            let created = try UnmanagedObject(
                type.classSchema, call.isNil(3) ? nil : call.table(3), in: handle)
            return call.answer(created, UnmanagedObject.type)
        },
        LuaMethod("objects") { handle, call in
            let type = try handle.requireClass(call, 2)
            let results = Results(.store(handle.store), all: type.classSchema)
            return call.answer(ResultsHandle(results, handle, nil), ResultsHandle.type)
        },
        LuaMethod("schema") { handle, call in
            try handle.store.check()
            let text = try SchemaText(handle, options: call)
            if call.isNil(2) { return call.answer(.table(text.table())) }
            let type = try handle.requireClass(call, 2)
            return call.answer(.table(text.table(type.classSchema)))
        },
        LuaMethod("started_migration") { handle, call in
            guard let started = try handle.store.startedMigration() else {
                return call.answer(.nil)
            }
            return call.answer(
                .table(
                    started.lua(
                        call.state, process: try handle.store.convertingProgram()?.process)))
        },
        LuaMethod("define") { handle, call in
            try handle.store.check()
            let base = try handle.definitionBase()
            let table = try call.table(2)
            var declared = DeclaredSchema()
            // In the transaction, "..." means the properties of the newest schema.
            func classes() throws -> [ClassSchema] {
                declared = try SchemaArguments(handle.json, changing: handle.store.schema)
                    .schema(table)
                return declared.classes
            }
            if call[3].function != nil {
                let function = try call.function(3)
                try handle.store.redefine(classes()) { migration in
                    try MigrationHandle.call(
                        function, with: migration, on: handle, defaults: declared)
                }
            } else if try call.options(3)?["force"].isTruthy == true {
                try handle.store.redefine(classes())
            } else {
                do {
                    try handle.store.define(computing: classes)
                } catch let error as StoreError where error.code == .migrationNeeded {
                    guard let confirms = try handle.module.confirmsLoss,
                        try confirms(handle.store.previewLoss(of: classes(), rows: 5))
                    else { throw error }
                    try handle.store.redefine(classes())
                }
            }
            handle.updateClasses()
            handle.recordDefinition(since: base, call[3].function)
            try handle.take(declared)
            try handle.acknowledge()
            return .none
        },
        LuaMethod("migration_since") { handle, call in
            try handle.store.check()
            guard let write = try handle.module.sessionMigrator else {
                throw StoreError(
                    .invalidArgument, "migrations are not available in a sandboxed script")
            }
            guard let version = call[2].integer.flatMap(UInt64.init(exactly:)) else {
                throw call.typeError(2, "version")
            }
            let options = try call.options(3)
            let written = try write(
                handle, version, options?["name"].text, options?["dir"].text ?? "migrations")
            return call.answer(written.table?["report"] ?? .nil)
        },
        LuaMethod("refresh") { handle, call in
            call.answer(.boolean(try handle.store.refresh()))
        },
        LuaMethod("observe") { handle, call in
            call.answer(try ObserverBinding(handle, call).observeStore())
        },
    ]

    private static let writingMethods: [LuaMethod<StoreHandle>] = [
        LuaMethod("create", fastCreate: true) { handle, call in
            let type = try handle.requireClass(call, 2)
            let mode = try call.updateMode(4)
            return try handle.creating(nested: mode) {
                let given: LuaTable?
                if call.isNil(3) {
                    given = nil
                } else if let unmanaged = call.optionalObject(3, UnmanagedObject.type) {
                    given = unmanaged.values
                } else if let (_, object) = call.liveObject(3)?.stored {
                    let created = try handle.store.create(
                        type.classSchema.name, copying: object, mode: mode)
                    return call.answer(LuaLiveObject(type: type, key: created.key.rawValue))
                } else {
                    given = try call.table(3)
                }
                let values = try given.map {
                    try ValueBridge(handle, nil).values($0, of: type.classSchema)
                }
                let created = try handle.store.create(
                    type.classSchema.name, values ?? .dictionary([:]), mode: mode)
                let object = handle.userdata(created.reference)
                if let given {
                    try handle.ignoredProperties.set(
                        given, for: object, in: type.classSchema, handle)
                }
                return call.answer(object)
            }
        },
        LuaMethod("add") { handle, call in
            if let (type, object) = call.liveObject(2)?.stored {
                try handle.store.check()
                guard type.handle === handle, type.frozen == nil else {
                    throw StoreError(
                        .invalidArgument,
                        "this '\(type.classSchema.name)' belongs to another store or version; copy it "
                            + "with store:create(\"\(type.classSchema.name)\", object)")
                }
                try type.checkPresent(object.key)
                try handle.store.requireWrite("'\(type.classSchema.name)'")
                return call.answerArgument(2)
            }
            _ = try call.object(2, UnmanagedObject.type)
            guard let userdata = call[2].userdata else { throw call.typeError(2, "object") }
            _ = try UnmanagedGraph.add(userdata, to: handle, mode: try call.updateMode(3))
            return call.answerArgument(2)
        },
        LuaMethod("delete") { handle, call in
            if let (type, object) = call.liveObject(2)?.stored {
                guard type.handle === handle else {
                    throw StoreError(
                        .invalidObject, "this '\(type.classSchema.name)' belongs to another store")
                }
                try handle.store.delete(object)
                return .none
            }
            guard let results = try call[2].userdata?.held?.results() else {
                if call.optionalObject(2, UnmanagedObject.type) != nil {
                    throw StoreError(
                        .invalidObject, "this object is not in a store, so it cannot be deleted")
                }
                throw call.typeError(2, "object, Results or collection")
            }
            guard case .store(let owner) = results.source else {
                throw StoreError(.frozen, "a frozen collection cannot be deleted")
            }
            guard owner === handle.store else {
                throw StoreError(.invalidArgument, "this collection belongs to another store")
            }
            try handle.store.delete(results.keys().array, of: results.classSchema())
            return .none
        },
        LuaMethod("delete_all") { handle, call in
            try handle.store.deleteAll(call.isNil(2) ? nil : call.text(2))
            return .none
        },
        LuaMethod("write") { handle, call in
            let function = try call.function(2)
            let options = try call.options(3)
            let silenced = try call.silencedTokens(3, options)
            let timeout = try call.timeout(3, options)
            let state = call.state
            let results = try handle.store.write(withoutNotifying: silenced, timeout: timeout) {
                let results = try function.call([LuaValue]())
                try state.checkStopping()
                return results
            }
            try handle.acknowledge()
            return try call.answer(results)
        },
        LuaMethod("savepoint") { handle, call in
            let function = try call.function(2)
            let state = call.state
            let results = try handle.store.savepoint {
                let results = try function.call([LuaValue]())
                try state.checkStopping()
                return results
            }
            return try call.answer(results)
        },
        LuaMethod("begin_write") { handle, call in
            try handle.store.beginWrite(timeout: call.timeout(2, call.options(2)))
            return .none
        },
        LuaMethod("commit_write") { handle, call in
            try call.state.checkStopping()
            try handle.store.commitWrite(
                withoutNotifying: call.silencedTokens(2, call.options(2, ["without_notifying"])))
            try handle.acknowledge()
            return .none
        },
        LuaMethod("cancel_write") { handle, _ in
            try handle.store.cancelWrite()
            return .none
        },
        LuaMethod("write_async") { handle, call in
            try handle.store.check()
            let function = try call.function(2)
            let failed = call.isNil(3) ? nil : try call.function(3)
            let module = try handle.module
            let hold = module.host?.hold()
            try handle.store.writeAsync({ [weak module] in
                _ = try function.call([LuaValue]())
                try module?.state.checkStopping()
            }) { [weak module, weak handle] error in
                defer { hold?.release() }
                guard let module else { return }
                do {
                    do {
                        if let error { throw error }
                        try handle?.acknowledge()
                    } catch {
                        guard let failed else { throw error }
                        try failed.call([module.state.value(of: error)])
                    }
                } catch {
                    module.report(error, nil)
                }
            }
            return .none
        },
    ]

    func requireClass(_ call: borrowing LuaCall, _ index: Int) throws -> ObjectClass {
        let name = try call.text(index)
        try store.check()
        return try objectClass(named: name)
    }
}

extension LuaCall {
    borrowing func updateMode(_ index: Int) throws -> UpdateMode {
        guard !isNil(index) else { return .error }
        let text = try text(index)
        guard let mode = UpdateMode(rawValue: text) else {
            throw argumentError(
                index, "the mode must be \"error\", \"all\" or \"modified\", got \"\(text)\"")
        }
        return mode
    }

    /// Returns the option `timeout`: the number of seconds to wait for other writers.
    borrowing func timeout(_ index: Int, _ options: LuaTable?) throws -> Double? {
        guard let options, !options["timeout"].isNil else { return nil }
        guard let seconds = options["timeout"].number, seconds >= 0 else {
            throw argumentError(index, "option 'timeout' must be a number of seconds, 0 or more")
        }
        return seconds
    }

    borrowing func silencedTokens(
        _ index: Int, _ options: LuaTable?
    ) throws -> [NotificationToken] {
        guard let options else { return [] }
        let given = options["without_notifying"]
        if given.isNil { return [] }
        guard let values = given.table.map({ $0.elements { $0 } }) ?? [given] else {
            throw argumentError(index, "without_notifying: expected a token, or an array of tokens")
        }
        return try values.map { value in
            guard let token = value.userdata?.object(as: TokenHandle.type) else {
                throw argumentError(
                    index, "without_notifying: expected a token, got a \(value.typeName)")
            }
            guard let own = token.token as? NotificationToken else {
                throw argumentError(
                    index,
                    value.userdata?.object(as: TokenHandle.type)?.token is RemoteObservation
                        ? "the observer of a token runs on a worker, which is notified of every commit"
                        : "the token of an effect cannot be silenced; an effect runs again whenever its values change"
                )
            }
            return own
        }
    }
}

/// Notices that a write waits for another writer, from calls at short intervals during the wait.
package final class WriteWait {
    private let report: (Store) -> Void
    private var start = ContinuousClock.now
    private var last: ContinuousClock.Instant?
    private var isReported = false

    private static let patience = Duration.seconds(1)

    /// Creates a notice; `report` is called once for each wait that lasts longer than a second.
    package init(report: @escaping (Store) -> Void) { self.report = report }

    /// Records that a write still waits.
    package func record(_ store: Store, at now: ContinuousClock.Instant = .now) {
        // The calls of one wait follow each other fifty times a second.
        if last.map({ $0.duration(to: now) > Self.patience }) ?? true {
            start = now
            isReported = false
        }
        last = now
        guard !isReported, start.duration(to: now) >= Self.patience else { return }
        isReported = true
        report(store)
    }

    /// Returns the text about a wait for the writer of a store.
    package static func text(_ store: Store) -> String {
        "waiting for \(store.writerDescription), which is writing to \(store.title)"
    }
}
