import LuaHost
import ObjectStore

/// Registers a script's functions as observers.
///
/// The function is argument 2, and the options are argument 3.
struct ObserverBinding {
    private let handle: StoreHandle
    private let function: LuaFunction
    private let property: String
    let keyPaths: [String]
    let name: String
    let pace: ObserverPace?
    private let once: Bool
    /// Whether lists of observers leave the observer out, and the script can end while it is active.
    private let isHidden: Bool
    /// Whether `observe_value` also calls the function with the first value, and before changes.
    private let isInitial: Bool
    private let isPrior: Bool
    private let remote: Remote?

    /// An observer whose function runs on another thread.
    private struct Remote {
        let script: any RemoteScript
        let method: String
        /// The arguments of the method, without the function.
        let arguments: [LuaValue]
        let functionIndex: Int
    }

    /// Parses function and options from the call of `observe`, or of `observe_value`, where the property comes first.
    init(_ handle: StoreHandle, _ call: borrowing LuaCall) throws {
        self.handle = handle
        let first = call.name == "observe_value" ? 3 : 2
        property = first == 3 ? try call.text(2) : ""
        function = try call.function(first)
        let known = ["keypaths", "name", "on", "debounce", "throttle", "once", "hidden"]
        let options = try call.options(first + 1, first == 3 ? known + Self.ofValues : known)
        func flag(_ option: String) -> Bool { options?[option].boolean ?? false }
        (once, isInitial, isPrior) = (flag("once"), flag("initial"), flag("prior"))
        isHidden = flag("hidden")
        remote = try Self.remote(options, call: call, first: first, handle: handle)
        pace = try Self.pace(options, call, first + 1)
        name = try Self.name(options, call, first + 1)
        switch options?["keypaths"] ?? .nil {
        case .nil: keyPaths = []
        case .string(let path): keyPaths = [path.description]
        case let value:
            guard let paths = value.table?.texts else {
                throw call.argumentError(first + 1, "'keypaths' must be an array of strings")
            }
            keyPaths = paths
        }
    }

    /// The options of `observe_value` only.
    private static let ofValues = ["initial", "prior"]

    private static func remote(
        _ options: LuaTable?, call: borrowing LuaCall, first: Int, handle: StoreHandle
    ) throws -> Remote? {
        guard let options, !options["on"].isNil else { return nil }
        guard let script = try handle.module.host?.remoteScript(options["on"]) else {
            throw call.argumentError(first + 1, "option 'on': expected a worker")
        }
        let others = call.state.makeTable()
        for (key, value) in options.pairs where key != "on" { others.setRaw(key, value) }
        let before = (1..<first).map { call[$0] }
        return Remote(
            script: script, method: call.name, arguments: before + [.table(others)],
            functionIndex: first - 1)
    }

    /// Throws if the observer's function should run on another thread; `what` is the observed value in the message.
    func refuseRemote(_ what: String) throws {
        guard remote != nil else { return }
        throw StoreError(
            .invalidArgument,
            "option 'on' is not valid for a \(what); send the objects to the worker and project them there"
        )
    }

    /// Returns the name of the observer in reports.
    static func name(
        _ options: LuaTable?, _ call: borrowing LuaCall, _ index: Int
    ) throws -> String {
        let value = options?["name"] ?? .nil
        if value.isNil { return "" }
        guard let name = value.text, name.utf8.count <= 200,
            name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { throw call.argumentError(index, "'name' must be one line of at most 200 bytes") }
        return name
    }

    private static func pace(
        _ options: LuaTable?, _ call: borrowing LuaCall, _ index: Int
    ) throws -> ObserverPace? {
        func seconds(_ option: String) throws -> Duration? {
            let value = options?[option] ?? .nil
            if value.isNil { return nil }
            guard let seconds = value.number, seconds >= 0, seconds <= 1e9 else {
                throw call.argumentError(
                    index, "'\(option)' must be a number of seconds from 0 to 1e9")
            }
            return .seconds(seconds)
        }
        switch (try seconds("debounce"), try seconds("throttle")) {
        case (nil, nil): return nil
        case (let time?, nil): return .debounce(time)
        case (nil, let time?): return .throttle(time)
        case (_?, _?):
            throw call.argumentError(index, "pass either 'debounce' or 'throttle', not both")
        }
    }

    func answer(
        _ subject: String,
        _ register: (@escaping ([LuaValue]) throws -> Void) throws -> NotificationToken
    ) throws -> LuaValue {
        guard let remote else {
            return try handle.module.makeToken(
                name: name, subject: subject, keyPaths: keyPaths, once: once, isHidden: isHidden,
                handle, function, register)
        }
        guard !isHidden else {
            throw StoreError(.invalidArgument, "pass either 'hidden' or 'on', not both")
        }
        // Registers once without a function, so that errors of the registration are errors of this call.
        try register { _ in }.invalidate()
        return try handle.module.observe(
            on: remote.script, remote.method, remote.arguments, function: function,
            at: remote.functionIndex, title: (name, subject), handle)
    }

