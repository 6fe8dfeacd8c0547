import LuaHost
import ObjectStore

/// An observer's token in the hands of a script.
///
/// Its observer ends with it.
package final class TokenHandle {
    let token: any Observation
    /// The token's number in its script, counted from 1.
    package let number: Int
    /// The name that the script gave for reports; empty if none.
    package let name: String
    /// What is observed, in words: `Dog where age > 3`, `a Dog`, `the store`.
    package let subject: String
    /// File and line of the call that registered the observer; empty if no Lua code did.
    package let place: String
    private var hold: (any BindingHold)?
    private(set) weak var store: StoreHandle?

    init(
        _ token: any Observation, name: String, subject: String, number: Int, place: String,
        store: StoreHandle?, hold: (any BindingHold)?
    ) {
        self.store = store
        self.subject = subject
        self.token = token
        self.name = name
        self.number = number
        self.place = place
        self.hold = hold
        token.endHandler = { [weak self] in self?.didEnd() }
    }

    deinit {
        if token.isValid { collectedHandler?(title) }
        hold?.release()
    }

    /// Gets the title if the token is collected as garbage before the observation has ended.
    var collectedHandler: ((String) -> Void)?

    /// Whether the function may still be called.
    package var isValid: Bool { token.isValid }

    /// How reports call it.
    package var title: String {
        name.isEmpty ? (place.isEmpty ? "an observer" : "the observer of \(place)") : "'\(name)'"
    }

    /// What the observer depends on: see ``NotificationToken/dependencies``.
    package var dependencies: [String] { token.dependencies }

    /// What a commit that concerns the observer costs, in words.
    package var cost: String { token.cost }

    /// How often the function was called and how long that took.
    package var statistics: ObserverStatistics { token.statistics }

    /// What the last call was for; nil before the first one that reported a change.
    package var reason: DeliveryReason? { token.reason }

    /// What the observer needs of an object in order to be called for it; nil for effects, aggregates, and observers that
    /// other threads call.
    package func coverage(of object: LiveObject) -> ObserverCoverage? {
        (token as? NotificationToken)?.coverage(of: object)
    }

    /// Ends the observation; again does nothing.
    package func invalidate() {
        token.invalidate()
    }

    /// Called once when the observation has ended.
    var endHandler: (() -> Void)?

    /// The observation has ended, by the token or by itself.
    private func didEnd() {
        hold?.release()
        hold = nil
        endHandler?()
        endHandler = nil
    }

    /// How many of the objects of a reason a script is shown.
    private static let shownObjects = 100

    /// The first objects that the last call was for, without those that are gone.
    package func reasonObjects(atMost count: Int) -> [LuaValue] {
        guard let store, !store.store.isClosed, let reason = token.reason else { return [] }
        return reason.objects.prefix(count).filter(store.store.view.isPresent).map(store.userdata)
    }

    /// The reason as a script sees it; nil before the first call that reported a change.
    fileprivate func reasonTable(_ state: LuaState) -> LuaTable? {
        guard let reason = token.reason else { return nil }
        let table = state.makeTable(fields: 7)
        table["version"] = .integer(Int64(clamping: reason.version))
        table["previous_version"] = .integer(Int64(clamping: reason.previousVersion))
        // A version is made by one transaction and numbered like it.
        table["transaction"] = .integer(Int64(clamping: reason.version))
        table["count"] = .integer(Int64(reason.objects.count))
        table["objects"] = .table(state.makeTable(reasonObjects(atMost: Self.shownObjects)))
        table["properties"] = .table(state.makeTable(reason.properties.map(LuaValue.text)))
        table["keypath"] = reason.keyPath.map(LuaValue.text) ?? .nil
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
                call.answer(token.reasonTable(call.state).map(LuaValue.table) ?? .nil)
            },
            LuaMethod("stats") { token, call in
                let statistics = token.statistics
                let table = call.state.makeTable(fields: 13)
                table["calls"] = .integer(Int64(statistics.calls))
                table["coalesced"] = .integer(Int64(statistics.coalescedCommits))
                table["last_us"] = .number(statistics.handling.last)
                table["mean_us"] = .number(statistics.handling.mean)
                table["max_us"] = .number(statistics.handling.maximum)
                table["findings"] = .integer(Int64(statistics.finding.count))
                table["find_last_us"] = .number(statistics.finding.last)
                table["find_mean_us"] = .number(statistics.finding.mean)
                table["find_max_us"] = .number(statistics.finding.maximum)
                table["where"] = .text(token.place)
                table["name"] = token.name.isEmpty ? .nil : .text(token.name)
                table["depends_on"] = .table(
                    call.state.makeTable(token.dependencies.map(LuaValue.text)))
                table["cost"] = .text(token.cost)
                return call.answer(.table(table))
            },
        ],
        properties: [
            LuaProperty("is_valid") { $1.set($0.isValid) },
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
