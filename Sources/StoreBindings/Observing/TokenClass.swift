import LuaHost
import ObjectStore

/// The token of an observer, for scripts.
///
/// Invalidating or releasing the token ends the observer.
package final class TokenHandle {
    let token: any Observation
    /// The number of the token in its script, starting at 1; negative for hidden observers.
    package let number: Int
    /// The name in reports that the script has given; empty if none.
    package let name: String
    /// A description of the observed value: `Dog where age > 3`, `a Dog`, `the store`.
    package let subject: String
    /// The key paths that the script has given; empty for all properties.
    private let keyPaths: [String]
    /// The file and line of the call that registered the observer; empty if no Lua code did.
    package let location: String
    private var hold: (any BindingHold)?
    private(set) weak var store: StoreHandle?

    init(
        _ token: any Observation, name: String, subject: String, keyPaths: [String] = [],
        number: Int, location: String, store: StoreHandle?, hold: (any BindingHold)?
    ) {
        self.keyPaths = keyPaths
        self.store = store
        self.subject = subject
        self.token = token
        self.name = name
        self.number = number
        self.location = location
        self.hold = hold
        token.endHandler = { [weak self] in self?.didEnd() }
    }

    deinit {
        if token.isValid { collectedHandler?(title) }
        hold?.release()
    }

    /// Receives the title if the token is collected as garbage before the observation has ended.
    var collectedHandler: ((String) -> Void)?

    /// Whether the function may still be called.
    package var isValid: Bool { token.isValid }

    /// The name in reports.
    package var title: String {
        name.isEmpty
            ? (location.isEmpty ? "an observer" : "the observer of \(location)") : "'\(name)'"
    }

    /// The dependencies of the observer: see ``NotificationToken/dependencies``.
    package var dependencies: [String] { token.dependencies }

    /// A description of the cost of a commit that affects the observer.
    package var cost: String { token.cost }

    /// The number of calls of the function and their total time.
    package var statistics: ObserverStatistics { token.statistics }

    /// The reason for the last call; nil before the first call that reported a change.
    package var reason: DeliveryReason? { token.reason }

    /// Returns which properties of an object the observer depends on; nil for effects, aggregates, and observers that
    /// other threads call.
    package func coverage(of object: LiveObject) throws -> ObserverCoverage? {
        try (token as? NotificationToken)?.coverage(of: object)
    }

    /// A call of the function.
    struct Call {
        let version: UInt64
        let objects: Int
        let microseconds: Double
    }

    /// The latest calls, oldest first.
    private(set) var recentCalls: [Call] = []
    /// Whether a call has not returned yet.
    package private(set) var isRunning = false

    private static let keptCalls = 100

    /// Runs a call of the function and records it.
    func measured(_ body: () throws -> Void) rethrows {
        let clock = ContinuousClock()
        let begin = clock.now
        let wasRunning = isRunning
        isRunning = true
        defer {
            isRunning = wasRunning
            let (seconds, attoseconds) = (clock.now - begin).components
            if recentCalls.count == Self.keptCalls { recentCalls.removeFirst() }
            let reason = token.reason
            recentCalls.append(
                Call(
                    version: reason?.version ?? 0, objects: reason?.rowCount ?? 0,
                    microseconds: Double(seconds) * 1e6 + Double(attoseconds) / 1e12))
            assert(recentCalls.count <= Self.keptCalls, "only the latest calls are kept")
        }
        try body()
    }

    /// Ends the observation.
    ///
    /// Idempotent.
    package func invalidate() {
        token.invalidate()
    }

    /// Runs once when the observation has ended.
    var endHandler: (() -> Void)?

    /// Handles the end of the observation, which the token or the observation itself can cause.
    private func didEnd() {
        hold?.release()
        hold = nil
        endHandler?()
        endHandler = nil
    }

    /// The maximum number of objects in the reason that a script receives.
    private static let shownObjects = 100

    /// Returns the reason as a table; nil before the first call that reported a change.
    fileprivate func reasonTable(_ state: LuaState) throws -> LuaTable? {
        guard let reason = token.reason else { return nil }
        let table = state.makeTable(fields: 12)
        if let store, !store.store.isClosed { store.addOrigin(of: reason.version, to: table) }
        table["rows"] = .integer(Int64(reason.rowCount))
        table["version"] = .integer(Int64(clamping: reason.version))
        table["previous_version"] = .integer(Int64(clamping: reason.previousVersion))
        // A version is created by one transaction and has the same number.
        table["transaction"] = .integer(Int64(clamping: reason.version))
        table["count"] = .integer(Int64(reason.causes.count))
        table["properties"] = .table(state.makeTable(reason.properties.map(LuaValue.text)))
        table["keypath"] = reason.keyPath.map(LuaValue.text) ?? .nil
        var objects: [LuaValue] = []
        var causes: [LuaValue] = []
        for cause in reason.causes.prefix(Self.shownObjects) {
            let entry = state.makeTable(fields: 4)
            entry["id"] = .integer(cause.object.key.rawValue)
            if let store, !store.store.isClosed {
                let view = store.store.view
                entry["class"] =
                    view.schema.find(table: cause.object.table).map { .text($0.name) } ?? .nil
                if try view.isPresent(cause.object) {
                    let object = store.userdata(cause.object)
                    entry["object"] = object
                    objects.append(object)
                }
            }
            entry["properties"] = .table(state.makeTable(cause.properties.map(LuaValue.text)))
            causes.append(.table(entry))
        }
        table["objects"] = .table(state.makeTable(objects))
        table["causes"] = .table(state.makeTable(causes))
        return table
    }

    /// Returns the conditions of a call for an object as a table.
    ///
    /// Effects and aggregates have only `depends_on`.
    private func coverageTable(_ object: LiveObject, _ state: LuaState) throws -> LuaTable {
        let table = state.makeTable(fields: 12)
        guard let coverage = try coverage(of: object) else {
            table["depends_on"] = .table(state.makeTable(dependencies.map(LuaValue.text)))
            return table
        }
        if let other = coverage.observedObject, other != object.reference {
            table["observed"] = store?.userdata(other) ?? .nil
        }
        table["other_class"] = coverage.otherClass.map(LuaValue.text) ?? .nil
        table["conditions"] = .table(
            state.makeTable(
                coverage.conditions.map { condition in
                    let entry = state.makeTable(fields: 3)
                    entry["text"] = .text(condition.text)
                    entry["holds"] = .boolean(condition.holds)
                    entry["values"] = .table(
                        state.makeTable(
                            condition.values.map { path, value in
                                let pair = state.makeTable(fields: 2)
                                pair["path"] = .text(path)
                                if let store { pair["value"] = ValueBridge(store, nil).lua(value) }
                                return .table(pair)
                            }))
                    return .table(entry)
                }))
        table["is_cut_off"] = .boolean(coverage.isCutOff)
        table["keypaths"] = .table(state.makeTable(coverage.keyPaths.map(LuaValue.text)))
        table["silenced"] =
            coverage.silencedVersion.map { .integer(Int64(clamping: $0)) } ?? .nil
        switch coverage.pace {
        case .debounce(let time)?: table["debounce"] = .number(time / .seconds(1))
        case .throttle(let time)?: table["throttle"] = .number(time / .seconds(1))
        case nil: break
        }
        table["is_pending"] = .boolean(coverage.isHolding)
        return table
    }

    static let type: LuaClass<TokenHandle> = LuaClass(
        name: "token",
        methods: [
            LuaMethod("invalidate") { token, _ in
                token.invalidate()
                return .none
            },
            LuaMethod("dispose") { token, _ in
                token.invalidate()
                return .none
            },
            LuaMethod("why") { token, call in
                try call.answer(token.reasonTable(call.state).map(LuaValue.table) ?? .nil)
            },
            LuaMethod("whynot") { token, call in
                guard let (_, object) = call.liveObject(2)?.stored else {
                    throw call.typeError(2, "object of a store")
                }
                let table = try token.coverageTable(object, call.state)
                // Adds the reasons, and a summary.
                let explain = try call.state.runtimeFile("observing").function
                _ = try explain?.call([.table(table), call[1], call[2]])
                return call.answer(.table(table))
            },
            LuaMethod("calls") { token, call in
                let calls = token.recentCalls.map { recent in
                    let entry = call.state.makeTable(fields: 3)
                    entry["version"] = .integer(Int64(clamping: recent.version))
                    entry["objects"] = .integer(Int64(recent.objects))
                    entry["us"] = .number(recent.microseconds)
                    return LuaValue.table(entry)
                }
                return call.answer(.table(call.state.makeTable(calls)))
            },
            LuaMethod("stats") { token, call in
                let statistics = token.statistics
                let table = call.state.makeTable(fields: 16)
                table["is_running"] = .boolean(token.isRunning)
                table["calls"] = .integer(Int64(statistics.calls))
                table["coalesced"] = .integer(Int64(statistics.coalescedCommits))
                table["last_us"] = .number(statistics.handling.last)
                table["mean_us"] = .number(statistics.handling.mean)
                table["max_us"] = .number(statistics.handling.maximum)
                table["findings"] = .integer(Int64(statistics.finding.count))
                table["find_last_us"] = .number(statistics.finding.last)
                table["find_mean_us"] = .number(statistics.finding.mean)
                table["find_max_us"] = .number(statistics.finding.maximum)
                table["where"] = .text(token.location)
                table["name"] = token.name.isEmpty ? .nil : .text(token.name)
                table["depends_on"] = .table(
                    call.state.makeTable(token.dependencies.map(LuaValue.text)))
                table["keypaths"] = .table(
                    call.state.makeTable(token.keyPaths.map(LuaValue.text)))
                table["cost"] = .text(token.cost)
                return call.answer(.table(table))
            },
        ],
        properties: [
            LuaProperty("is_valid") { $1.set($0.isValid) },
            LuaProperty("number") { $1.set(Int64($0.number)) },
            LuaProperty("subject") { $1.set($0.subject) },
            LuaProperty("name") { token, result in
                if token.name.isEmpty { result.setNil() } else { result.set(token.name) }
            },
        ],
        metamethods: [
            LuaMethod("__close") { token, _ in
                token.invalidate()
                return .none
            },
            LuaMethod("__tostring") { token, call in
                call.answer(
                    .text("token of \(token.title) (\(token.isValid ? "valid" : "invalidated"))"))
            },
        ])
}