    /// Implements `store:observe(fn)`.
    func observeStore() throws -> LuaValue {
        let (handle, name) = (handle, name)
        guard keyPaths.isEmpty else {
            throw StoreError(
                .invalidArgument,
                "an observer of the store is called with each commit; 'keypaths' are for observers of objects and "
                    + "collections")
        }
        guard pace == nil else {
            throw StoreError(
                .invalidArgument,
                "an observer of the store is called with each commit; 'debounce' and 'throttle' are for "
                    + "observers of objects and collections")
        }
        return try answer(
            "the store",
            { call in
                try handle.store.observe(name: name) { [weak handle] notification, store in
                    guard let handle else { return }
                    let event = notification == .schema ? store.lastSchemaEvent : nil
                    try call([
                        .text(notification.rawValue),
                        handle.state.userdata(handle, StoreHandle.type),
                        event?.lua(handle.state) ?? .nil,
                    ])
                }
            })
    }

    /// Implements `object:observe(fn)`.
    func observe(_ object: LiveObject) throws -> LuaValue {
        let (handle, name, keyPaths, pace) = (handle, name, keyPaths, pace)
        _ = try object.source.writableStore()
        return try answer(
            "a \(object.classSchema.name)",
            { call in
                try handle.store.observe(
                    object.reference, keyPaths: keyPaths, name: name, pace: pace
                ) { [weak handle] change in
                    guard let handle else { return }
                    try call([.table(ObjectChangeTable(handle, change).table(change))])
                }
            })
    }

    /// Implements `object:observe_value(path, fn)`.
    func observeValue(_ object: LiveObject) throws -> LuaValue {
        let handle = handle
        try refuseKeyPaths()
        _ = try object.source.writableStore()
        guard let property = object.classSchema.property(named: property) else {
            if property == Self.invalidated {
                return try observeEnd(of: object, nil, "a \(object.classSchema.name)")
            }
            return try observe(
                ProjectedPath(
                    property, class: object.classSchema, schema: object.source.openView().schema),
                of: object)
        }
        func entry(_ change: ObjectChange) -> PropertyChange? {
            change.properties.first { $0.name == property.name }
        }
        func old(_ entry: PropertyChange) throws -> LuaValue {
            property.isSingle ? try ObjectChangeTable(handle).old(entry) : .nil
        }
        return try observe(
            object, keyPaths: [property.name],
            ValueCalls(
                subject: "\(property.name) of a \(object.classSchema.name)",
                initial: { try ObjectChangeTable(handle).current(property, of: object) },
                prior: { try entry($0).map(old) },
                change: { change in
                    guard let entry = entry(change) else { return nil }
                    return [try ObjectChangeTable(handle, change).new(entry), try old(entry)]
                }))
    }

    /// Implements `observe_value("invalidated", fn)` of lists, sets and maps.
    func observeValue(_ observed: some CollectionHandle) throws -> LuaValue {
        guard property == Self.invalidated else {
            throw StoreError(
                .invalidArgument,
                "observe_value of a collection observes 'invalidated', not '\(property)'; use observe "
                    + "for its elements")
        }
        try refuseKeyPaths()
        let collection = observed.collection
        _ = try collection.source.writableStore()
        return try observeEnd(
            of: collection.source.object(collection.classSchema, collection.owner),
            collection.property, observed.subject)
    }

    /// The name with which observers wait for the end of an object or a collection.
    private static let invalidated = "invalidated"

    private func refuseKeyPaths() throws {
        guard keyPaths.isEmpty else {
            throw StoreError(
                .invalidArgument,
                "observe_value observes one path, '\(property)'; use observe for 'keypaths'")
        }
    }

    private func observeEnd(
        of owner: LiveObject, _ collection: Property?, _ subject: String
    ) throws -> LuaValue {
        func hasEnded(_ change: ObjectChange) -> Bool {
            if case .deleted = change.kind { true } else { false }
        }
        return try observe(
            owner, keyPaths: [], endOf: collection,
            ValueCalls(
                subject: "\(Self.invalidated) of \(subject)", isEnd: true,
                initial: { .boolean(false) },
                prior: { hasEnded($0) ? .boolean(false) : Optional.none },
                change: { hasEnded($0) ? [.boolean(true), .boolean(false)] : nil }))
    }

    /// The arguments of the function of `observe_value`; nil for no call.
    private struct ValueCalls {
        let subject: String
        /// Whether only the end of the object is observed.
        var isEnd = false
        /// Returns the present value.
        let initial: () throws -> LuaValue
        /// Returns the old value before a change.
        let prior: (ObjectChange) throws -> LuaValue?
        /// Returns the new and the old value after a change.
        let change: (ObjectChange) throws -> [LuaValue]?
    }

    private func observe(
        _ object: LiveObject, keyPaths: [String], endOf collection: Property? = nil,
        _ calls: ValueCalls
    ) throws -> LuaValue {
        let (handle, name, pace) = (handle, name, pace)
        return try answer(calls.subject) { call in
            var extras = ObjectObservation()
            extras.onlyEnd = calls.isEnd
            extras.collection = collection
            if isInitial { extras.initial = { try call([calls.initial(), .nil]) } }
            if isPrior {
                extras.prior = { change in
                    guard let old = try calls.prior(change) else { return }
                    try call([.nil, old, .boolean(true)])
                }
            }
            return try handle.store.observe(
                object.reference, keyPaths: keyPaths, extras, name: name, pace: pace
            ) { [weak handle] change in
                // The function takes values only; the script's error handler has received the error.
                if case .error = change.kind { return }
                guard handle != nil, let arguments = try calls.change(change) else { return }
                try call(arguments)
            }
        }
    }

    private func observe(_ path: ProjectedPath, of object: LiveObject) throws -> LuaValue {
        let bridge = ValueBridge(handle, nil)
        try path.requireOne(for: "observe_value")
        try refuseRemote("path")
        var path = path
        func value(in source: ObjectSource) throws -> Value {
            path = try path.followed(to: source.view.schema)
            return try path.value(of: object.key, in: source)
        }
        // Compares values: `toys[1].name` does not change when the name of another toy changes.
        var last = try value(in: object.source)
        return try observe(
            object, keyPaths: path.observed,
            ValueCalls(
                subject: "\(path.text) of a \(object.classSchema.name)",
                initial: {
                    last = try value(in: object.source)
                    return bridge.lua(last)
                },
                prior: { change in
                    guard let view = change.properties.first?.viewAfter else { return nil }
                    let next = try value(in: .frozen(view))
                    return next == last ? Optional.none : bridge.lua(last)
                },
                change: { change in
                    guard !change.properties.isEmpty else { return nil }
                    let next = try value(in: change.source(of: object))
                    guard next != last else { return nil }
                    defer { last = next }
                    return [bridge.lua(next), bridge.lua(last)]
                }))
    }

    /// Implements `observe(fn)` of results and of collections.
    func observe(_ observed: some ObservedHandle) throws -> LuaValue {
        let (handle, name, keyPaths, pace) = (handle, name, keyPaths, pace)
        let rows = try observed.observed
        return try answer(
            observed.subject,
            { call in
                try rows.observe(keyPaths: keyPaths, name: name, pace: pace) {
                    [weak handle] change in
                    guard let handle else { return }
                    try ChangeHandle(change, observed.after(change)).pass(to: call, handle.state)
                }
            })
    }
}

/// Registers a script's function as the observer of an aggregate: `dogs:observe_aggregate("sum", "age", fn)`.
struct AggregateBinding {
    private let kind: AggregateKind
    private let path: String?
    private let function: LuaFunction
    private let name: String
    private let once: Bool

    /// Parses the arguments: the aggregate at 2, a property unless the aggregate is a count, the function, options.
    init(_ call: borrowing LuaCall) throws {
        let word = try call.text(2)
        guard let kind = AggregateKind(rawValue: word) else {
            let known = AggregateKind.allCases.map(\.rawValue)
            let near = NearestName.find(word, among: known).map { "; did you mean '\($0)'?" } ?? ""
            throw call.argumentError(
                2, "unknown aggregate '\(word)'; expected count, sum, min, max or average\(near)")
        }
        self.kind = kind
        var index = 3
        if call[3].text != nil {
            path = try call.text(3)
            index = 4
        } else {
            guard kind == .count else {
                throw call.argumentError(
                    3, "'\(word)' needs a property: observe_aggregate(\"\(word)\", \"age\", fn)")
            }
            path = nil
        }
        function = try call.function(index)
        let options = try call.options(index + 1)
        name = try ObserverBinding.name(options, call, index + 1)
        once = options?["once"].boolean ?? false
    }

    private var subject: String { path.map { "\(kind.rawValue) of \($0)" } ?? kind.rawValue }

    /// Observes an aggregate of results; calls the function with the new and the old value.
    func observe(_ results: ResultsHandle) throws -> LuaValue {
        let handle = results.handle
        let bridge = ValueBridge(handle, nil)
        return try handle.module.makeToken(
            name: name, subject: "\(subject) of \(results.subject)", once: once, handle, function
        ) { call in
            try results.results.observeAggregate(kind, path, name: name) { new, old in
                try call([bridge.lua(new), old.map(bridge.lua) ?? .nil])
            }
        }
    }

    /// Observes an aggregate of each section; calls the function with a table of the changed groups.
    func observe(_ sections: SectionsHandle) throws -> LuaValue {
        let handle = sections.results.handle
        let bridge = ValueBridge(handle, nil)
        return try handle.module.makeToken(
            name: name, subject: "\(subject) of \(sections.subject)", once: once, handle, function
        ) { call in
            try sections.sections.observeAggregate(kind, path, name: name) { changes in
                let groups = handle.state.makeTable(fields: changes.count)
                for change in changes {
                    try Interruption.step()
                    let group = handle.state.makeTable(fields: 2)
                    group["new"] = change.new.map(bridge.lua) ?? .nil
                    group["old"] = change.old.map(bridge.lua) ?? .nil
                    groups.setRaw(bridge.sectionKey(change.key), .table(group))
                }
                try call([.table(groups)])
            }
        }
    }
}
